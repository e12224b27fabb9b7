"""Syncs of sixty repositories by two gateways and two jobs workers: jobs run concurrently, but only one of each repository."""

import asyncio
from collections.abc import Iterable

import asyncpg
from tests.acceptance import dashboard_files
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.queue_client import JOB_SPEC, Submitter
from tests.acceptance.records import Records

NAMES = [f"team-{number:02}" for number in range(60)]


def check_one_at_a_time(feed: Iterable[asyncpg.Record]) -> int:
    """Return the number of jobs that started in a feed of changes. Raises AssertionError if two jobs of a repository overlap."""
    working_jobs: dict[str, str] = {}
    started_jobs = 0
    for change in feed:
        repository, job = change["repository"], change["name"]
        if change["state"] == "working" and working_jobs.get(repository) != job:
            assert repository not in working_jobs, f"{job} was working at the same time as {working_jobs[repository]}"
            working_jobs[repository] = job
            started_jobs += 1
        elif change["state"] != "working" and working_jobs.get(repository) == job:
            del working_jobs[repository]
    assert not working_jobs
    return started_jobs


async def test_sixty_repositories_sync_concurrently(make_stack: MakeStack, records: Records, amqp_url: str) -> None:
    """All jobs of three submissions for sixty repositories succeed at the first attempt, and jobs of a repository never overlap."""
    stack = await make_stack().start_without_queries()
    first_worker = stack.jobs_worker
    second_worker = await stack.add_jobs_worker()
    await stack.add_gateway()
    async with Client(stack.address) as client, Submitter(amqp_url) as submitter:
        for name in NAMES:
            for index in range(5):
                dashboard_files.write(stack.repositories / name / f"{name}-{index}.json", dashboard_files.classic(f"{name}-{index}", name))
        await asyncio.gather(*(client.create_repository(name, name) for name in NAMES))
        batch = [JOB_SPEC | {"repository": name} for name in NAMES]
        responses = [await submitter.submit(batch) for _ in range(3)]
        await wait_until(records.all_jobs_ended, seconds=60)
        jobs = await records.jobs()
        assert {job["name"] for job in jobs} == {item["metadata"]["name"] for response in responses for item in response["items"]}
        assert {job["repository"] for job in jobs} == set(NAMES)
        assert {(job["state"], job["attempts"]) for job in jobs} == {("success", 1)}
        assert check_one_at_a_time(await records.job_feed()) == len(jobs)
        assert await records.additions() == {f"{name}-{index}": 1 for name in NAMES for index in range(5)}
        assert len(await client.dashboards()) == len(NAMES) * 5
    for worker in (first_worker, second_worker):
        assert worker.logged_events("job_ended"), "one worker did all the work"
