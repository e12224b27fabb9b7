"""Database roles of services: they read and write the rows that their service needs, and never the schema."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import asyncpg
import orjson
import pytest

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database import grants
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.main import JobsWorker

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
BASIC: Final = {"Authorization": aiohttp.encode_basic_auth("admin", "admin")}
REPOSITORIES: Final = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
EVALUATIONS: Final = "/apis/expressions.dashwright.io/v0alpha1/namespaces/default/evaluations"
ENDED_STATES: Final = ("success", "error")
TESTDATA: Final = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "scenarioId": "random_walk"}
PANEL: Final = {"panel": {"type": "timeseries", "targets": [TESTDATA]}, "from": "now-1h", "to": "now"}
Address = Callable[[str], str]
GATEWAY_TABLES: Final = ("dashboard_snapshot", "short_url", "query_history")
API, JOBS_WORKER, EXPRESSIONS = grants.RIGHTS_BY_ROLE


@pytest.fixture
async def address_of(database: Database, database_url: str) -> AsyncIterator[Address]:
    """Create roles for this test with the rights of the services; yield a function that returns the address of a role."""
    suffix, parts = f"_{token_hex(4)}", urlsplit(database_url)
    async with database.transaction() as connection:
        for name in grants.RIGHTS_BY_ROLE:
            await connection.execute(f"create role {name}{suffix} login password 'secret'")
        await grants.grant(connection, {name + suffix: rights for name, rights in grants.RIGHTS_BY_ROLE.items()})  # type: ignore[arg-type]
    yield lambda name: parts._replace(netloc=f"{name}{suffix}:secret@{parts.netloc.rpartition('@')[2]}").geturl()
    async with database.transaction() as connection:
        for name in grants.RIGHTS_BY_ROLE:
            await connection.execute(f"drop owned by {name}{suffix}; drop role {name}{suffix}")


@pytest.fixture
async def session(address_of: Address, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Run all services, each with its own role, over a folder with the examples."""
    shutil.copytree(EXAMPLES / "dashboards", tmp_path / "dashboards")
    settings = load(http_port=0, data_dir=tmp_path, permitted_paths=str(tmp_path), secret_key="of tests only")
    broker = MemoryBroker()
    await broker.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(broker.close)
        databases = {}
        for role in grants.RIGHTS_BY_ROLE:
            databases[role] = await Database.open(address_of(role), application_name=role)
            stack.push_async_callback(databases[role].close)
        expressions = ExpressionsWorker(settings, databases[EXPRESSIONS], broker, Clock())
        worker = JobsWorker(settings, databases[JOBS_WORKER], broker, Clock())
        gateway = Gateway(settings, databases[API], broker, Clock())
        for service in (expressions, worker):
            await service.start()
            stack.push_async_callback(service.stop)
        url = await gateway.start()
        stack.push_async_callback(gateway.stop)
        yield await stack.enter_async_context(aiohttp.ClientSession(url, headers=BASIC))


async def test_services_work_with_their_roles(session: aiohttp.ClientSession) -> None:
    """A sync, a query with a secret, an evaluation, a picture, a new user and a removed repository all succeed."""

    async def call(method: str, path: str, **options: Any) -> Any:
        """Send a request, which must succeed, and return the decoded JSON or the bytes of the response."""
        async with session.request(method, path, **options) as response:
            body = await response.read()
            assert response.status < 300, (path, body)
            return orjson.loads(body) if response.content_type == "application/json" else body

    async def wait_until(path: str, condition: Callable[[Any], bool]) -> Any:
        """Poll a path until its body meets a condition, and return the body."""
        async with asyncio.timeout(60):
            while True:
                polled_body = await call("GET", path)
                if condition(polled_body):
                    return polled_body
                await asyncio.sleep(0.05)

    await call("POST", REPOSITORIES, json=orjson.loads((EXAMPLES / "repository.json").read_bytes()))
    jobs = await wait_until(
        f"{REPOSITORIES}/examples/jobs", lambda polled_body: any(job["status"]["state"] in ENDED_STATES for job in polled_body["items"])
    )
    assert [job["status"]["state"] for job in jobs["items"]] == ["success"]
    source = {"name": "P", "type": "prometheus", "url": "http://127.0.0.1:1", "secureJsonData": {"basicAuthPassword": "x"}}
    await call("POST", "/api/datasources", json=source)
    results = await call("POST", "/api/ds/query", json=orjson.loads((EXAMPLES / "query.json").read_bytes()))
    assert results["results"]["worst"]["status"] == 200
    await call("POST", EVALUATIONS, json={"metadata": {"name": "e"}, "spec": PANEL})
    evaluation = await wait_until(f"{EVALUATIONS}/e", lambda polled_body: polled_body["status"]["state"] in ENDED_STATES)
    assert evaluation["status"]["state"] == "success"
    assert await call("GET", "/render/d/orders")
    await call("POST", "/api/admin/users", json={"login": "ed", "password": "a-long-password"})
    await call("DELETE", f"{REPOSITORIES}/examples")
    await wait_until(REPOSITORIES, lambda polled_body: not polled_body["items"])
    assert await call("GET", "/api/search?type=dash-db") == []


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        *((role, "create table mine (a int)") for role in grants.RIGHTS_BY_ROLE),
        *((role, "drop table resource") for role in grants.RIGHTS_BY_ROLE),
        *((role, "alter table resource disable trigger all") for role in grants.RIGHTS_BY_ROLE),
        *((role, "truncate change") for role in grants.RIGHTS_BY_ROLE),
        *((role, "insert into schema_migrations (name, checksum) values ('9', '')") for role in grants.RIGHTS_BY_ROLE),
        *((role, "create role other") for role in grants.RIGHTS_BY_ROLE),
        *((role, "copy (select 1) to program 'true'") for role in grants.RIGHTS_BY_ROLE),
        *((role, "select pg_read_file('/etc/passwd')") for role in grants.RIGHTS_BY_ROLE),
        (EXPRESSIONS, 'select password from "user"'),
        (EXPRESSIONS, "select * from person"),
        (EXPRESSIONS, "select key from api_key"),
        (EXPRESSIONS, "select * from audit_event"),
        *((role, f"select * from {table}") for role in (EXPRESSIONS, JOBS_WORKER) for table in GATEWAY_TABLES),
        (JOBS_WORKER, "delete from audit_event"),
        (JOBS_WORKER, 'update "user" set is_admin = true'),
        (JOBS_WORKER, "insert into api_key default values"),
        (JOBS_WORKER, "update org_user set role = 'Admin'"),
        (JOBS_WORKER, "insert into permission default values"),
    ],
)
async def test_a_role_is_limited_to_its_service(address_of: Address, role: str, statement: str) -> None:
    """The database refuses statements that a service does not need."""
    connection = await asyncpg.connect(address_of(role))
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()
