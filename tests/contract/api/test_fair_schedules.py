"""Many repositories that are due at once: none is forgotten, none keeps the others waiting, and there is no storm."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tests.contract.api.conftest import Api, StartApi
from tests.signer import SIGNER

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import TooManyRequests
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.relay import Relay
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.maintenance import scheduler
from dashwright.jobs_worker.maintenance.prober import Prober

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
NEW = "n" * 40
NOW = 1_800_000_000
Plan = Callable[[float], Awaitable[list[str]]]


@dataclass
class Still(Clock):
    """A clock that stands."""

    time: float = NOW

    def seconds(self) -> float:
        return self.time


@dataclass
class Hosts:
    """What is asked of hosts, and those that want to be left alone, for so many seconds."""

    asked: list[str] = field(default_factory=list)
    busy: dict[str, float] = field(default_factory=dict)

    async def head(self, repository: Repository) -> str | None:
        self.asked.append(repository.name)
        assert repository.spec.remote is not None
        for host, seconds in self.busy.items():
            if host in str(repository.spec.remote.url):
                raise TooManyRequests(f"{host} asks for patience", retry_after=seconds)
        return NEW

    async def look(self, repository: Repository) -> None:
        self.asked.append(repository.name)


@pytest.fixture
async def api(start_api: StartApi) -> Api:
    return await start_api()


@pytest.fixture
def hosts() -> Hosts:
    return Hosts()


@pytest.fixture
async def plan(database: Database, broker: MemoryBroker, hosts: Hosts) -> Plan:
    """One round, so many seconds later; the repositories whose jobs wait then, in the order that these were made in."""
    clock = Still()
    made: list[scheduler.Scheduler] = []

    async def plan(later: float) -> list[str]:
        clock.time = NOW + later
        if not made:
            made.append(
                scheduler.Scheduler(
                    database, Relay(database, broker, SIGNER), Prober(database, clock, hosts.look), clock, hosts.head, rules="these"
                )
            )
        async with database.connection() as connection:
            await made[0].plan(connection)
            await made[0].wait_idle()
            rows = await connection.fetch("select repository from job where state = 'pending' order by created_at")
        return [row["repository"] for row in rows]

    return plan


async def due(api: Api, name: str, host: str, *, since: int, namespace: str = "default") -> None:
    """A repository that was synced last so many seconds before now, and is due each minute."""
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 60}
    spec = {"title": name, "type": "githost", "workflows": [], "sync": sync, "githost": {"url": f"https://{host}/{name}", "branch": "main"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec}))[0] == 201
    at = (NOW - since) * 1000
    status = {"health": {"healthy": True, "checked": NOW * 1000}, "sync": {"state": "success", "started": at, "finished": at}}
    statement = (
        "update resource set status = $1, created_at = 'epoch', updated_at = null where name = $2 and resource = 'repositories' returning 1"
    )
    await api.sql(statement, json.dumps(status), name)
    await api.sql("update resource set namespace = $1 where name = $2 and resource = 'repositories' returning 1", namespace, name)


async def taken_up(api: Api) -> None:
    await api.sql("with gone as (delete from job returning 1) select count(*) from gone")


async def test_after_a_long_time_the_jobs_come_a_few_at_a_time_the_oldest_first(
    api: Api, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until they are taken up no more are made; then the others come, and each comes once."""
    monkeypatch.setattr(scheduler, "MOST_WAITING", 3)
    monkeypatch.setattr(scheduler, "AT_ONCE", 1)
    names = [f"r{number}" for number in range(8)]
    for number, name in enumerate(names):
        await due(api, name, f"host{number}.example.org", since=10_000 - number)
    assert await plan(0) == names[:3]
    assert await plan(1) == names[:3]
    await taken_up(api)
    assert await plan(2) == names[3:6]
    await taken_up(api)
    assert await plan(3) == names[6:]


async def test_a_host_that_was_asked_too_often_keeps_no_other_waiting(
    api: Api, plan: Plan, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its repositories wait quietly, tell until when, and come the oldest first when it may be asked again."""
    monkeypatch.setattr(scheduler, "AT_ONCE", 1)
    for number in range(5):
        await due(api, f"busy{number}", "busy.example.org", since=500 - number)
    await due(api, "other", "other.example.org", since=100)
    hosts.busy["busy.example.org"] = 90
    assert await plan(0) == ["other"]
    assert set(hosts.asked) <= {"busy0", "busy1", "other"}
    _, found = await api("GET", f"{REPOSITORIES}/busy0")
    assert found["status"]["sync"]["scheduled"] == (NOW + 90) * 1000
    assert found["status"]["health"] == {"healthy": True, "checked": NOW * 1000, "message": ["busy.example.org asks for patience"]}
    hosts.asked.clear()
    for later in (1, 30, 89):
        await plan(later)
    assert hosts.asked == []  # nor is the host of a sync that is queued
    hosts.busy.clear()
    await taken_up(api)
    assert await plan(91) == [f"busy{number}" for number in range(5)]


async def test_a_host_that_one_organization_asked_too_often_is_asked_by_others(
    api: Api, plan: Plan, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts those who ask apart: a token that is spent is one organization's."""
    monkeypatch.setattr(scheduler, "AT_ONCE", 1)
    await due(api, "spent", "busy.example.org", since=500)
    hosts.busy["/spent"] = 90
    assert await plan(0) == []
    await due(api, "other", "busy.example.org", since=100, namespace="org-2")
    await due(api, "own", "busy.example.org", since=100)
    assert await plan(1) == ["other"]


async def test_a_host_that_says_nothing_of_when_is_left_alone_for_some_seconds(api: Api, plan: Plan, hosts: Hosts) -> None:
    """Or a budget that is spent would be asked for again by every repository in every round."""
    await due(api, "busy", "busy.example.org", since=100)
    hosts.busy["busy.example.org"] = 0.1
    for later in (0, 1, 5, 9):
        await plan(later)
    assert hosts.asked == ["busy"]


async def test_jobs_that_were_put_off_keep_no_others_from_being_made(api: Api, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait for their host, not for a worker: only what could be taken up counts."""
    monkeypatch.setattr(scheduler, "MOST_WAITING", 1)
    monkeypatch.setattr(scheduler, "AT_ONCE", 1)
    await due(api, "first", "a.example.org", since=1000)
    await due(api, "second", "b.example.org", since=900)
    assert await plan(0) == ["first"]
    await api.sql("update job set not_before = now() + interval '1 hour' returning 1")
    assert await plan(1) == ["first", "second"]
