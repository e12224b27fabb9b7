"""The timer of the time limits of all requests."""

import asyncio

from dashwright.api.http.in_flight import Deadlines


async def test_each_task_is_cancelled_at_its_own_time_and_goes_on_clean() -> None:
    """Tasks are cancelled in the order of their start, ended ones are not touched, and a cancellation leaves no mark on its task."""
    deadlines = Deadlines(0.02)
    over: list[str] = []

    async def work(name: str, wait: asyncio.Event) -> int:
        task = asyncio.current_task()
        assert task is not None
        deadlines.begin(task)
        try:
            await wait.wait()
        except asyncio.CancelledError:
            assert deadlines.is_over(task)
            over.append(name)
        finally:
            deadlines.end(task)
        return task.cancelling()

    never, at_once = asyncio.Event(), asyncio.Event()
    at_once.set()
    marks = await asyncio.gather(work("first", never), work("quick", at_once), work("second", never))
    assert over == ["first", "second"]
    assert not any(marks)
    deadlines.close()
