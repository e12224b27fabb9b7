"""The memory budget of all requests of a worker, shared between organizations."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dashwright.common.errors import DashwrightError, TooLarge, TooManyRequests

_SETTING = "setting DASHWRIGHT_QUERY_BYTES"
#: Most bytes of an organization, as a multiple of the free bytes: three quarters if it is alone.
_SHARE = 3


class MemoryBudget:
    """A limit on bytes, most of them estimated before they are allocated. It may be used from any thread.

    Nothing waits for memory: a request that does not fit is refused.
    """

    def __init__(self, size: int = sys.maxsize, released: Callable[[int], None] | None = None) -> None:
        """Make a budget of ``size`` bytes. ``released`` is called with the most bytes that a request held when it ends."""
        self.size = size
        self.lock = threading.Lock()
        self._released = released
        self._held = 0
        self._of: Counter[Hashable] = Counter()

    @property
    def held(self) -> int:
        """The bytes that all reservations hold."""
        return self._held

    @contextmanager
    def reservation(self, organization: Hashable) -> "Iterator[Reservation]":
        """Yield a reservation for a request of the organization; everything it holds is released at the end."""
        with Reservation(self, organization).open() as reservation:
            yield reservation
        if self._released:
            self._released(reservation.most)

    def take(self, organization: Hashable, size: int, of_request: int) -> None:
        """Count ``size`` more bytes of a request that holds ``of_request``. Call with the lock held.

        Raises TooLarge or TooManyRequests.
        """
        own = self._of[organization] + size
        if own > _SHARE * (self.size - self._held - size):
            raise self._refusal(of_request, size)
        self._of[organization] = own
        self._held += size

    def give(self, organization: Hashable, size: int) -> None:
        """Count ``size`` fewer bytes. Call with the lock held."""
        self._held -= size
        self._of[organization] -= size
        if not self._of[organization]:
            del self._of[organization]

    def _refusal(self, of_request: int, size: int) -> DashwrightError:
        whole = of_request + size
        if whole > self.size * _SHARE // (_SHARE + 1):
            return TooLarge(
                f"the request needs {whole} bytes of memory or more, over three quarters of the {self.size} allowed for all "
                f"requests of a worker ({_SETTING}); ask for less at a time, or reduce earlier",
                message_id="sse.limit",
            )
        return TooManyRequests(
            f"the request needs {whole} bytes of memory or more, and others at work leave too few of the {self.size} allowed for all "
            f"requests of a worker ({_SETTING}); ask again in a moment, or for less",
            retry_after=1,
        )


class Reservation:
    """The part of one request in a budget.

    A closed reservation counts nothing, because a thread may still work after its caller is gone.
    """

    __slots__ = ("_beneath", "_budget", "_is_closed", "_organization", "most", "size")

    def __init__(self, budget: MemoryBudget, organization: Hashable, beneath: int = 0) -> None:
        """Make a reservation of a request that holds the bytes ``beneath`` it in another one."""
        self._beneath = beneath
        self._budget = budget
        self._organization = organization
        self._is_closed = False
        self.size = 0
        self.most = 0

    @contextmanager
    def open(self) -> "Iterator[Reservation]":
        """Yield the reservation and release all of it when the block ends."""
        try:
            yield self
        finally:
            with self._budget.lock:
                self._budget.give(self._organization, self.size)
                self._is_closed = True

    def take(self, size: int) -> None:
        """Reserve ``size`` more bytes. Raises TooLarge if no request may hold as many, else TooManyRequests."""
        with self._budget.lock:
            if not self._is_closed:
                self._budget.take(self._organization, size, self._beneath + self.size)
                self.size += size
                self.most = max(self.most, self.size)

    def give(self, size: int) -> None:
        """Release ``size`` bytes."""
        with self._budget.lock:
            if not self._is_closed:
                self._budget.give(self._organization, size)
                self.size -= size

    @contextmanager
    def held(self, size: int) -> Iterator[None]:
        """Reserve ``size`` bytes while the block runs."""
        self.take(size)
        try:
            yield
        finally:
            self.give(size)

    def extra(self) -> "AbstractContextManager[Reservation]":
        """Open another reservation of the same organization, for data that is dropped before the request ends."""
        return Reservation(self._budget, self._organization, self._beneath + self.size).open()


UNBOUNDED = MemoryBudget()
