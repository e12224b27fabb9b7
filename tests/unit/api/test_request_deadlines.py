"""The timer of the time limits of all requests."""

import asyncio

import pytest

from dashwright.api.http.in_flight import Deadlines


async def test_each_task_is_cancelled_at_its_deadline() -> None:
    """Tasks that exceed the time limit are cancelled in the order of their start. A task that handles its cancellation continues."""
    deadlines = Deadlines(0.02)
    ended_names: list[str] = []

    async def work(name: str, wait: asyncio.Event) -> int:
        """Wait within the time limit, and return the number of cancellations that are still requested."""
        task = asyncio.current_task()
        assert task is not None
        deadlines.begin(task)
        try:
            await wait.wait()
        except asyncio.CancelledError:
            assert deadlines.has_expired(task)
            ended_names.append(name)
        finally:
            deadlines.end(task)
        return task.cancelling()

    never_set, already_set = asyncio.Event(), asyncio.Event()
    already_set.set()
    cancel_counts = await asyncio.gather(work("first", never_set), work("quick", already_set), work("second", never_set))
    assert ended_names == ["first", "second"]
    assert not any(cancel_counts)
    deadlines.close()


@pytest.mark.looptime
async def test_a_deadline_that_is_restarted_is_later() -> None:
    """A task that restarts its time limit has a later deadline. An expired limit is not restarted."""
    deadlines = Deadlines(10)
    ended_at: list[float] = []

    async def work(restarts: int) -> None:
        """Restart the limit of ten seconds every nine seconds, and then wait until it expires."""
        task = asyncio.current_task()
        assert task is not None
        deadlines.begin(task)
        try:
            for _ in range(restarts):
                await asyncio.sleep(9)
                deadlines.restart(task)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            deadlines.restart(task)
            assert deadlines.has_expired(task)
            ended_at.append(asyncio.get_running_loop().time())
        finally:
            deadlines.end(task)

    await asyncio.gather(work(2), work(0), work(1))
    # The limit of a task without restarts expires first, and each restart adds nine seconds.
    assert [round(time - ended_at[0]) for time in ended_at] == [0, 9, 18]
    deadlines.close()
