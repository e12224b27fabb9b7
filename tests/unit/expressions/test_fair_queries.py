"""Slow queries of one organization do not delay other organizations."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from tests.signer import SIGNER

from dashwright.common.errors import DashwrightError, TooManyRequests
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import load
from dashwright.expressions.consumer import QueryConsumer, query_settings
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.queries import QuerySettings
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.registry import DataSource, SourceRegistry
from dashwright.expressions.sources.source import Source

pytestmark = pytest.mark.exhaustive

BUSY_ORG, OTHER_ORG, THIRD_ORG = 2, 1, 3
SLOTS = 8
#: Slots that one organization may use. The others are reserved for other organizations.
SLOTS_PER_ORG = SLOTS - SLOTS // 4
SLOW_QUERY = {"queries": [{"refId": "A", "datasource": {"type": "slow", "uid": "slow"}}]}
SMALL_QUERY = {"queries": [{"refId": "A", "type": "math", "expression": "1"}]}


class SilentSource(Source):
    """A data source that responds only when it is released."""

    def __init__(self) -> None:
        #: Number of queries and health checks that have arrived.
        self.query_count = 0
        #: Set when one organization uses all slots that it may use.
        self.org_slots_used = asyncio.Event()
        #: Set when a query or check arrives while one organization uses all slots that it may use.
        self.received_another = asyncio.Event()
        self.released = asyncio.Event()

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return no frames, after the source is released."""
        return await self._wait()

    async def health(self) -> str:
        """Return an empty message, after the source is released."""
        await self._wait()
        return ""

    async def _wait(self) -> Sequence[Frame]:
        """Count the query or check, set the event that its arrival causes, and return no frames after the source is released."""
        self.query_count += 1
        if self.query_count == SLOTS_PER_ORG:
            self.org_slots_used.set()
        elif self.org_slots_used.is_set():
            self.received_another.set()
        await self.released.wait()
        return []


class StubSources:
    """Data sources, with a slow one under the uid ``slow``."""

    def __init__(self, slow: SilentSource) -> None:
        self._slow = slow

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the slow data source for the uid ``slow``, and the usual ones for others."""
        if queries[0].datasource.uid == "slow":
            return [DataSource("slow", self._slow) for _ in queries]
        return await SourceRegistry().find(queries, context)

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return an empty catalog."""
        return Catalog()


@asynccontextmanager
async def worker(settings: QuerySettings, *, waiting: int = 64) -> AsyncIterator[Any]:
    """Run a worker, and yield a function that sends it a request of an organization."""
    broker = MemoryBroker()
    await broker.start()
    consumer = QueryConsumer(broker, SIGNER, slots=SLOTS, waiting=waiting, settings=settings)
    client = RpcClient(broker, SIGNER)
    await consumer.start()
    await client.start()

    async def send_request(org_id: int, body: dict[str, Any], endpoint: QueryEndpoint = QueryEndpoint.QUERY) -> dict[str, Any]:
        headers = QueryContext(endpoint, org_id=org_id).headers()
        response = await client.call(broker.topology.query, orjson.dumps(body), timeout=20, headers=headers)
        return {"status": response.headers["status"], **orjson.loads(await response.read())}

    try:
        yield send_request
    finally:
        await client.close()
        await consumer.stop(drain=0)
        await broker.close()


async def test_slow_queries_of_one_organization_delay_no_other() -> None:
    """During slow queries of one organization, small queries of others and validations are served. Waiting queries run afterwards."""
    slow = SilentSource()
    async with worker(QuerySettings(sources=StubSources(slow))) as send_request, asyncio.TaskGroup() as group:
        backlog = [group.create_task(send_request(BUSY_ORG, SLOW_QUERY)) for _ in range(2 * SLOTS)]
        await slow.org_slots_used.wait()
        for org_id in (OTHER_ORG, THIRD_ORG):
            assert (await send_request(org_id, SMALL_QUERY))["status"] == 200
        assert (await send_request(BUSY_ORG, {"targets": SMALL_QUERY["queries"]}, QueryEndpoint.VALIDATION))["status"] == 200
        assert slow.query_count == SLOTS_PER_ORG
        slow.released.set()
    assert [task.result()["status"] for task in backlog] == [200] * (2 * SLOTS)


async def test_slow_health_checks_delay_neither_queries_nor_other_organizations() -> None:
    """During slow health checks of one organization, its queries are served, and health checks of another organization begin."""
    slow = SilentSource()
    check = {"uid": "slow"}
    async with worker(QuerySettings(sources=StubSources(slow))) as send_request, asyncio.TaskGroup() as group:
        for _ in range(2 * SLOTS):
            group.create_task(send_request(BUSY_ORG, check, QueryEndpoint.HEALTH))
        await slow.org_slots_used.wait()
        assert (await send_request(BUSY_ORG, SMALL_QUERY))["status"] == 200
        other = group.create_task(send_request(OTHER_ORG, check, QueryEndpoint.HEALTH))
        await slow.received_another.wait()
        slow.released.set()
    assert other.result()["status"] == "OK"


async def test_the_backlog_of_an_organization_is_limited() -> None:
    """A query of an organization with too many waiting queries is rejected, while another organization receives a slot."""
    slow = SilentSource()
    async with worker(QuerySettings(sources=StubSources(slow)), waiting=4) as send_request, asyncio.TaskGroup() as group:
        # Six queries run, and two more fill half of the four places in the queue, the share of one organization.
        for _ in range(SLOTS_PER_ORG + 2):
            group.create_task(send_request(BUSY_ORG, SLOW_QUERY))
        await slow.org_slots_used.wait()
        with pytest.raises(TooManyRequests, match=r"8 queries of your organization.*DASHWRIGHT_QUERY_SLOTS"):
            await send_request(BUSY_ORG, SLOW_QUERY)
        assert (await send_request(OTHER_ORG, SMALL_QUERY))["status"] == 200
        slow.released.set()


async def test_endless_statements_of_one_organization_delay_no_other() -> None:
    """Endless SQL statements of one organization use one of two processes, so that a statement of another organization runs."""
    settings = query_settings(load(features="sqlExpression", sql_slots=2, sql_seconds=600, evaluation_seconds=600))
    assert settings.sql is not None
    endless = "with recursive t as (select 1 as n union all select n + 1 from t) select sum(n) from t"
    try:
        async with worker(settings) as send_request:
            backlog = [asyncio.create_task(send_request(BUSY_ORG, _sql(endless))) for _ in range(4)]
            reply = await send_request(OTHER_ORG, _sql("select 1"))
            assert reply["status"] == 200
            assert not any(task.done() for task in backlog)
            for task in backlog:
                task.cancel()
            await asyncio.gather(*backlog, return_exceptions=True)
    finally:
        await asyncio.to_thread(settings.close)


def _sql(statement: str) -> dict[str, Any]:
    """Return the body of a request with an SQL expression."""
    return {"queries": [{"refId": "A", "type": "sql", "expression": statement}]}
