"""Fair shares of a connection pool, so that the requests of one caller do not delay those of others."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from dashwright.common.fair_limiter import FairLimiter

#: Maximum number of tasks that wait for a connection.
_MAX_WAITERS: Final = 10_000

_holder: ContextVar[Hashable | None] = ContextVar("holder of database connections", default=None)


def set_connection_holder(holder: Hashable) -> None:
    """Assign the connections of the current task, and of tasks that it starts later, to the share of ``holder``.

    Any hashable value identifies a holder: tasks with equal values share their connections.
    """
    _holder.set(holder)


class ConnectionShares:
    """Shares of a pool of ``size`` connections. A task waits for a connection at most ``timeout`` seconds.

    Half of the pool is reserved for holders that have no connection yet. Tasks without a holder, such as probes and logins,
    are not limited; one connection is reserved for them. A task's second connection is not limited either: tasks that wait
    for each other's connections would be blocked until the timeout.
    """

    def __init__(self, size: int, *, timeout: float) -> None:
        slots = max(1, size - 1)
        self._limiter = FairLimiter(slots, waiting=_MAX_WAITERS, reserve=slots // 2, seconds=timeout, subject="requests to the database")

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until the holder of the current task may use another connection, and reserve it for the block.

        Raises TooManyRequests at the timeout.
        """
        holder = _holder.get()
        if holder is None:
            yield
            return
        async with self._limiter.slot(holder):
            # A second connection of this task is not limited.
            _holder.set(None)
            try:
                yield
            finally:
                _holder.set(holder)
