"""Scheduled syncs, which one worker at a time creates for repositories that are due and have a new commit."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api
from tests.servers import git
from tests.servers.git import GitServer

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.secrets import SecretCipher
from dashwright.common.settings import load
from dashwright.common.stores import repositories
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.scheduler import Scheduler

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
RunRound = Callable[[], Awaitable[None]]


@dataclass
class AheadClock(Clock):
    """Clock that is ``ahead`` seconds ahead of the real time."""

    ahead: float = 0

    def seconds(self) -> float:
        return super().seconds() + self.ahead


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    """Start a git server without repositories."""
    root = tmp_path / "server"
    root.mkdir()
    async with git.serving(root) as serving:
        yield serving


@pytest.fixture
def clock() -> AheadClock:
    """Return the clock of the scheduler, which shows the real time until a test advances it."""
    return AheadClock()


@pytest.fixture
def run_round(database: Database, broker: MemoryBroker, clock: AheadClock, tmp_path: Path) -> RunRound:
    """Return a function that runs one round of the scheduler."""
    settings = load(data_dir=tmp_path, secret_key="of tests only", allowed_hosts="127.0.0.0/8")
    checkouts = RepositoryCheckouts(settings, SecretCipher.from_keys("of tests only"))
    scheduler = Scheduler(
        database,
        WakeupPublisher(broker),
        Prober(database, clock, checkouts.check_readable),
        clock,
        checkouts.head,
        rules_fingerprint="current",
        max_waiting_jobs=1_000,
    )

    async def run_round() -> None:
        """Run a round, and wait until its probes and syncs are stored."""
        async with database.connection() as connection:
            await scheduler.plan(connection)
        await scheduler.wait_idle()

    return run_round


async def create_repository(api: Api, server: GitServer, **sync: Any) -> None:
    """Create the repository ``team``. ``sync`` has further members of its block ``sync``."""
    block = {"url": server.url("team.git"), "branch": "main"}
    spec = {"title": "T", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder", **sync}, "githost": block}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201


async def list_syncs(api: Api) -> list[Any]:
    """Return the options of the syncs that were created, the oldest first."""
    async with api.database.connection() as connection:
        return [json.loads(row["spec"])["sync"] for row in await connection.fetch("select spec from job order by created_at")]


async def record_sync(api: Api, commit: str, clock: AheadClock) -> None:
    """Record a sync that ended now with this commit."""
    now = clock.milliseconds()
    sync = {"state": "success", "started": now, "finished": now, "lastRef": commit}
    status = {"observedGeneration": 1, "health": {"healthy": True, "checked": now}, "sync": sync}
    await api.sql("update resource set status = $1 where resource = 'repositories' returning 1", json.dumps(status))
    await api.sql("with deleted as (delete from job returning 1) select count(*) from deleted")


async def test_a_new_repository_is_synced_once(api: Api, server: GitServer, run_round: RunRound) -> None:
    """A new repository has one full sync, however many rounds follow before the sync ends."""
    server.create_repository("team.git").commit({"a.json": "{}"})
    await create_repository(api, server)
    # No worker runs the job, so that it is pending in the later rounds.
    for _ in range(3):
        await run_round()
    assert await list_syncs(api) == [{"incremental": False}]


async def test_only_a_new_commit_creates_a_job(api: Api, server: GitServer, run_round: RunRound, clock: AheadClock) -> None:
    """The host is requested only after the interval, and a job is created only for a new commit."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=60)
    await record_sync(api, work_tree.commit({"a.json": "1"}), clock)
    work_tree.commit({"a.json": "2"})
    clock.ahead = 30
    await run_round()
    assert await list_syncs(api) == []
    assert server.requests == []
    clock.ahead = 61
    await run_round()
    assert await list_syncs(api) == [{"incremental": True}]


async def test_a_rollback_holds_the_repository(api: Api, server: GitServer, run_round: RunRound, clock: AheadClock) -> None:
    """After a rollback no sync is created until the branch moves or the spec changes."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=10)
    first, second = work_tree.commit({"a.json": "1"}), work_tree.commit({"a.json": "2"})
    await record_sync(api, first, clock)
    # A hold has the head of the branch and the generation of the spec at the rollback.
    hold = "insert into repository_hold select uid, $1, generation from resource where resource = 'repositories' returning 1"
    await api.sql(hold, second)
    clock.ahead = 11
    await run_round()
    assert await list_syncs(api) == []
    assert server.requests != []
    work_tree.commit({"a.json": "3"})
    clock.ahead = 22
    await run_round()
    assert await list_syncs(api) == [{"incremental": True}]
    await record_sync(api, first, clock)
    # The branch does not move after this rollback, but the spec has changed, so that its generation is newer.
    await api.sql("update repository_hold set head = $1, generation = generation - 1 returning 1", work_tree.commit({"a.json": "4"}))
    clock.ahead = 33
    await run_round()
    assert await list_syncs(api) == [{"incremental": True}]


async def test_a_failing_commit_is_retried_with_delays(api: Api, server: GitServer, run_round: RunRound, clock: AheadClock) -> None:
    """A commit that cannot be stored completely is retried less often than the repository is due."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=10)
    stored_commit = work_tree.commit({"a.json": "1"})
    await record_sync(api, stored_commit, clock)
    work_tree.commit({"a.json": "{broken"})
    # The repository is due every 10 seconds, and the failed commit only after 10 minutes.
    for ahead, job_count in ((11, 1), (22, 0), (33, 0), (620, 1)):
        clock.ahead = ahead
        await run_round()
        assert len(await list_syncs(api)) == job_count, ahead
        await record_sync(api, stored_commit, clock)


@pytest.mark.parametrize(
    ("fingerprint", "expected_syncs"),
    [("current", []), ("earlier", [{"incremental": True}]), ("", [{"incremental": True}])],
    ids=["invalid by the rules of this version", "invalid by those of another version", "invalid because of another object"],
)
async def test_an_invalid_file_is_retried_if_its_cause_may_be_gone(
    api: Api, server: GitServer, run_round: RunRound, clock: AheadClock, fingerprint: str, expected_syncs: list[Any]
) -> None:
    """A commit with an invalid file is retried only if another version rejected the file, or if another object made it invalid.

    A fault because of another object has no fingerprint of the rules.
    """
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=10)
    await record_sync(api, work_tree.commit({"a.json": "{"}), clock)
    failed = "jsonb_set(status::jsonb, '{sync,state}', to_jsonb('error'::text))::text"
    await api.sql(f"update resource set status = {failed} where resource = 'repositories' returning 1")
    await api.sql(
        "insert into repository_fault (repository, path, name, message, checksum, rules, since) "
        "select uid, 'a.json', '', 'not valid JSON', 'c', $1, now() from resource where resource = 'repositories' returning 1",
        fingerprint,
    )
    clock.ahead = 11
    await run_round()
    assert await list_syncs(api) == expected_syncs


async def test_a_check_without_a_new_commit_writes_nothing(api: Api, server: GitServer, run_round: RunRound, clock: AheadClock) -> None:
    """The host is requested at each interval, but without a new commit no job or status is written."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=10)
    await record_sync(api, work_tree.commit({"a.json": "1"}), clock)
    before = await api.sql("select last_value from resource_version")
    for ahead in (11, 22, 33):
        clock.ahead = ahead
        await run_round()
        # The repository is not due again.
        await run_round()
    assert await list_syncs(api) == []
    assert await api.sql("select last_value from resource_version") == before
    # Two requests for each of the three checks.
    assert len(server.requests) == 6


async def test_the_time_of_the_last_check_is_written_every_five_minutes(
    api: Api, server: GitServer, run_round: RunRound, clock: AheadClock
) -> None:
    """Without a new commit, the times of the last probe and next check are written every five minutes."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=100)
    await record_sync(api, work_tree.commit({"a.json": "1"}), clock)
    before = await api.sql("select last_value from resource_version")
    for ahead in range(100, 701, 100):
        clock.ahead = ahead
        await run_round()
    assert await list_syncs(api) == []
    # The times are written at 300 and at 600 seconds.
    assert await api.sql("select last_value from resource_version") == before + 2
    status = (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]
    assert status["health"]["healthy"]
    assert status["sync"]["scheduled"] == status["health"]["checked"] + 100_000
    assert 0 <= clock.milliseconds() - status["health"]["checked"] < 200_000


async def test_an_unhealthy_repository_is_synced_once_it_is_healthy(
    api: Api, server: GitServer, run_round: RunRound, clock: AheadClock
) -> None:
    """A failing host makes the repository unhealthy. The repository is probed again after a minute, and synced once the host works."""
    work_tree = server.create_repository("team.git")
    await create_repository(api, server, intervalSeconds=10)
    await record_sync(api, work_tree.commit({"a.json": "1"}), clock)

    async def refuse(_: web.Request) -> web.StreamResponse:
        """Respond to a request as a failing host."""
        return web.Response(status=503)

    server.fault = refuse
    clock.ahead = 11
    await run_round()
    _, body = await api("GET", f"{REPOSITORIES}/team")
    assert body["status"]["health"]["healthy"] is False
    request_count = len(server.requests)
    clock.ahead = 40
    await run_round()
    assert len(server.requests) == request_count
    server.fault = None
    clock.ahead = 75
    await run_round()
    assert await list_syncs(api) == [{"incremental": False}]
    _, body = await api("GET", f"{REPOSITORIES}/team")
    assert body["status"]["health"]["healthy"] is True


async def test_a_repository_with_disabled_syncs_is_not_scheduled(
    api: Api, server: GitServer, run_round: RunRound, clock: AheadClock
) -> None:
    """A repository whose syncs are disabled has no scheduled sync, however much time passes."""
    server.create_repository("team.git").commit({"a.json": "1"})
    await create_repository(api, server, enabled=False, intervalSeconds=10)
    clock.ahead = 1000
    await run_round()
    assert await list_syncs(api) == []


async def test_one_scheduler_plans_at_a_time(database: Database) -> None:
    """While one scheduler holds the lock, a second one does not get it. Afterwards, the lock is free."""
    async with repositories.scheduler_lock(database) as first, repositories.scheduler_lock(database) as second:
        assert first is not None
        assert second is None
    async with repositories.scheduler_lock(database) as later_lock:
        assert later_lock is not None


async def test_a_scheduler_ends_although_the_pool_is_closed(database_url: str) -> None:
    """A scheduler that is cancelled while it holds the lock ends with the cancellation, even if its connection is already closed."""
    pool = await Database.open(database_url, application_name="closed", max_size=1)
    locked = asyncio.Event()

    async def hold() -> None:
        """Hold the lock of the scheduler until the task is cancelled."""
        async with repositories.scheduler_lock(pool):
            locked.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    await locked.wait()
    pool._pool.terminate()
    holder.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holder
