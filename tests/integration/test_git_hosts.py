"""What may still be asked of git hosts, over a real PostgreSQL: one count for all workers, and pauses that a host asks for."""

import asyncio
import time
from datetime import timedelta

import pytest

from dashwright.common.database.pool import Database
from dashwright.common.stores import git_hosts
from dashwright.common.stores.git_hosts import Wait

HOST = "git.example.org:443"


async def take(
    database: Database, requests: float = 1, *, most: float = 60, at_least: float | None = None, host: str = HOST
) -> Wait | None:
    async with database.connection() as connection:
        return await git_hosts.take(connection, host, requests, most=most, at_least=requests if at_least is None else at_least)


async def pause(database: Database, wish: float | None = None) -> float:
    async with database.connection() as connection:
        return await git_hosts.pause(connection, HOST, None if wish is None else timedelta(seconds=wish))


async def pass_time(database: Database, seconds: float) -> None:
    """As if so much time had passed for every host."""
    async with database.connection() as connection:
        await connection.execute(
            "update git_host set counted_at = counted_at - $1::interval, paused_until = paused_until - $1::interval",
            timedelta(seconds=seconds),
        )


async def test_workers_together_ask_a_host_no_more_often_than_allowed(database: Database) -> None:
    """However many count at once, a minute's requests are taken once; another host has a count of its own."""
    begun = time.monotonic()
    answers = await asyncio.gather(*(take(database, most=60) for _ in range(100)))
    assert 60 <= answers.count(None) <= 61 + (time.monotonic() - begun)
    assert await take(database, host="other.example.org:443") is None


async def test_what_was_spent_comes_back_with_time_and_no_more_than_a_minute_of_it(database: Database) -> None:
    """Who must wait is told how long, and that is true."""
    assert await take(database, 60) is None
    wait = await take(database, 3)
    assert wait is not None
    assert wait.seconds == pytest.approx(3, abs=1)
    assert not wait.is_paused
    await pass_time(database, wait.seconds)
    assert await take(database, 3) is None
    await pass_time(database, 3600)
    assert await take(database, 60) is None
    assert await take(database, 3) is not None


async def test_what_yields_stops_earlier(database: Database) -> None:
    """Of the last quarter only those take who do not yield."""
    assert await take(database, 50) is None
    assert await take(database, 2, at_least=15) is not None
    assert await take(database, 2) is None


async def test_a_paused_host_is_asked_by_nobody_for_as_long_as_it_says(database: Database) -> None:
    assert await pause(database, 120) == pytest.approx(120, abs=1)
    wait = await take(database)
    assert wait is not None
    assert wait.is_paused
    assert wait.seconds == pytest.approx(120, abs=2)
    await pass_time(database, 121)
    assert await take(database) is None


async def test_a_host_that_does_not_say_is_left_alone_longer_each_time(database: Database) -> None:
    """Up to a quarter of an hour; after a while without a refusal it begins with half a minute again."""
    for expected in (30, 60, 120, 240, 480, 900, 900):
        assert await pause(database) == pytest.approx(expected, abs=1)
        await pass_time(database, expected + 1)
    await pass_time(database, 900)
    assert await pause(database) == pytest.approx(30, abs=1)


async def test_refusals_at_the_same_time_are_one_pause(database: Database) -> None:
    """A longer one that the host names counts, a shorter one does not shorten it, and none is longer than an hour."""
    for _ in range(3):
        assert await pause(database) == pytest.approx(30, abs=1)
    assert await pause(database, 5) == pytest.approx(30, abs=1)
    assert await pause(database, 1e6) == pytest.approx(3600, abs=1)


async def test_hosts_that_nobody_asks_any_more_are_forgotten(database: Database) -> None:
    """But none that is to be left alone."""

    async def known() -> list[str]:
        async with database.connection() as connection:
            await git_hosts.forget(connection, older_than=timedelta(hours=1))
            return [row["host"] for row in await connection.fetch("select host from git_host")]

    await take(database, host="other")
    await take(database)
    assert set(await known()) == {HOST, "other"}
    await pass_time(database, 3601)
    await pause(database)
    assert await known() == [HOST]
