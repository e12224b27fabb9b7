"""Fair shares of the connections of a pool, so that one caller's requests do not make all others wait."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from dashwright.common.fair_limiter import FairLimiter

#: The most tasks that may wait for a connection.
_MAX_WAITERS: Final = 10_000

_holder: ContextVar[Hashable | None] = ContextVar("holder of database connections", default=None)


def set_connection_holder(holder: Hashable) -> None:
    """Count the connections of the current task, and of tasks it starts from now on, towards the share of ``holder``."""
    _holder.set(holder)


class ConnectionShares:
    """Shares of a pool of ``size`` connections. A task waits at most ``timeout`` seconds.

    Half of the pool is reserved for holders that have no connection yet. Work without a holder, such as probes and logins,
    takes any free connection; one is always left for it. A task that needs a second connection also bypasses the limit:
    waiting for it could deadlock until the timeout.
    """

    def __init__(self, size: int, *, timeout: float) -> None:
        slots = max(1, size - 1)
        self._limiter = FairLimiter(slots, waiting=_MAX_WAITERS, reserve=slots // 2, seconds=timeout, subject="requests to the database")

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until the holder of the current task may use another connection. Raises TooManyRequests at the timeout."""
        holder = _holder.get()
        if holder is None:
            yield
            return
        async with self._limiter.slot(holder):
            _holder.set(None)
            try:
                yield
            finally:
                _holder.set(holder)
