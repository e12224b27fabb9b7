"""Return of heap memory to the operating system during and after large requests."""

import asyncio
import ctypes
from contextlib import suppress
from typing import Final

#: Parameters of ``mallopt``, as in ``malloc.h`` of glibc.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3

#: Blocks of this size or more have a mapping of their own, which is returned when they are freed. Smaller blocks share the heap, whose
#: freed blocks are kept while a later block is in use. By default, glibc raises this size to up to 32 MB, so that it keeps large blocks,
#: too. With 1 MB instead of 8, page faults cost a third more processor time.
_MIN_MAPPED_BYTES: Final = 8 * 1024 * 1024

#: Free bytes at the end of the heap that are kept. By default, glibc would keep 128 KB once the size above is set, which causes page
#: faults as well.
_MAX_KEPT_BYTES: Final = 64 * 1024 * 1024

#: Peak bytes of a request after which the heap is trimmed; smaller amounts are soon used again.
_MIN_PEAK_BYTES: Final = 8 * 1024 * 1024

#: Seconds from the end of a request to the trim: long enough for its results to be discarded, and for other requests to share the trim.
_DELAY_SECONDS: Final = 0.5


def map_large_blocks() -> None:
    """Let the C library return the memory of each large block when it is freed. It does nothing if the library is not glibc."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_M_MMAP_THRESHOLD, _MIN_MAPPED_BYTES)
        set_option(_M_TRIM_THRESHOLD, _MAX_KEPT_BYTES)


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
        # The executor refuses work while the loop is being closed. The process then ends with its heap.
        with suppress(RuntimeError):
            # The argument 0 of ``malloc_trim`` keeps no free bytes at the end of the heap.
            asyncio.get_running_loop().run_in_executor(None, self._trim, 0)
