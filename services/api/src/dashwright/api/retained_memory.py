"""A limit on the memory that the C library keeps after it is freed."""

import ctypes
from typing import Final

_MALLOPT_MMAP_THRESHOLD: Final = -3
"""``M_MMAP_THRESHOLD`` of ``malloc.h``."""
_MMAP_THRESHOLD_BYTES: Final = 512 * 1024


def limit_retained_memory() -> None:
    """Make the C library return each freed block of at least ``_MMAP_THRESHOLD_BYTES`` to the system.

    By default, glibc raises this threshold up to 32 MiB, and retains the memory of large responses.
    """
    library = ctypes.CDLL(None)
    # Only some C libraries have ``mallopt``; others are left with their defaults.
    if hasattr(library, "mallopt"):
        library.mallopt(_MALLOPT_MMAP_THRESHOLD, _MMAP_THRESHOLD_BYTES)
