"""Schedules of many repositories: a host does not delay the repositories of other hosts, and the number of jobs is limited."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tests.contract.api.conftest import Api

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import TooManyRequests
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.domain.objects import Repository
from dashwright.jobs_worker.maintenance import scheduler
from dashwright.jobs_worker.maintenance.prober import Prober

REPOSITORIES = "/apis/provisioning.grafana.app/v0alpha1/namespaces/default/repositories"
NEW_COMMIT = "n" * 40
#: Unix time in seconds at which a test begins.
NOW = 1_800_000_000
#: Function that runs a round some seconds after NOW and returns the repositories of pending jobs.
RunRound = Callable[[float], Awaitable[list[str]]]


@dataclass
class FixedClock(Clock):
    """Clock that shows the time that the test sets."""

    time: float = NOW

    def seconds(self) -> float:
        return self.time


@dataclass
class FakeHosts:
    """Fake git hosts, which count requests and limit their rate."""

    #: Names of the repositories that were requested, in order.
    requests: list[str] = field(default_factory=list)
    #: Seconds for which addresses are rate limited, by a part of the address.
    rate_limits: dict[str, float] = field(default_factory=dict)

    async def head(self, repository: Repository) -> str | None:
        """Return the newest commit of a repository. Raises TooManyRequests if its address is rate limited."""
        self.requests.append(repository.name)
        assert repository.spec.remote is not None
        for address_part, seconds in self.rate_limits.items():
            if address_part in str(repository.spec.remote.url):
                raise TooManyRequests(f"{address_part} asks for patience", retry_after=seconds)
        return NEW_COMMIT

    async def check(self, repository: Repository) -> None:
        """Record a probe of a repository, which succeeds."""
        self.requests.append(repository.name)


@pytest.fixture
def hosts() -> FakeHosts:
    """Return hosts without rate limits."""
    return FakeHosts()


@pytest.fixture
async def run_round(database: Database, broker: MemoryBroker, hosts: FakeHosts) -> RunRound:
    """Return a function that runs one round after some seconds and returns the repositories of pending jobs by creation time."""
    clock = FixedClock()
    schedulers: list[scheduler.Scheduler] = []

    async def run_round(delay: float) -> list[str]:
        """Run a round of the scheduler at this time after the start, and return the repositories of pending jobs."""
        clock.time = NOW + delay
        if not schedulers:  # A scheduler reads its limits when it is created, so the test must have set them before.
            schedulers.append(
                scheduler.Scheduler(
                    database,
                    WakeupPublisher(broker),
                    Prober(database, clock, hosts.check),
                    clock,
                    hosts.head,
                    rules_fingerprint="of tests",
                    max_waiting_jobs=1_000,
                )
            )
        async with database.connection() as connection:
            await schedulers[0].plan(connection)
            await schedulers[0].wait_idle()
            rows = await connection.fetch("select repository from job where state = 'pending' order by created_at")
        return [row["repository"] for row in rows]

    return run_round


async def create_due_repository(api: Api, name: str, host: str, *, since: int, namespace: str = "default") -> None:
    """Create a repository that was last synced ``since`` seconds ago and is due every minute."""
    sync = {"enabled": True, "target": "folder", "intervalSeconds": 60}
    spec = {"title": name, "type": "githost", "workflows": [], "sync": sync, "githost": {"url": f"https://{host}/{name}", "branch": "main"}}
    assert (await api("POST", REPOSITORIES, {"metadata": {"name": name}, "spec": spec}))[0] == 201
    synced_at = (NOW - since) * 1000
    status = {"health": {"healthy": True, "checked": NOW * 1000}, "sync": {"state": "success", "started": synced_at, "finished": synced_at}}
    statement = (
        "update resource set status = $1, created_at = 'epoch', updated_at = null where name = $2 and resource = 'repositories' returning 1"
    )
    await api.sql(statement, json.dumps(status), name)
    await api.sql("update resource set namespace = $1 where name = $2 and resource = 'repositories' returning 1", namespace, name)


async def delete_jobs(api: Api) -> None:
    """Delete all jobs, as if they had been run."""
    await api.sql("with gone as (delete from job returning 1) select count(*) from gone")


async def test_overdue_repositories_are_queued_in_batches(api: Api, run_round: RunRound, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an outage, jobs are created a few at a time, for the longest overdue repositories first."""
    monkeypatch.setattr(scheduler, "MAX_WAITING_JOBS", 3)
    monkeypatch.setattr(scheduler, "MAX_CONCURRENT_STEPS", 1)
    names = [f"r{index}" for index in range(8)]
    for index, name in enumerate(names):
        await create_due_repository(api, name, f"host{index}.example.org", since=10_000 - index)
    assert await run_round(0) == names[:3]
    # The three jobs are still pending.
    assert await run_round(1) == names[:3]
    await delete_jobs(api)
    assert await run_round(2) == names[3:6]
    await delete_jobs(api)
    assert await run_round(3) == names[6:]


async def test_a_rate_limited_host_does_not_delay_other_hosts(
    api: Api, run_round: RunRound, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repositories of a rate-limited host are not requested, show the time of the next try, and are then queued by age."""
    monkeypatch.setattr(scheduler, "MAX_CONCURRENT_STEPS", 1)
    for index in range(5):
        await create_due_repository(api, f"busy{index}", "busy.example.org", since=500 - index)
    await create_due_repository(api, "other", "other.example.org", since=100)
    hosts.rate_limits["busy.example.org"] = 90
    assert await run_round(0) == ["other"]
    assert set(hosts.requests) <= {"busy0", "busy1", "other"}
    _, body = await api("GET", f"{REPOSITORIES}/busy0")
    assert body["status"]["sync"]["scheduled"] == (NOW + 90) * 1000
    assert body["status"]["health"] == {"healthy": True, "checked": NOW * 1000, "message": ["busy.example.org asks for patience"]}
    hosts.requests.clear()
    for delay in (1, 30, 89):
        await run_round(delay)
    assert hosts.requests == []  # The host of a queued sync is not requested either.
    hosts.rate_limits.clear()
    await delete_jobs(api)
    assert await run_round(91) == [f"busy{index}" for index in range(5)]


async def test_rate_limits_count_per_organization(api: Api, run_round: RunRound, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate limit in one organization does not delay repositories of other organizations on the same host."""
    monkeypatch.setattr(scheduler, "MAX_CONCURRENT_STEPS", 1)
    await create_due_repository(api, "spent", "busy.example.org", since=500)
    hosts.rate_limits["/spent"] = 90
    assert await run_round(0) == []
    await create_due_repository(api, "other", "busy.example.org", since=100, namespace="org-2")
    await create_due_repository(api, "own", "busy.example.org", since=100)
    assert await run_round(1) == ["other"]


async def test_a_very_short_rate_limit_lasts_some_seconds(api: Api, run_round: RunRound, hosts: FakeHosts) -> None:
    """A rate limit of a fraction of a second stops requests for ten seconds."""
    await create_due_repository(api, "busy", "busy.example.org", since=100)
    hosts.rate_limits["busy.example.org"] = 0.1
    for delay in (0, 1, 5, 9):
        await run_round(delay)
    assert hosts.requests == ["busy"]


async def test_postponed_jobs_do_not_count_as_waiting(api: Api, run_round: RunRound, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that wait for a rate-limited host do not count for the limit of waiting jobs."""
    monkeypatch.setattr(scheduler, "MAX_WAITING_JOBS", 1)
    monkeypatch.setattr(scheduler, "MAX_CONCURRENT_STEPS", 1)
    await create_due_repository(api, "first", "a.example.org", since=1000)
    await create_due_repository(api, "second", "b.example.org", since=900)
    assert await run_round(0) == ["first"]
    await api.sql("update job set not_before = now() + interval '1 hour' returning 1")
    assert await run_round(1) == ["first", "second"]
