"""The previous version serves while the schema is migrated and this version starts; then it is stopped. Nothing fails or is lost."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from tests.acceptance import dashboard_files
from tests.acceptance.client import PROVISIONING, Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.polling import wait_until
from tests.acceptance.records import Records
from tests.acceptance.test_rolling_restart import REPOSITORIES, Load
from tests.upgrade.conftest import migrate

pytestmark = pytest.mark.upgrade

#: Requests to each version while both run.
REQUESTS = 100


class JobWatch:
    """Watch of all jobs at one gateway, with the states of each job in the order of its events."""

    def __init__(self) -> None:
        self.states: dict[str, list[str]] = {}

    async def record_events(self, client: Client) -> None:
        """Record events, and resume the watch after the last one if the gateway ends it."""
        version = "0"  # The first watch begins with all existing jobs.
        with suppress(aiohttp.ClientError):  # the gateway has been stopped
            while True:
                async with client.request("GET", f"{PROVISIONING}/jobs?watch=true&resourceVersion={version}") as response:
                    async for line in response.content:
                        event = json.loads(line)
                        item = event["object"]
                        assert event["type"] != "ERROR", item
                        version = item["metadata"]["resourceVersion"]
                        if event["type"] != "DELETED":
                            self.states.setdefault(item["metadata"]["name"], []).append(item["status"]["state"])

    def has_recorded_success_of(self, names: set[str]) -> bool:
        """Return whether each of these jobs has succeeded, once."""
        return all(self.states.get(name, []).count("success") == 1 for name in names)


async def test_both_versions_serve_one_database_and_broker(
    make_stack: MakeStack, records: Records, database_url: str, previous_programs: Path
) -> None:
    """Requests to both versions succeed before, during and after the migration; each accepted job succeeds once, on either."""
    previous = make_stack(programs=previous_programs)
    for name in REPOSITORIES:
        dashboard_files.write(previous.repositories / name / "one.json", dashboard_files.classic(f"{name}-one", name))
    await previous.start()
    old_load, new_load, old_watch, new_watch = Load(), Load(), JobWatch(), JobWatch()

    async def both_have_recorded_success_of(names: set[str]) -> bool:
        """Return whether each watch has recorded the success of the jobs that were accepted at its gateway."""
        return old_watch.has_recorded_success_of(names & old_load.accepted) and new_watch.has_recorded_success_of(names & new_load.accepted)

    async with Client(previous.address) as old_client:
        for name in REPOSITORIES:
            await old_client.create_repository(name, name)
        watches = [asyncio.create_task(old_watch.record_events(old_client))]
        # The numbers distinguish the dashboards of both loads. The migration begins when the previous version is under load.
        old_requests = asyncio.create_task(old_load.run(old_client, 1))
        await wait_for_requests(old_load, 20)
        await migrate(database_url)
        current = make_stack()
        await current.start()
        async with Client(current.address) as new_client:
            watches.append(asyncio.create_task(new_watch.record_events(new_client)))
            new_requests = asyncio.create_task(new_load.run(new_client, 2))
            await wait_for_requests(old_load, old_load.requests + REQUESTS)
            await wait_for_requests(new_load, REQUESTS)
            # First the workers of the previous version stop, and then its gateway.
            assert await previous.jobs_worker.stop() == 0
            assert await previous.expressions.stop() == 0
            old_load.is_stopped = True
            await old_requests
            await wait_until(records.all_jobs_ended, seconds=60)
            # Evaluations are not jobs of repositories, so no watch has their events.
            names = {name for name in old_load.accepted | new_load.accepted if not name.startswith("evaluation")}
            await wait_until(lambda: both_have_recorded_success_of(names))
            assert await previous.gateway.stop() == 0
            new_load.is_stopped = True
            await new_requests
            await wait_until(records.all_jobs_ended, seconds=60)
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
    assert old_load.failures == []
    assert new_load.failures == []
    jobs = {job["name"]: (job["state"], job["attempts"]) for job in await records.jobs()}
    assert old_load.accepted | new_load.accepted <= set(jobs)
    assert set(jobs.values()) == {("success", 1)}
    for stack in (previous, current):
        assert stack.jobs_worker.logged_events("job_ended"), "one version has run no jobs"
        assert stack.expressions.logged_events("job_ended"), "one version has run no jobs"


async def wait_for_requests(load: Load, requests: int) -> None:
    """Wait until as many requests have been sent."""

    async def has_sent() -> bool:
        return load.requests >= requests

    await wait_until(has_sent, seconds=100)
