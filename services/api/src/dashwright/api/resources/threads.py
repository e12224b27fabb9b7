"""Work on bodies of any size that must not hold up the event loop."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

LARGE: Final = 64 * 1024
"""Bytes of a body from which on parsing it is slow enough to delay other requests."""

Result = TypeVar("Result")


async def run_sized(size: int, work: Callable[[], Result]) -> Result:
    """Return the result of ``work`` on ``size`` bytes. Large bodies are processed in a thread, small ones on the event loop."""
    return work() if size < LARGE else await asyncio.to_thread(work)
