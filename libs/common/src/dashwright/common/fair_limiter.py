"""Fair sharing of slots between organizations or callers. No organization waits for the backlog of another one."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dashwright.common.errors import TooManyRequests


@dataclass(slots=True)
class _Share:
    """Slots and waiting requests of one organization."""

    #: Number of requests that occupy a slot.
    slots_in_use: int = 0
    #: Waiting requests, the oldest first. An event is set when its request gets a slot.
    queue: deque[asyncio.Event] = field(default_factory=deque)
    #: Value of the limiter's turn counter when the organization arrived or last got a slot.
    last_served: int = 0


class FairLimiter:
    """Limit of concurrent work that is shared fairly between organizations. It belongs to one event loop.

    - An organization that occupies a slot leaves ``reserve`` slots free for organizations that occupy none. An organization
      without a slot therefore waits only while more than ``reserve`` organizations work.
    - A free slot is given to the waiting organization with the fewest slots, and among those to the one that got a slot
      longest ago. Requests of one organization keep their order.
    - While a request waits, at most ``reserve`` slots are free.
    - At most ``waiting`` requests wait. A request may wait only if its organization has fewer waiting requests than the
      queue has free places, so that places remain for other organizations.
    """

    def __init__(
        self,
        slots: int,
        *,
        waiting: int = 0,
        reserve: int | None = None,
        seconds: float = math.inf,
        subject: str = "requests like this",
        owner: str = "of your organization",
        advice: str = "try again in a moment",
    ) -> None:
        """Create a limiter.

        ``reserve`` is by default a quarter of the slots, but at least one. It is always less than ``slots``. A request waits
        at most ``seconds``. The error message contains ``subject``, a plural noun, whose requests they are (``owner``), and ``advice``.
        """
        requested_reserve = max(1, slots // 4) if reserve is None else reserve
        self.slots = slots
        self.reserve = min(requested_reserve, slots - 1)
        #: Maximum number of requests that work or wait.
        self.capacity = slots + waiting
        self._free_slots = slots
        self._free_places = waiting
        self._seconds = seconds
        self._subject = subject
        self._owner = owner
        self._advice = advice
        self._turn_counter = 0
        self._shares: dict[Hashable, _Share] = {}

    @asynccontextmanager
    async def slot(self, organization: Hashable) -> AsyncIterator[None]:
        """Occupy a slot while the block runs.

        Raises TooManyRequests if too many requests of the organization wait, or if this one waited too long.
        """
        await self._acquire(organization)
        try:
            yield
        finally:
            self._release(organization)

    async def _acquire(self, organization: Hashable) -> None:
        """Occupy a slot, or wait for one. Raises TooManyRequests if too many requests wait already."""
        # A new organization comes before the one that got the last slot, and after all others.
        share = self._shares.get(organization) or _Share(last_served=self._turn_counter - 1)
        if not share.queue and self._may_get_slot(share):
            self._shares[organization] = share
            self._occupy_slot(share)
            return
        if len(share.queue) >= self._free_places:
            raise self._too_many_requests(f"{share.slots_in_use + len(share.queue)} {self._subject} {self._owner} are in progress already")
        self._shares[organization] = share
        await self._wait(organization, share)

    async def _wait(self, organization: Hashable, share: _Share) -> None:
        """Wait until another request releases a slot. Raises TooManyRequests at the timeout."""
        got_slot = asyncio.Event()
        share.queue.append(got_slot)
        self._free_places -= 1
        try:
            async with asyncio.timeout(None if math.isinf(self._seconds) else self._seconds):
                await got_slot.wait()
        except (TimeoutError, asyncio.CancelledError) as error:
            # The slot may have been given in the same iteration of the event loop as the timeout or cancellation.
            if got_slot.is_set():
                self._release(organization)
            else:
                share.queue.remove(got_slot)
                self._free_places += 1
                self._remove_if_idle(organization, share)
            if isinstance(error, TimeoutError):
                raise self._too_many_requests(f"no slot became free for {self._subject} {self._owner} in {self._seconds:g} s") from error
            raise

    def _release(self, organization: Hashable) -> None:
        """Release a slot, and give free slots to waiting requests."""
        share = self._shares[organization]
        share.slots_in_use -= 1
        self._free_slots += 1
        self._remove_if_idle(organization, share)
        while (next_share := self._next_share()) is not None:
            got_slot = next_share.queue.popleft()
            self._free_places += 1
            self._occupy_slot(next_share)
            got_slot.set()

    def _next_share(self) -> _Share | None:
        """Return the share of the organization that gets the next free slot, or None."""
        candidates = [share for share in self._shares.values() if share.queue and self._may_get_slot(share)]
        return min(candidates, key=lambda share: (share.slots_in_use, share.last_served), default=None)

    def _may_get_slot(self, share: _Share) -> bool:
        """Return whether a slot is free for an organization. Those in reserve are only for organizations without a slot."""
        return self._free_slots > (self.reserve if share.slots_in_use else 0)

    def _occupy_slot(self, share: _Share) -> None:
        self._free_slots -= 1
        # Steps of two leave a number between the last two organizations that got a slot, which a new organization takes.
        self._turn_counter += 2
        share.slots_in_use += 1
        share.last_served = self._turn_counter

    def _remove_if_idle(self, organization: Hashable, share: _Share) -> None:
        if not share.slots_in_use and not share.queue:
            self._shares.pop(organization, None)

    def _too_many_requests(self, problem: str) -> TooManyRequests:
        return TooManyRequests(f"{problem}; {self._advice}", retry_after=1)
