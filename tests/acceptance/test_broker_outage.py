"""RabbitMQ fails and returns under running processes: jobs are accepted, queries are refused, and no process restarts."""

import asyncio
import signal
from collections.abc import Awaitable, Callable

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.processes import Stack
from tests.acceptance.queries import QUERY
from tests.acceptance.queue_client import JOB_SPEC, Submitter
from tests.acceptance.records import Records
from tests.proxies.tcp_proxy import TcpProxy
from tests.servers import rabbitmq

AsyncAction = Callable[[], Awaitable[None]]

#: Limit of a response in seconds. The gateway waits 3 s for a worker to check the repository, and then records a submission without it.
MAX_RESPONSE_SECONDS = 4.5
#: The setting of the deadline of queries, until which a query waits for the broker.
QUERY_SECONDS = "2"


async def check_broker_outage(
    stack: Stack, records: Records, broker_url: str, stop_broker: AsyncAction, restore_broker: AsyncAction
) -> None:
    """Check that services accept jobs and refuse queries after ``stop_broker``, and do all work again after ``restore_broker``."""
    async with Client(stack.address) as client:
        dashboard_files.make_team(stack.repositories / "team")
        await client.create_repository("team", "team")
        assert (await client.sync_and_wait("team"))["message"] == "completed successfully"
        await client.call("POST", "/api/ds/query", json=QUERY)
        pids = [service.pid for service in stack.services]

        await stop_broker()
        await asyncio.gather(*(service.event("broker_lost") for service in stack.services))
        async with asyncio.timeout(MAX_RESPONSE_SECONDS):
            job = await client.sync("team")
        await check_degraded(client)

        await restore_broker()
        assert (await client.wait_for_job(job))["status"]["state"] == "success"
        await wait_until(lambda: has_status(client, "/readyz", 200))
        await wait_until(lambda: _query_succeeds(client))
        async with Submitter(broker_url) as submitter:
            response = await submitter.submit(JOB_SPEC | {"repository": "team"})
            assert response["kind"] == "Job"
        await client.wait_for_job(response)
        assert [service.pid for service in stack.services if service.is_running] == pids


async def check_degraded(client: Client) -> None:
    """Check that calls which need the broker fail in the shape of their API, and that others succeed."""
    status, text, _ = await client.response("GET", "/readyz")
    assert status == 503
    assert "[-]broker failed" in text
    assert "[+]database ok" in text
    assert (await client.response("GET", "/livez"))[0] == 200
    await client.call("GET", "/api/health")
    # All dashboards of the repository ``team`` (``make_team``).
    assert len(await client.dashboards()) == 21
    async with asyncio.timeout(MAX_RESPONSE_SECONDS):
        status, body, headers = await client.response("POST", "/api/ds/query", json=QUERY)
    assert status == 503, body
    assert int(headers["Retry-After"]) >= 1
    assert "broker" in body["message"]


async def has_status(client: Client, path: str, status: int) -> bool:
    """Return whether a GET request for a path gets a status."""
    return (await client.response("GET", path))[0] == status


async def _query_succeeds(client: Client) -> bool:
    """Return whether a query succeeds. Raises AssertionError for a failure that is not caused by the broker's outage."""
    status, body, _ = await client.response("POST", "/api/ds/query", json=QUERY)
    assert status in (200, 503, 504), body
    return status == 200


async def test_jobs_are_accepted_while_the_broker_cannot_be_reached(
    make_stack: MakeStack, records: Records, amqp_url: str, broker_proxy: TcpProxy
) -> None:
    """Without connections to the broker, a job is accepted with 202; the same processes run it when the connections are restored."""
    stack = await make_stack(broker=broker_proxy.url, QUERY_SECONDS=QUERY_SECONDS).start()
    await check_broker_outage(stack, records, amqp_url, broker_proxy.disconnect, broker_proxy.connect)


@pytest.mark.faults
async def test_jobs_are_accepted_while_the_broker_is_stopped(
    make_stack: MakeStack, records: Records, private_rabbitmq: rabbitmq.PrivateRabbitmq
) -> None:
    """After a restart of the broker, queues, bindings and consumers exist again, and an accepted job runs."""
    stack = await make_stack(broker=private_rabbitmq.url, QUERY_SECONDS=QUERY_SECONDS).start()
    await check_broker_outage(stack, records, private_rabbitmq.url, private_rabbitmq.stop, private_rabbitmq.start)


async def test_a_running_sync_needs_no_broker(make_stack: MakeStack, records: Records, broker_proxy: TcpProxy) -> None:
    """A running job succeeds while the broker is unreachable, and runs once."""
    stack = await make_stack(broker=broker_proxy.url).start_without_queries()
    async with Client(stack.address) as client:
        names = dashboard_files.make_many(stack.repositories / "many", 300)
        await client.create_repository("many", "many")
        job = await client.sync("many")
        await stack.jobs_worker.event("job_started")
        await broker_proxy.disconnect()
        assert (await client.wait_for_job(job))["status"]["state"] == "success"
        await broker_proxy.connect()
        # The newest event may already be the expected one.
        await stack.jobs_worker.event("broker_connected", after=len(stack.jobs_worker.events) - 1)
        await client.sync_and_wait("many")
        assert await records.additions() == dict.fromkeys(names, 1)
        assert [job["attempts"] for job in await records.jobs()] == [1, 1]


async def test_processes_stop_during_an_outage_of_the_broker(make_stack: MakeStack, broker_proxy: TcpProxy) -> None:
    """While the broker is unreachable, SIGTERM ends each process within seconds with status 0. Each process logs the loss once."""
    stack = await make_stack(broker=broker_proxy.url).start()
    await broker_proxy.disconnect()
    for service in stack.services:
        await service.event("broker_lost")
        service.send(signal.SIGTERM)
    assert [await service.wait(seconds=8) for service in stack.services] == [0, 0, 0]
    assert [len(service.logged_events("broker_lost")) for service in stack.services] == [1, 1, 1]
