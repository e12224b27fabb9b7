"""Fair shares of the connections of a pool, so that one caller's requests do not make all others wait."""

from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from dashwright.common.fair_limiter import FairLimiter

_WAITING: Final = 10_000

_holder: ContextVar[Hashable | None] = ContextVar("holder of database connections", default=None)


def share_as(holder: Hashable) -> None:
    """Count connections towards ``holder`` from now on, in the current task and in those that it starts."""
    _holder.set(holder)


class ConnectionShares:
    """Shares of a pool of ``size`` connections.

    A holder that has a connection leaves half of them to others. One connection remains for work without a holder, such
    as probes and logins, which takes any free one. So does a holder that has a connection already: waiting for a second
    share could last until the wait times out.
    """

    def __init__(self, size: int, *, seconds: float) -> None:
        slots = max(1, size - 1)
        self._limiter = FairLimiter(slots, waiting=_WAITING, reserve=slots // 2, seconds=seconds, subject="requests to the database")

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for the turn of the current task's holder. Raises TooManyRequests if that takes too long."""
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
