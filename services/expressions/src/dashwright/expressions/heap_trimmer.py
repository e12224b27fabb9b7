"""Gives memory that large requests left in the allocator back to the system."""

import asyncio
import ctypes
from typing import Final

_LARGE: Final = 64 * 1024 * 1024
"""Bytes that a request must have held; less is soon used again."""

_DELAY: Final = 0.5
"""Seconds in which the results of the request are dropped, and within which several requests count once."""


class HeapTrimmer:
    """Trims the heap a moment after a large request ended. Does nothing where the C library cannot."""

    def __init__(self) -> None:
        self._trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        self._is_due = False

    def after(self, held: int) -> None:
        """Trim soon if a request that ended held much. Call it on the event loop."""
        if self._trim is None or held < _LARGE or self._is_due:
            return
        self._is_due = True
        asyncio.get_running_loop().call_later(_DELAY, self._start)

    def _start(self) -> None:
        self._is_due = False
        assert self._trim is not None
        asyncio.get_running_loop().run_in_executor(None, self._trim, 0)
