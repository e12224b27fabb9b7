"""Syncs that nobody asks for: what is due is seen to, by one worker, and what has nothing new makes no job."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.contract.api.conftest import Api, StartApi
from tests.servers import git
from tests.servers.git import GitServer
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.relay import Relay
from dashwright.common.secrets import SecretBox
from dashwright.common.settings import load
from dashwright.common.stores import repositories
from dashwright.jobs_worker.adapters.checkouts import RepositoryCheckouts
from dashwright.jobs_worker.maintenance.prober import Prober
from dashwright.jobs_worker.maintenance.scheduler import Scheduler

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
Plan = Callable[[], Awaitable[None]]


@dataclass
class Later(Clock):
    """A clock that is some seconds ahead."""

    ahead: float = 0

    def seconds(self) -> float:
        return super().seconds() + self.ahead


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[GitServer]:
    root = tmp_path / "server"
    root.mkdir()
    async with git.serving(root) as serving:
        yield serving


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api()


@pytest.fixture
def clock() -> Later:
    return Later()


@pytest.fixture
def plan(database: Database, broker: MemoryBroker, clock: Later, tmp_path: Path) -> Plan:
    """One round of the scheduler."""
    settings = load(data_dir=tmp_path, secret_key="of tests only", allowed_hosts="127.0.0.0/8")
    checkouts = RepositoryCheckouts(settings, SecretBox.of("of tests only"))
    scheduler = Scheduler(
        database, Relay(database, broker, SIGNER), Prober(database, clock, checkouts.check_readable), clock, checkouts.head, rules="these"
    )

    async def plan() -> None:
        async with database.connection() as connection:
            await scheduler.plan(connection)
        await scheduler.wait_idle()

    return plan


async def repository(api: Api, server: GitServer, **sync: Any) -> None:
    block = {"url": server.url("team.git"), "branch": "main"}
    spec = {"title": "T", "type": "githost", "workflows": [], "sync": {"enabled": True, "target": "folder", **sync}, "githost": block}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": "team"}, "spec": spec}))[0] == 201


async def jobs(api: Api) -> list[Any]:
    async with api.database.connection() as connection:
        return [json.loads(row["spec"])["sync"] for row in await connection.fetch("select spec from job order by created_at")]


async def synced(api: Api, commit: str, clock: Later) -> None:
    """As if a job had ended now with that commit."""
    now = clock.milliseconds()
    sync = {"state": "success", "started": now, "finished": now, "lastRef": commit}
    status = {"observedGeneration": 1, "health": {"healthy": True, "checked": now}, "sync": sync}
    await api.sql("update resource set status = $1 where resource = 'repositories' returning 1", json.dumps(status))
    await api.sql("with gone as (delete from job returning 1) select count(*) from gone")


async def test_a_new_repository_is_synced_whole_and_once(api: Api, server: GitServer, plan: Plan) -> None:
    server.make("team.git").commit({"a.json": "{}"})
    await repository(api, server)
    for _ in range(3):
        await plan()
    assert await jobs(api) == [{"incremental": False}]


async def test_only_what_has_something_new_gets_a_job(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    """Its host is asked when the interval has passed, and not before."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=60)
    await synced(api, work.commit({"a.json": "1"}), clock)
    work.commit({"a.json": "2"})
    clock.ahead = 30
    await plan()
    assert (await jobs(api), server.requests) == ([], [])
    clock.ahead = 61
    await plan()
    assert await jobs(api) == [{"incremental": True}]


async def test_what_was_put_back_is_held(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    """As long as the branch is where it was then; a hold of an older spec counts no more."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=10)
    first, second = work.commit({"a.json": "1"}), work.commit({"a.json": "2"})
    await synced(api, first, clock)
    hold = "insert into repository_hold select uid, $1, generation from resource where resource = 'repositories' returning 1"
    await api.sql(hold, second)
    clock.ahead = 11
    await plan()
    assert (await jobs(api), bool(server.requests)) == ([], True)
    work.commit({"a.json": "3"})
    clock.ahead = 22
    await plan()
    assert await jobs(api) == [{"incremental": True}]
    await synced(api, first, clock)
    await api.sql("update repository_hold set head = $1, generation = generation - 1 returning 1", work.commit({"a.json": "4"}))
    clock.ahead = 33
    await plan()
    assert await jobs(api) == [{"incremental": True}]


async def test_a_commit_that_cannot_be_stored_whole_is_tried_now_and_then(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    """Not each time that the repository is due, or its jobs would be all there is to see."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=10)
    stored = work.commit({"a.json": "1"})
    await synced(api, stored, clock)
    work.commit({"a.json": "{broken"})
    for ahead, expected in ((11, 1), (22, 0), (33, 0), (620, 1)):
        clock.ahead = ahead
        await plan()
        assert len(await jobs(api)) == expected, ahead
        await synced(api, stored, clock)


@pytest.mark.parametrize(("rules", "tries"), [("these", 0), ("earlier", 1), ("", 1)], ids=["the-file", "an-upgrade", "another-object"])
async def test_a_bad_file_is_looked_at_where_the_reason_may_be_gone(
    api: Api, server: GitServer, plan: Plan, clock: Later, rules: str, tries: int
) -> None:
    """What lies in the file is known until there is another commit; what lies elsewhere, or what another version refused, is not."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=10)
    await synced(api, work.commit({"a.json": "{"}), clock)
    failed = "jsonb_set(status::jsonb, '{sync,state}', to_jsonb('error'::text))::text"
    await api.sql(f"update resource set status = {failed} where resource = 'repositories' returning 1")
    await api.sql(
        "insert into repository_fault (repository, path, name, message, checksum, rules, since) "
        "select uid, 'a.json', '', 'not valid JSON', 'c', $1, now() from resource where resource = 'repositories' returning 1",
        rules,
    )
    clock.ahead = 11
    await plan()
    assert await jobs(api) == [{"incremental": True}] * tries


async def test_what_has_nothing_new_makes_neither_job_nor_event(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=10)
    await synced(api, work.commit({"a.json": "1"}), clock)
    before = await api.sql("select last_value from resource_version")
    for ahead in (11, 22, 33):
        clock.ahead = ahead
        await plan()
        await plan()
    assert await jobs(api) == []
    assert await api.sql("select last_value from resource_version") == before
    assert len(server.requests) == 6


async def test_what_has_nothing_new_tells_now_and_then_that_it_was_asked(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    """When it was found healthy last, and when it is asked next: each five minutes, whatever its interval."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=100)
    await synced(api, work.commit({"a.json": "1"}), clock)
    before = await api.sql("select last_value from resource_version")
    for ahead in range(100, 701, 100):
        clock.ahead = ahead
        await plan()
    assert await jobs(api) == []
    assert await api.sql("select last_value from resource_version") == before + 2
    status = (await api("GET", f"{REPOSITORIES}/team"))[1]["status"]
    assert status["health"]["healthy"]
    assert status["sync"]["scheduled"] == status["health"]["checked"] + 100_000
    assert 0 <= clock.milliseconds() - status["health"]["checked"] < 200_000


async def test_a_sick_repository_is_synced_once_it_heals(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    """A host that fails makes it unhealthy; it is looked at again each minute."""
    work = server.make("team.git")
    await repository(api, server, intervalSeconds=10)
    await synced(api, work.commit({"a.json": "1"}), clock)

    async def refuse(_: web.Request) -> web.StreamResponse:
        return web.Response(status=503)

    server.fault = refuse
    clock.ahead = 11
    await plan()
    _, found = await api("GET", f"{REPOSITORIES}/team")
    assert found["status"]["health"]["healthy"] is False
    asked = len(server.requests)
    clock.ahead = 40
    await plan()
    assert len(server.requests) == asked
    server.fault = None
    clock.ahead = 75
    await plan()
    assert await jobs(api) == [{"incremental": False}]
    _, found = await api("GET", f"{REPOSITORIES}/team")
    assert found["status"]["health"]["healthy"] is True


async def test_what_is_off_or_going_is_left_alone(api: Api, server: GitServer, plan: Plan, clock: Later) -> None:
    server.make("team.git").commit({"a.json": "1"})
    await repository(api, server, enabled=False, intervalSeconds=10)
    clock.ahead = 1000
    await plan()
    assert await jobs(api) == []


async def test_one_plans_for_all(database: Database) -> None:
    """Whoever comes second waits until the first has ended."""
    async with repositories.schedule(database) as first, repositories.schedule(database) as second:
        assert first is not None
        assert second is None
    async with repositories.schedule(database) as again:
        assert again is not None
