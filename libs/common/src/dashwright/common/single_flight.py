"""Single flight: concurrent callers with the same key share one execution."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key, Value]):
    """Executions in progress by key. A caller that joins gets the result of the running one; cancelling a caller does not end it."""

    def __init__(self) -> None:
        self._under_way: dict[Key, asyncio.Task[Value]] = {}

    async def once(self, key: Key, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return the result of ``work``, or of the execution in progress under ``key``. Raises what the work raises."""
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def _done(self, key: Key, done: asyncio.Task[Value]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # Marks it as retrieved: asyncio would log it if every caller was cancelled.
