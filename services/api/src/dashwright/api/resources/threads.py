"""Processing of bodies: in a thread if they are so large that they would block the event loop."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

THREAD_MIN_BYTES: Final = 64 * 1024
"""Minimum bytes of a body that is processed in a thread: on the event loop, it would delay other requests."""

Result = TypeVar("Result")


async def run_in_thread_if_large(size: int, function: Callable[[], Result]) -> Result:
    """Return the result of ``function``, which processes ``size`` bytes. It runs in a thread for large bodies."""
    return function() if size < THREAD_MIN_BYTES else await asyncio.to_thread(function)
