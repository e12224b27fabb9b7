"""PostgreSQL fails and returns under running processes: errors name it, work continues afterwards, and no process restarts."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import DASHBOARDS, FOLDERS, PROVISIONING, Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.processes import Stack
from tests.acceptance.queries import QUERY
from tests.acceptance.queue_client import JOB_SPEC, Submitter
from tests.acceptance.records import open_records
from tests.proxies.tcp_proxy import TcpProxy
from tests.servers import databases, postgres

AsyncAction = Callable[[], Awaitable[None]]

REPOSITORY = f"{PROVISIONING}/repositories/team"
LOCAL = {"title": "New", "workflows": [], "type": "local", "local": {"path": "new"}, "sync": {"enabled": True, "target": "folder"}}
#: A new object of any kind. Its spec is that of a local repository.
OBJECT = {"metadata": {"generateName": "new-"}, "spec": LOCAL}
#: Requests by method, path and body, none of which can succeed without the database.
ROUTES: list[tuple[str, str, object]] = [
    ("GET", DASHBOARDS, None),
    ("GET", f"{DASHBOARDS}/shop-prod-0", None),
    ("POST", DASHBOARDS, OBJECT),
    ("DELETE", f"{DASHBOARDS}/shop-prod-0", None),
    ("GET", FOLDERS, None),
    ("POST", FOLDERS, OBJECT),
    ("GET", f"{PROVISIONING}/repositories", None),
    ("POST", f"{PROVISIONING}/repositories", OBJECT),
    ("GET", REPOSITORY, None),
    ("DELETE", REPOSITORY, None),
    ("GET", f"{REPOSITORY}/status", None),
    ("POST", f"{REPOSITORY}/sync", {}),
    ("POST", f"{REPOSITORY}/export", {}),
    ("POST", f"{REPOSITORY}/jobs", [JOB_SPEC]),
    ("GET", f"{REPOSITORY}/jobs", None),
    ("GET", f"{PROVISIONING}/jobs", None),
    ("POST", f"{PROVISIONING}/jobs", JOB_SPEC | {"repository": "team"}),
    ("DELETE", f"{PROVISIONING}/jobs/any", None),
]
UNKNOWN_LOGIN = {"Authorization": aiohttp.encode_basic_auth("unknown", "wrong")}
#: A request waits for a database connection for at most 5 s.
MAX_RESPONSE_SECONDS = 6.0


async def check_database_outage(
    stack: Stack, database_url: str, broker_url: str, stop_database: AsyncAction, restore_database: AsyncAction
) -> None:
    """Check that services refuse requests after ``stop_database``, and do all work again after ``restore_database``."""
    async with Client(stack.address) as client, Submitter(broker_url) as submitter:
        dashboard_files.make_team(stack.repositories / "team")
        await client.create_repository("team", "team")
        await client.sync_and_wait("team")
        pids = [service.pid for service in stack.services]
        await client.call("POST", "/api/ds/query", json=QUERY)
        await stop_database()

        status, response, _ = await client.response("POST", "/api/ds/query", json=QUERY)
        # A query of testdata needs no database, and the gateway caches the identity of the user for a moment.
        assert status == 200, response
        for method, path, body in ROUTES:
            await check_refused(client, method, path, body)
        await check_degraded(client)
        await submitter.publish(JOB_SPEC | {"repository": "team"}, message_id="kept", correlation_id="kept", reply=True)
        await stack.gateway.event("submission_delayed")

        await restore_database()
        response = await submitter.response_to("kept")
        assert response["kind"] == "Job"
        assert (await client.wait_for_job(response))["status"]["state"] == "success"
        await wait_until(lambda: has_status(client, "/readyz", 200))
        await client.call("GET", "/api/health")
        # All dashboards of the repository ``team`` (``make_team``).
        assert len(await client.dashboards()) == 21
        async with open_records(database_url) as records:
            # The sync before the outage, and the submission during it.
            assert len(await records.jobs()) == 2
        assert [service.pid for service in stack.services if service.is_running] == pids


async def check_refused(client: Client, method: str, path: str, request_body: object) -> None:
    """Raise AssertionError unless a request gets 503 with Retry-After and a Status that names the database but not its address."""
    async with asyncio.timeout(MAX_RESPONSE_SECONDS):
        status, body, headers = await client.response(method, path, json=request_body)
    assert status == 503, f"{method} {path}: {status} {body}"
    assert int(headers["Retry-After"]) >= 1
    assert body["kind"] == "Status"
    assert body["status"] == "Failure"
    assert body["reason"] == "ServiceUnavailable"
    assert body["code"] == 503
    assert "database is not available" in body["message"]
    assert "127.0.0.1" not in body["message"]


async def check_degraded(client: Client) -> None:
    """Check that the probes name the database, and that an unknown credential gets 503 instead of 401."""
    status, text, _ = await client.response("GET", "/readyz")
    assert status == 503
    assert "[-]database failed" in text
    assert "[+]broker ok" in text
    assert (await client.response("GET", "/livez"))[0] == 200
    status, health, headers = await client.response("GET", "/api/health")
    assert status == 503
    assert health["database"] == "failing"
    assert int(headers["Retry-After"]) >= 1
    status, body, headers = await client.response("POST", "/api/ds/query", json=QUERY, headers=UNKNOWN_LOGIN)
    assert status == 503
    assert list(body) == ["message", "traceID"]
    assert int(headers["Retry-After"]) >= 1


async def has_status(client: Client, path: str, status: int) -> bool:
    """Return whether a GET request for a path gets a status."""
    return (await client.response("GET", path))[0] == status


async def test_every_route_reports_an_unreachable_database(
    make_stack: MakeStack, database_url: str, amqp_url: str, database_proxy: TcpProxy
) -> None:
    """Without connections to PostgreSQL, routes return 503 with the reason, and a submission in the queue is processed later."""
    stack = await make_stack(database=database_proxy.url).start()
    await check_database_outage(stack, database_url, amqp_url, database_proxy.disconnect, database_proxy.connect)


@pytest.mark.faults
async def test_every_route_reports_a_stopped_database(
    make_stack: MakeStack, amqp_url: str, private_postgres: postgres.PrivatePostgres
) -> None:
    """While PostgreSQL is stopped, routes return 503 with the reason, and a submission in the queue is processed later."""
    url = await databases.create_migrated(private_postgres.dsn)
    stack = await make_stack(database=url).start()
    await check_database_outage(stack, url, amqp_url, private_postgres.stop, private_postgres.start)


async def test_a_sync_survives_a_short_outage_of_the_database(make_stack: MakeStack, database_url: str, database_proxy: TcpProxy) -> None:
    """A job whose database fails before its write succeeds after the database returns, and writes each dashboard once."""
    stack = await make_stack(database=database_proxy.url, JOB_LEASE_SECONDS="1.5").start_without_queries()
    async with Client(stack.address) as client, open_records(database_url) as records:
        names = dashboard_files.make_many(stack.repositories / "many", 300)
        await client.create_repository("many", "many")
        async with records.blocked_syncs():
            job = await client.sync("many")
            await wait_until(records.count_blocked_syncs)
            await database_proxy.disconnect()
            await stack.jobs_worker.event("job_left_to_recovery")
        await database_proxy.connect()
        assert (await client.wait_for_job(job))["status"]["state"] == "success"
        one_each = dict.fromkeys(names, 1)
        assert await records.additions() == one_each
        assert await records.generations() == one_each


async def test_processes_stop_during_an_outage_of_the_database(make_stack: MakeStack, database_proxy: TcpProxy) -> None:
    """While the database is unreachable, SIGTERM ends each process within seconds with status 0."""
    stack = await make_stack(database=database_proxy.url).start()
    await database_proxy.disconnect()
    for service in stack.services:
        service.send(signal.SIGTERM)
    assert [await service.wait(seconds=15) for service in stack.services] == [0, 0, 0]
