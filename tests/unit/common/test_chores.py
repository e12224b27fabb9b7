"""Chores, which run rounds until they are stopped: failed rounds, the first round, and stops."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dashwright.common.chore import Chore
from dashwright.common.errors import Unavailable


def recording_work(
    rounds: list[str], name: str, *, max_rounds: int, error: Exception | None = None
) -> tuple[Callable[[], Awaitable[None]], asyncio.Event]:
    """Return a function that records each round and may raise an error, and an event that is set after ``max_rounds`` rounds."""
    reached = asyncio.Event()

    async def work() -> None:
        rounds.append(name)
        if rounds.count(name) == max_rounds:
            reached.set()
        if error is not None:
            raise error

    return work, reached


@pytest.mark.parametrize("error", [RuntimeError("broken"), Unavailable("away")], ids=["unexpected error", "unreachable database"])
async def test_a_chore_continues_after_a_failure(error: Exception) -> None:
    """An error in a round ends the round and not the chore."""
    rounds: list[str] = []
    work, reached = recording_work(rounds, "fails", max_rounds=3, error=error)
    chore = Chore("fails", work, seconds=0.001)
    chore.start()
    async with asyncio.timeout(10):
        await reached.wait()
    await chore.stop()
    assert rounds.count("fails") >= 3


async def test_a_final_round_follows_the_running_round() -> None:
    """With a final round, a stop waits for the running round, and then runs the last one."""
    events: list[str] = []
    has_begun, may_end = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        events.append("begin")
        has_begun.set()
        await may_end.wait()
        events.append("end")

    chore = Chore("flush", work, seconds=60, final_round=True)
    chore.start()
    async with asyncio.timeout(10):
        await has_begun.wait()
        stop = asyncio.ensure_future(chore.stop())
        # The stop begins while the first round still runs.
        await asyncio.sleep(0)
        may_end.set()
        await stop
    assert events == ["begin", "end", "begin", "end"]


async def test_a_stop_cancels_the_running_round() -> None:
    """Without a final round, a stop cancels the running round instead of waiting for it."""
    has_begun, events = asyncio.Event(), list[str]()

    async def work() -> None:
        has_begun.set()
        await asyncio.Event().wait()
        events.append("end")

    chore = Chore("waits", work, seconds=60)
    chore.start()
    async with asyncio.timeout(10):
        await has_begun.wait()
        await chore.stop()
    assert events == []


async def test_the_first_round_runs_at_the_start() -> None:
    """The first round of a chore runs at its start, even if its interval is an hour."""
    rounds: list[str] = []
    work, reached = recording_work(rounds, "hourly", max_rounds=1)
    chore = Chore("hourly", work, seconds=3600)
    chore.start()
    async with asyncio.timeout(10):
        await reached.wait()
    await chore.stop()
    assert rounds == ["hourly"]
