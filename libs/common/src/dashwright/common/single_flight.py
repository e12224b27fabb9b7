"""Single flight, by which concurrent callers with the same key share one execution."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(slots=True, eq=False)
class _Flight(Generic[Value]):
    """Running execution."""

    task: asyncio.Task[Value]
    waiter_count: int = 0  #: Number of callers that wait for the result.


class SingleFlight(Generic[Key, Value]):
    """Running executions by key. Later callers with the same key get the result of the running execution.

    The cancellation of one caller does not affect the others. With ``cancel_unused``, the cancellation of the last caller also
    cancels the execution.
    """

    def __init__(self, *, cancel_unused: bool = False) -> None:
        self._cancel_unused = cancel_unused
        self._flights: dict[Key, _Flight[Value]] = {}

    def __contains__(self, key: Key) -> bool:
        """Return whether an execution is in progress under ``key``."""
        return key in self._flights

    async def run(self, key: Key, work: Callable[[], Coroutine[Any, Any, Value]]) -> Value:
        """Return the result of the running execution of ``key``, or else of ``work``. Raises the errors of the execution."""
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = _Flight(asyncio.create_task(work()))
            flight.task.add_done_callback(lambda _: self._remove(key, flight))
        flight.waiter_count += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiter_count -= 1
            if self._cancel_unused and not flight.waiter_count and not flight.task.done():
                # Removed before it is cancelled, so that no later caller waits for it.
                self._remove(key, flight)
                flight.task.cancel()

    def _remove(self, key: Key, flight: _Flight[Value]) -> None:
        """Remove an execution, unless another one with the same key has replaced it."""
        if self._flights.get(key) is flight:
            del self._flights[key]
        if flight.task.done() and not flight.task.cancelled():
            flight.task.exception()  # Retrieved, since asyncio would log it if all callers were cancelled.
