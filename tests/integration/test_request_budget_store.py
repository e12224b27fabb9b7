"""The request budget of git hosts over a real PostgreSQL: one count for all workers, fair shares, and pauses that hosts request."""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta

import pytest

from dashwright.common.database.pool import Database
from dashwright.jobs_worker.stores import git_hosts
from dashwright.jobs_worker.stores.git_hosts import Wait

HOST = "git.example.org:443"
NAMESPACE = "default"


async def take_requests(
    database: Database,
    requests: float = 1,
    *,
    limit: float = 60,
    min_available: float | None = None,
    host: str = HOST,
    namespace: str = NAMESPACE,
) -> Wait | None:
    """Charge requests to a budget; return ``None`` if they may be sent now, or the wait until a later attempt."""
    async with database.connection() as connection:
        return await git_hosts.charge(
            connection, host, namespace, requests, limit=limit, min_available=requests if min_available is None else min_available
        )


async def pause_host(database: Database, retry_after: float | None = None, *, namespace: str = NAMESPACE) -> float:
    """Record a refusal by the host, which may request a pause; return the seconds of the pause."""
    async with database.connection() as connection:
        return await git_hosts.pause(connection, HOST, namespace, None if retry_after is None else timedelta(seconds=retry_after))


async def pass_time(database: Database, seconds: float) -> None:
    """Move all times of budgets and pauses into the past by these seconds."""
    async with database.connection() as connection:
        interval = timedelta(seconds=seconds)
        await connection.execute("update git_host set counted_at = counted_at - $1::interval", interval)
        await connection.execute(
            "update git_host_share set counted_at = counted_at - $1::interval, paused_until = paused_until - $1::interval", interval
        )


async def test_workers_share_the_limit_of_a_host(database: Database) -> None:
    """Concurrent workers use a minute's requests exactly once; another host has its own count."""
    start_time = time.monotonic()
    responses = await asyncio.gather(*(take_requests(database, limit=60, namespace=f"org-{index}") for index in range(100)))
    # A full budget has 60 requests, and one request is refilled each second.
    assert 60 <= responses.count(None) <= 61 + (time.monotonic() - start_time)
    assert await take_requests(database, host="other.example.org:443") is None


async def test_the_budget_refills_up_to_one_minute(database: Database) -> None:
    """The returned wait is exact, and the budget never exceeds a minute's requests."""
    assert await take_requests(database, 60) is None
    wait = await take_requests(database, 3, namespace="org-2")
    assert wait is not None
    assert wait.seconds == pytest.approx(3, abs=1)
    assert not wait.is_paused
    await pass_time(database, wait.seconds)
    assert await take_requests(database, 3, namespace="org-2") is None
    await pass_time(database, 3600)
    assert await take_requests(database, 60) is None
    assert await take_requests(database, 3) is not None


async def test_an_organization_leaves_a_share_to_others(database: Database) -> None:
    """A busy organization leaves requests to others, which need not wait. Over time, it can use all that are refilled."""

    async def take_all(namespace: str) -> int:
        """Take single requests until one must wait, and return their number."""
        count = 0
        while await take_requests(database, namespace=namespace) is None:
            count += 1
        return count

    # An organization leaves an eighth of its requests of the last minute: of 60, after 53 an eighth remains.
    assert await take_all("greedy") == pytest.approx(53, abs=2)
    assert await take_all("other") == pytest.approx(6, abs=2)  # of the remaining seven requests
    in_ten_minutes = 0
    for _ in range(100):  # steps of six seconds
        await pass_time(database, 6)
        in_ten_minutes += await take_all("greedy")
    assert in_ten_minutes == pytest.approx(600, rel=0.05)
    assert await take_requests(database, 5, namespace="third") is None


async def test_the_wait_for_a_share_is_an_upper_bound(database: Database) -> None:
    """After the returned wait for a share, the organization is served."""
    while (wait := await take_requests(database)) is None:
        pass
    await pass_time(database, wait.seconds + 0.1)
    assert await take_requests(database) is None


async def test_a_step_may_need_the_whole_budget(database: Database) -> None:
    """A step that needs the whole budget of a minute is allowed whenever the budget is full."""
    for _ in range(3):
        assert await take_requests(database, 2, limit=2) is None
        await pass_time(database, 60)


async def test_low_priority_requests_stop_earlier(database: Database) -> None:
    """The last quarter of the budget is reserved for requests of normal priority."""
    assert await take_requests(database, 50) is None
    assert await take_requests(database, 2, min_available=15) is not None
    assert await take_requests(database, 2) is None


async def test_an_organization_pauses_as_long_as_the_host_requests(database: Database) -> None:
    """A pause that a host requests is for one organization: another one, which has its own token, continues."""
    assert await pause_host(database, 120) == pytest.approx(120, abs=1)
    wait = await take_requests(database)
    assert wait is not None
    assert wait.is_paused
    assert wait.seconds == pytest.approx(120, abs=2)
    assert await take_requests(database, namespace="org-2") is None
    await pass_time(database, 121)
    assert await take_requests(database) is None


async def test_the_default_pause_grows_with_each_refusal(database: Database) -> None:
    """Pauses grow from 30 s to 15 minutes, and start at 30 s again after a time without refusals."""
    for expected in (30, 60, 120, 240, 480, 900, 900):
        assert await pause_host(database) == pytest.approx(expected, abs=1)
        await pass_time(database, expected + 1)
    await pass_time(database, 900)
    assert await pause_host(database) == pytest.approx(30, abs=1)


async def test_refusals_at_the_same_time_are_one_pause(database: Database) -> None:
    """Refusals during a pause do not prolong it, unless the host requests a longer pause, of at most an hour."""
    for _ in range(3):
        assert await pause_host(database) == pytest.approx(30, abs=1)
    assert await pause_host(database, 5) == pytest.approx(30, abs=1)
    assert await pause_host(database, 1e6) == pytest.approx(3600, abs=1)


async def test_unused_hosts_are_deleted(database: Database) -> None:
    """Rows of unused hosts are deleted, except for those of paused hosts."""

    async def known_hosts(table: str) -> Sequence[str]:
        """Delete the hosts that have not been used for an hour, and return those in a table."""
        async with database.connection() as connection:
            await git_hosts.delete_unused(connection, older_than=timedelta(hours=1))
            return [row["host"] for row in await connection.fetch(f"select host from {table}")]

    await take_requests(database, host="other")
    await take_requests(database)
    assert set(await known_hosts("git_host")) == set(await known_hosts("git_host_share")) == {HOST, "other"}
    await pass_time(database, 3601)
    await pause_host(database)
    assert (await known_hosts("git_host"), await known_hosts("git_host_share")) == ([], [HOST])
    wait = await take_requests(database)
    assert wait is not None
    assert wait.is_paused
