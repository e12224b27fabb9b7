"""A jobs worker that is killed, stopped or frozen during a sync: the job succeeds, and each object is written once."""

import asyncio
import json
import signal
from typing import Any

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client, counts
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.processes import Stack
from tests.acceptance.records import Records

#: Number of dashboards in a repository, unless a test has another one.
FILES = 300


async def make_repository(stack: Stack, client: Client, files: int = FILES) -> list[str]:
    """Create the repository ``many`` and return the names of its dashboards."""
    names = dashboard_files.make_many(stack.repositories / "many", files)
    await client.create_repository("many", "many")
    return names


async def check_written_once(records: Records, names: list[str]) -> None:
    """Raise AssertionError unless every dashboard was added once and has one entry of history."""
    one_each = dict.fromkeys(names, 1)
    assert await records.additions() == one_each
    assert await records.generations() == one_each


async def test_another_worker_repeats_the_job_of_a_killed_one(make_stack: MakeStack, records: Records) -> None:
    """After the lease of a killed worker expires, another worker repeats its job. Each dashboard is written once."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5").start_without_queries()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        async with records.blocked_syncs():
            job = await client.sync("many")
            await wait_until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        successor = await stack.add_jobs_worker()
        ended_job = await client.wait_for_job(job)
        assert ended_job["status"]["state"] == "success"
        assert ended_job["status"]["message"] == "completed successfully"
        assert counts(ended_job["status"], "dashboards") == {"total": FILES, "create": FILES, "write": FILES}
        assert (await successor.event("job_started"))["attempt"] == 2
        assert await records.attempts(job["metadata"]["name"]) == 2
        await check_written_once(records, names)
        assert sorted(await client.dashboards()) == names


async def test_a_job_that_kills_its_workers_ends_as_an_error(make_stack: MakeStack, records: Records) -> None:
    """After JOB_ATTEMPTS killed workers, the job ends with an error and has written no dashboard. A new sync succeeds."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_ATTEMPTS="2").start_without_queries()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        async with records.blocked_syncs():
            job = await client.sync("many")
            await wait_until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        async with records.blocked_syncs():
            await stack.add_jobs_worker()
            await wait_until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        await stack.add_jobs_worker()
        ended_job = await client.wait_for_job(job)
        assert ended_job["status"]["state"] == "error"
        assert "2 attempts" in ended_job["status"]["message"]
        assert ended_job["status"]["errors"] == [ended_job["status"]["message"]]
        assert await client.dashboards() == {}
        status = await client.sync_and_wait("many")
        assert counts(status, "dashboards") == {"total": FILES, "create": FILES, "write": FILES}
        await check_written_once(records, names)


async def test_a_stopped_worker_returns_its_job_immediately(make_stack: MakeStack, records: Records) -> None:
    """A stopped worker whose sync exceeds the grace period hands back the job, and ends with status 0.

    Another worker starts the job long before the lease would expire.
    """
    stack = await make_stack(JOB_LEASE_SECONDS="60", SHUTDOWN_SECONDS="0.2").start_without_queries()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        stopped_worker = stack.jobs_worker
        async with records.blocked_syncs():
            job = await client.sync("many")
            await wait_until(records.count_blocked_syncs)
            assert await stopped_worker.stop() == 0
        assert stopped_worker.logged_events("job_handed_back")
        successor = await stack.add_jobs_worker()
        await successor.event("job_started", seconds=10)
        ended_job = await client.wait_for_job(job)
        assert ended_job["status"]["state"] == "success"
        assert await records.attempts(job["metadata"]["name"]) == 1
        await check_written_once(records, names)


async def test_a_stopped_worker_completes_its_job(make_stack: MakeStack, records: Records) -> None:
    """After SIGTERM, a worker completes a job that needs less than the grace period, and then ends with status 0."""
    stack = await make_stack().start_without_queries()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        job = await client.sync("many")
        await stack.jobs_worker.event("job_started")
        assert await stack.jobs_worker.stop() == 0
        end_events = stack.jobs_worker.logged_events("job_ended")
        assert [event["state"] for event in end_events] == ["success"]
        assert (await client.wait_for_job(job, seconds=5))["status"]["state"] == "success"
        await check_written_once(records, names)


async def test_a_worker_without_its_lease_writes_nothing(make_stack: MakeStack, records: Records) -> None:
    """A worker that is frozen beyond its lease abandons its job when it continues, because another worker has completed the job."""
    # With one slot, the frozen worker is fully used, so the broker delivers the next wake-up to the other worker.
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_SLOTS="1").start_without_queries()
    async with Client(stack.address) as client:
        # Many files, so that the sync is still running when the signal arrives. Within its write it would hold the lock of all writers.
        names = await make_repository(stack, client, files=3_000)
        job = await client.sync("many")
        frozen_worker = stack.jobs_worker
        await frozen_worker.event("job_started")
        frozen_worker.send(signal.SIGSTOP)
        try:
            await stack.add_jobs_worker()
            ended_job = await client.wait_for_job(job)
        finally:
            frozen_worker.send(signal.SIGCONT)
        assert ended_job["status"]["state"] == "success"

        async def has_abandoned_job() -> bool:
            """Return whether the worker lost its lease, or lost its connection because it was frozen during a write."""
            return bool(frozen_worker.logged_events("job_abandoned") or frozen_worker.logged_events("job_left_to_recovery"))

        await wait_until(has_abandoned_job)
        assert await client.wait_for_job(job) == ended_job
        await check_written_once(records, names)


@pytest.mark.faults
async def test_workers_killed_at_any_moment_write_everything_once(make_stack: MakeStack, records: Records) -> None:
    """After workers were killed at various moments of a job, the job succeeds, and each dashboard was written once."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_ATTEMPTS="50").start_without_queries()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        job = await client.sync("many")
        for kills in range(8):
            worker = stack.jobs_worker
            await worker.event("job_started")
            # Each worker is killed somewhat later than the previous one. The wait is the injected fault, not a guess when an event happens.
            await asyncio.sleep(kills * 0.05)
            await worker.kill()
            await stack.add_jobs_worker()
            if (await client.call("GET", job_path(job)))["status"]["state"] == "success":
                break
        assert (await client.wait_for_job(job))["status"]["state"] == "success"
        await check_written_once(records, names)
        assert sorted(await client.dashboards()) == names
        assert json.loads((await records.jobs())[0]["status"])["state"] == "success"


def job_path(job: Any) -> str:
    """Return the path of a job in the resource API."""
    metadata = job["metadata"]
    return f"/apis/{job['apiVersion']}/namespaces/{metadata['namespace']}/jobs/{metadata['name']}"
