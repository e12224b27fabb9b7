"""The memory budget of all requests of a worker, shared between organizations."""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dashwright.common.errors import DashwrightError, TooLarge, TooManyRequests

_SETTING = "setting DASHWRIGHT_QUERY_BYTES"
#: The limit of the bytes of one organization, as a multiple of the free bytes. An organization alone can therefore have three
#: quarters of the budget, because a quarter must remain free.
_MAX_MULTIPLE_OF_FREE = 3


class MemoryBudget:
    """A limit on bytes, most of them estimated before they are allocated. It may be used from any thread.

    Nothing waits for memory: a request that does not fit is refused.
    """

    def __init__(self, size: int = sys.maxsize, on_request_end: Callable[[int], None] | None = None) -> None:
        """Create a budget of ``size`` bytes. ``on_request_end`` is called with the peak number of bytes of a request."""
        self.size = size
        self.lock = threading.Lock()
        self._on_request_end = on_request_end
        self._reserved = 0
        self._reserved_by_organization: Counter[Hashable] = Counter()

    @property
    def reserved(self) -> int:
        """The total number of bytes of all reservations."""
        return self._reserved

    @contextmanager
    def reservation(self, organization: Hashable) -> "Iterator[Reservation]":
        """Yield an empty reservation for a request of the organization, and release all its bytes at the end."""
        with Reservation(self, organization).open() as reservation:
            yield reservation
        if self._on_request_end:
            self._on_request_end(reservation.peak)

    def reserve(self, organization: Hashable, size: int, request_size: int) -> None:
        """Count ``size`` more bytes of a request that already has ``request_size`` bytes. Call with ``lock`` held.

        Raises TooLarge if the request could not have as many bytes even alone, else TooManyRequests if they are not free.
        """
        # The sizes after the reservation.
        organization_size = self._reserved_by_organization[organization] + size
        free_size = self.size - self._reserved - size
        if organization_size > _MAX_MULTIPLE_OF_FREE * free_size:
            raise self._refusal(request_size + size)
        self._reserved_by_organization[organization] = organization_size
        self._reserved += size

    def release(self, organization: Hashable, size: int) -> None:
        """Count ``size`` fewer bytes. Call with ``lock`` held."""
        self._reserved -= size
        self._reserved_by_organization[organization] -= size
        if not self._reserved_by_organization[organization]:
            del self._reserved_by_organization[organization]

    def _refusal(self, request_size: int) -> DashwrightError:
        max_request_size = self.size * _MAX_MULTIPLE_OF_FREE // (_MAX_MULTIPLE_OF_FREE + 1)
        if request_size > max_request_size:
            return TooLarge(
                f"the request needs {request_size} bytes of memory or more, over three quarters of the {self.size} allowed for all "
                f"requests of a worker ({_SETTING}); request less at a time, or reduce earlier",
                message_id="sse.limit",
            )
        return TooManyRequests(
            f"the request needs {request_size} bytes of memory or more, and other running requests leave less of the {self.size} allowed "
            f"for all requests of a worker ({_SETTING}); try again in a moment, or request less",
            retry_after=1,
        )


class Reservation:
    """The bytes of one request in a budget.

    A closed reservation ignores calls, because a thread may still work after its caller has disconnected.
    """

    __slots__ = ("_budget", "_is_closed", "_organization", "_outer_size", "peak", "size")

    def __init__(self, budget: MemoryBudget, organization: Hashable, outer_size: int = 0) -> None:
        """Create a reservation. ``outer_size`` is the number of bytes of the reservation in which it is nested."""
        self._budget = budget
        self._organization = organization
        self._outer_size = outer_size
        self._is_closed = False
        self.size = 0  #: The number of bytes that are reserved now.
        self.peak = 0  #: The largest ``size`` so far.

    @contextmanager
    def open(self) -> "Iterator[Reservation]":
        """Yield the reservation and release all of it when the block ends."""
        try:
            yield self
        finally:
            with self._budget.lock:
                self._budget.release(self._organization, self.size)
                self._is_closed = True

    def reserve(self, size: int) -> None:
        """Reserve ``size`` more bytes. Raises TooLarge if a request may never have that many, TooManyRequests if it may not now."""
        with self._budget.lock:
            if not self._is_closed:
                self._budget.reserve(self._organization, size, self._outer_size + self.size)
                self.size += size
                self.peak = max(self.peak, self.size)

    def release(self, size: int) -> None:
        """Release ``size`` bytes."""
        with self._budget.lock:
            if not self._is_closed:
                self._budget.release(self._organization, size)
                self.size -= size

    @contextmanager
    def temporarily(self, size: int) -> Iterator[None]:
        """Reserve ``size`` bytes while the block runs."""
        self.reserve(size)
        try:
            yield
        finally:
            self.release(size)

    def nested(self) -> "AbstractContextManager[Reservation]":
        """Return the context of a nested reservation, for data that the request discards before it ends."""
        return Reservation(self._budget, self._organization, self._outer_size + self.size).open()


#: The budget of evaluations without a limit of memory.
UNBOUNDED = MemoryBudget()
