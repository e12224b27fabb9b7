"""A real Prometheus that scrapes itself and a gateway, and the gateway, which queries this Prometheus. Only the broker is in memory."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from tests.acceptance.polling import wait_until
from tests.servers import prometheus

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

CREDENTIALS = {"Authorization": aiohttp.encode_basic_auth("admin", "admin")}


@dataclass
class QueriedPrometheus:
    """A Prometheus and a gateway with the data sources ``prom`` and ``store``, a PostgreSQL with a weight for each job."""

    session: aiohttp.ClientSession
    gateway: str
    server: str
    #: The time range of queries in Unix seconds, in which both jobs have samples.
    start: int
    end: int

    async def prometheus_data(self, path: str, **parameters: Any) -> Mapping[str, Any]:
        """Return the data of Prometheus' own response."""
        async with self.session.get(f"{self.server}/api/v1/{path}", params=parameters) as response:
            document = await response.json()
            assert document["status"] == "success", document
            data: Mapping[str, Any] = document["data"]
            return data

    async def query_gateway(self, *queries: dict[str, Any], explain: bool = False) -> tuple[int, Any]:
        """Return the status and the body of the gateway's response to queries for the range from ``start`` to ``end``."""
        body = {"from": self.start * 1000, "to": self.end * 1000, "queries": queries}
        path = f"{self.gateway}/api/ds/query" + ("?explain=true" if explain else "")
        async with self.session.post(path, json=body, headers=CREDENTIALS) as response:
            return response.status, await response.json()


@asynccontextmanager
async def _reader(database: Database) -> AsyncIterator[str]:
    """Create the table ``weight`` and a role that may read it. Yield the name of the role, which is also its password."""
    role = f"reader_{token_hex(4)}"
    async with database.connection() as connection:
        await connection.execute(f"create role {role} login password '{role}'")
        await connection.execute("create table weight as select * from (values ('gateway', 3.0), ('prometheus', 0.5)) w (job, weight)")
        await connection.execute(f"grant select on weight to {role}")
    yield role
    async with database.connection() as connection:
        await connection.execute("drop table weight")
        await connection.execute(f"drop role {role}")


@pytest.fixture
async def oracle(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[QueriedPrometheus]:
    """Yield a Prometheus and a gateway once both jobs have been scraped, with the last minute as the time range."""
    settings = load(
        http_port=0,
        data_dir=tmp_path,
        permitted_paths=str(tmp_path),
        allowed_hosts="127.0.0.1",
        secret_key="of tests only",
        features="sqlExpression",
    )
    async with AsyncExitStack() as stack:
        broker = MemoryBroker()
        await broker.start()
        stack.push_async_callback(broker.close)
        gateway = Gateway(settings, database, broker, Clock())
        stack.push_async_callback(gateway.stop)
        address = await gateway.start()
        server = await prometheus.provide([address.removeprefix("http://")])
        stack.push_async_callback(server.remove)
        worker = ExpressionsWorker(settings, database, broker, Clock())
        stack.push_async_callback(worker.stop)
        await worker.start()
        session = await stack.enter_async_context(aiohttp.ClientSession())
        reader = await stack.enter_async_context(_reader(database))
        store = urlsplit(database_url)
        for record in (
            {"name": "Metrics", "type": "prometheus", "uid": "prom", "url": server.url},
            {
                "name": "Store",
                "type": "grafana-postgresql-datasource",
                "uid": "store",
                "url": f"{store.hostname}:{store.port}",
                "user": reader,
                "database": store.path.removeprefix("/"),
                "jsonData": {"sslmode": "disable"},
                "secureJsonData": {"password": reader},
            },
        ):
            async with session.post(f"{address}/api/datasources", json=record, headers=CREDENTIALS) as response:
                assert response.status == 200, await response.text()
        end = int(time.time())
        queried = QueriedPrometheus(session, address, server.url, end - 60, end)

        async def is_scraped() -> bool:
            """Return whether both jobs have at least three samples, which ``rate`` and the comparison of series need."""
            queried.end = int(time.time())
            reply = await queried.prometheus_data("query", query="count_over_time(up[1m]) > 2", time=queried.end)
            return len(reply["result"]) == 2

        await wait_until(is_scraped, seconds=60)
        queried.start = queried.end - 60
        yield queried
