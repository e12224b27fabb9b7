"""Work that several callers ask for at the same time is done once."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SingleFlight(Generic[Key, Value]):
    """Runs work under a key, and lets all who ask for that key meanwhile have its outcome. A caller that goes takes nothing from them."""

    def __init__(self) -> None:
        self._under_way: dict[Key, asyncio.Task[Value]] = {}

    async def once(self, key: Key, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Raises what the work raises."""
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(work())
            self._under_way[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return await asyncio.shield(task)

    def _done(self, key: Key, done: asyncio.Task[Value]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # marks it as seen, also where every caller has gone
