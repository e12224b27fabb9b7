"""Fair shares of a few slots: the backlog of one organization never makes another organization wait."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dashwright.common.errors import TooManyRequests


@dataclass(slots=True)
class _Share:
    """The part of one organization."""

    #: The number of its requests that hold a slot.
    working: int = 0
    #: Its requests that wait, the oldest first. An event is set when its request is given a slot.
    waiting: deque[asyncio.Event] = field(default_factory=deque)
    #: When it arrived or was last served, by the limiter's count.
    turn: int = 0


class FairLimiter:
    """A limit on concurrent work, shared between organizations. It belongs to one event loop.

    - An organization that holds a slot leaves ``reserve`` slots free for those that hold none. So an organization
      without a slot waits only while more than ``reserve`` organizations work.
    - A free slot goes to the waiting organization that holds the fewest; among equals, to the one that was served
      longest ago. Requests of one organization keep their order.
    - No slot beyond the reserve stays free while a request waits.
    - At most ``waiting`` requests wait. An organization may have as many waiting as there are places left, so a place
      remains for others.
    """

    def __init__(
        self,
        slots: int,
        *,
        waiting: int = 0,
        reserve: int | None = None,
        seconds: float = math.inf,
        subject: str = "requests like this",
        advice: str = "try again in a moment",
    ) -> None:
        """Create a limiter.

        ``reserve`` is a quarter of the slots by default, and at least one where there are two or more. ``seconds``
        bounds how long a request waits. ``subject`` (plural) and ``advice`` are words of the refusal.
        """
        wanted = max(1, slots // 4) if reserve is None else reserve
        self.slots = slots
        self.reserve = min(wanted, slots - 1)
        #: The most requests that work or wait.
        self.capacity = slots + waiting
        self._free = slots
        self._places = waiting
        self._seconds = seconds
        self._subject = subject
        self._advice = advice
        self._turns = 0
        self._shares: dict[Hashable, _Share] = {}

    @asynccontextmanager
    async def slot(self, organization: Hashable) -> AsyncIterator[None]:
        """Hold a slot while the block runs.

        Raises TooManyRequests if too many requests of the organization wait, or if this one waited too long.
        """
        await self._take(organization)
        try:
            yield
        finally:
            self._release(organization)

    async def _take(self, organization: Hashable) -> None:
        share = self._shares.get(organization) or _Share(turn=self._turns - 1)
        if not share.waiting and self._may_work(share):
            self._shares[organization] = share
            self._give(share)
            return
        if len(share.waiting) >= self._places:
            raise self._refusal(f"{share.working + len(share.waiting)} {self._subject} of your organization are in progress already")
        self._shares[organization] = share
        await self._wait(organization, share)

    async def _wait(self, organization: Hashable, share: _Share) -> None:
        given = asyncio.Event()
        share.waiting.append(given)
        self._places -= 1
        try:
            async with asyncio.timeout(None if math.isinf(self._seconds) else self._seconds):
                await given.wait()
        except (TimeoutError, asyncio.CancelledError) as error:
            if given.is_set():
                self._release(organization)
            else:
                share.waiting.remove(given)
                self._places += 1
                self._forget(organization, share)
            if isinstance(error, TimeoutError):
                raise self._refusal(f"no slot became free for {self._subject} of your organization in {self._seconds:g} s") from error
            raise

    def _release(self, organization: Hashable) -> None:
        share = self._shares[organization]
        share.working -= 1
        self._free += 1
        self._forget(organization, share)
        while (following := self._next()) is not None:
            given = following.waiting.popleft()
            self._places += 1
            self._give(following)
            given.set()

    def _next(self) -> _Share | None:
        """Return the organization that a free slot goes to."""
        candidates = [share for share in self._shares.values() if share.waiting and self._may_work(share)]
        return min(candidates, key=lambda share: (share.working, share.turn), default=None)

    def _may_work(self, share: _Share) -> bool:
        return self._free > (self.reserve if share.working else 0)

    def _give(self, share: _Share) -> None:
        self._free -= 1
        # Two steps: between the organization served last and the one before there is place for a new one.
        self._turns += 2
        share.working += 1
        share.turn = self._turns

    def _forget(self, organization: Hashable, share: _Share) -> None:
        if not share.working and not share.waiting:
            self._shares.pop(organization, None)

    def _refusal(self, found: str) -> TooManyRequests:
        return TooManyRequests(f"{found}; {self._advice}", retry_after=1)
