"""Return of heap memory to the operating system after large requests."""

import asyncio
import ctypes
from typing import Final

#: Bytes of a request after which the heap is trimmed; smaller amounts are soon used again.
_MIN_PEAK_BYTES: Final = 8 * 1024 * 1024

#: Seconds until the results of the request are discarded. Requests that end within this time share one trim.
_DELAY_SECONDS: Final = 0.5


class HeapTrimmer:
    """Trimmer of the heap, which runs shortly after a large request ends. It does nothing if the C library has no ``malloc_trim``."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._is_scheduled = False

    def trim_after(self, peak: int) -> None:
        """Schedule a trim if ``peak``, the peak number of bytes of a request, was large. Call it on the event loop."""
        if self._trim is None or peak < _MIN_PEAK_BYTES or self._is_scheduled:
            return
        self._is_scheduled = True
        asyncio.get_running_loop().call_later(_DELAY_SECONDS, self._start)

    def _start(self) -> None:
        self._is_scheduled = False
        assert self._trim is not None
        # No bytes are left at the top of the heap.
        asyncio.get_running_loop().run_in_executor(None, self._trim, 0)
