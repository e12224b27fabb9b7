"""A jobs worker that dies, stops or freezes in the middle of a sync: the job ends well all the same, and nothing is doubled."""

import asyncio
import json
import signal
from typing import Any

import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client, counts
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import until
from tests.acceptance.processes import Stack
from tests.acceptance.records import Records

FILES = 300


async def make_repository(stack: Stack, client: Client, files: int = FILES) -> list[str]:
    names = dashboard_files.make_many(stack.repositories / "many", files)
    await client.create_repository("many", "many")
    return names


async def check_written_once(records: Records, names: list[str]) -> None:
    """Every dashboard was added once, and has one entry of history."""
    once = dict.fromkeys(names, 1)
    assert await records.additions() == once
    assert await records.generations() == once


async def test_the_job_of_a_killed_worker_is_taken_up_by_another(make_stack: MakeStack, records: Records) -> None:
    """A worker killed in the middle of a sync loses nothing: after the lease another one takes the job up, and writes everything once."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5").start()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        async with records.blocked_syncs():
            job = await client.sync("many")
            await until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        heir = await stack.add_jobs_worker()
        ended = await client.wait_for_job(job)
        assert (ended["status"]["state"], ended["status"]["message"]) == ("success", "completed successfully")
        assert counts(ended["status"], "dashboards") == {"total": FILES, "create": FILES, "write": FILES}
        assert (await heir.event("job_started"))["attempt"] == 2
        assert await records.attempts(job["metadata"]["name"]) == 2
        await check_written_once(records, names)
        assert sorted(await client.dashboards()) == names


async def test_a_job_that_kills_its_workers_ends_as_an_error(make_stack: MakeStack, records: Records) -> None:
    """After JOB_ATTEMPTS killed workers the job ends as an error that says so, nothing of it was written, and a new sync succeeds."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_ATTEMPTS="2").start()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        async with records.blocked_syncs():
            job = await client.sync("many")
            await until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        async with records.blocked_syncs():
            await stack.add_jobs_worker()
            await until(records.count_blocked_syncs)
            await stack.jobs_worker.kill()
        await stack.add_jobs_worker()
        ended = await client.wait_for_job(job)
        assert ended["status"]["state"] == "error"
        assert "2 attempts" in ended["status"]["message"]
        assert ended["status"]["errors"] == [ended["status"]["message"]]
        assert await client.dashboards() == {}
        status = await client.sync_and_wait("many")
        assert counts(status, "dashboards") == {"total": FILES, "create": FILES, "write": FILES}
        await check_written_once(records, names)


async def test_a_stopped_worker_hands_its_job_to_another_at_once(make_stack: MakeStack, records: Records) -> None:
    """SIGTERM in a sync that outlasts the grace period: handed back, exit status 0, and taken up at once, not after the lease."""
    stack = await make_stack(JOB_LEASE_SECONDS="60", SHUTDOWN_SECONDS="0.2").start()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        leaver = stack.jobs_worker
        async with records.blocked_syncs():
            job = await client.sync("many")
            await until(records.count_blocked_syncs)
            assert await leaver.stop() == 0
        assert leaver.logged("job_handed_back")
        heir = await stack.add_jobs_worker()
        await heir.event("job_started", seconds=10)
        ended = await client.wait_for_job(job)
        assert ended["status"]["state"] == "success"
        assert await records.attempts(job["metadata"]["name"]) == 1
        await check_written_once(records, names)


async def test_a_stopped_worker_finishes_what_it_can(make_stack: MakeStack, records: Records) -> None:
    """SIGTERM with time to spare: the worker ends its job before it goes, with exit status 0."""
    stack = await make_stack().start()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        job = await client.sync("many")
        await stack.jobs_worker.event("job_started")
        assert await stack.jobs_worker.stop() == 0
        ended = stack.jobs_worker.logged("job_ended")
        assert [event["state"] for event in ended] == ["success"]
        assert (await client.wait_for_job(job, seconds=5))["status"]["state"] == "success"
        await check_written_once(records, names)


async def test_a_worker_that_wakes_too_late_writes_nothing(make_stack: MakeStack, records: Records) -> None:
    """A worker frozen beyond its lease has lost its job: another one did the work, and the first one abandons it when it goes on."""
    # One slot: the frozen worker is full, so the broker gives the next wake-up to the other one, not to a socket nobody reads.
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_SLOTS="1").start()
    async with Client(stack.address) as client:
        # Many files, so that the sync still runs when the signal comes; within its write it would hold the lock of all writers.
        names = await make_repository(stack, client, files=3_000)
        job = await client.sync("many")
        frozen = stack.jobs_worker
        await frozen.event("job_started")
        frozen.send(signal.SIGSTOP)
        try:
            await stack.add_jobs_worker()
            ended = await client.wait_for_job(job)
        finally:
            frozen.send(signal.SIGCONT)
        assert ended["status"]["state"] == "success"

        async def gave_up() -> bool:
            """It no longer held the lease; or, frozen within its write, its connection was taken from it."""
            return bool(frozen.logged("job_abandoned") or frozen.logged("job_left_to_rescuer"))

        await until(gave_up)
        assert await client.wait_for_job(job) == ended
        await check_written_once(records, names)


@pytest.mark.faults
async def test_workers_killed_at_any_moment_lose_and_double_nothing(make_stack: MakeStack, records: Records) -> None:
    """Whenever a worker is killed, from its first line to its last, repositories end as their folders are."""
    stack = await make_stack(JOB_LEASE_SECONDS="1.5", JOB_ATTEMPTS="50").start()
    async with Client(stack.address) as client:
        names = await make_repository(stack, client)
        job = await client.sync("many")
        for moment in range(8):
            worker = stack.jobs_worker
            await worker.event("job_started")
            # Some moments later each time: the wait is the fault to inject, not a guess at when something has happened.
            await asyncio.sleep(moment * 0.05)
            await worker.kill()
            await stack.add_jobs_worker()
            if (await client.call("GET", job_path(job)))["status"]["state"] == "success":
                break
        assert (await client.wait_for_job(job))["status"]["state"] == "success"
        await check_written_once(records, names)
        assert sorted(await client.dashboards()) == names
        assert json.loads((await records.jobs())[0]["status"])["state"] == "success"


def job_path(job: Any) -> str:
    metadata = job["metadata"]
    return f"/apis/{job['apiVersion']}/namespaces/{metadata['namespace']}/jobs/{metadata['name']}"
