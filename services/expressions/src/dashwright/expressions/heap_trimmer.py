"""Release of heap memory that large requests left in the allocator."""

import asyncio
import ctypes
from typing import Final

#: Bytes that a request must have held; smaller amounts are soon used again.
_LARGE: Final = 64 * 1024 * 1024

#: Seconds until the results of the request are dropped, and within which several requests count once.
_DELAY: Final = 0.5


class HeapTrimmer:
    """Trims the heap shortly after a large request ended. Does nothing if the C library has no ``malloc_trim``."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._is_due = False

    def after(self, held: int) -> None:
        """Schedule a trim if a request that ended held much. Call it on the event loop."""
        if self._trim is None or held < _LARGE or self._is_due:
            return
        self._is_due = True
        asyncio.get_running_loop().call_later(_DELAY, self._start)

    def _start(self) -> None:
        self._is_due = False
        assert self._trim is not None
        asyncio.get_running_loop().run_in_executor(None, self._trim, 0)
