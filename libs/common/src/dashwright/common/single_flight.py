"""Single flight: concurrent callers with the same key share one execution."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Flight(Generic[Value]):
    task: asyncio.Task[Value]
    waiting: int = 0  #: Callers that wait for the result.


class SingleFlight(Generic[Key, Value]):
    """Executions in progress by key. A caller that joins gets the result of the running one.

    Cancelling a caller does not affect the others. With ``cancel_unused``, cancelling the last caller also cancels the execution;
    otherwise it runs to its end.
    """

    def __init__(self, *, cancel_unused: bool = False) -> None:
        self._cancel_unused = cancel_unused
        self._flights: dict[Key, _Flight[Value]] = {}

    def __contains__(self, key: Key) -> bool:
        """Return whether an execution is in progress under ``key``."""
        return key in self._flights

    async def once(self, key: Key, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return the result of ``work``, or of the execution in progress under ``key``. Raises what the work raises."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._remove(key, flight))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if self._cancel_unused and not flight.waiting and not flight.task.done():
                # Removed first, so that no caller joins an execution that is about to end.
                self._remove(key, flight)
                flight.task.cancel()

    def _remove(self, key: Key, flight: _Flight[Value]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # Marks it as retrieved: asyncio would log it if every caller was cancelled.
