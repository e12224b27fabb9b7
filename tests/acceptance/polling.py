"""Polling for a state that no event announces."""

import asyncio
from collections.abc import Awaitable, Callable

_POLL_SECONDS = 0.02


async def wait_until(condition: Callable[[], Awaitable[object]], *, seconds: float = 30) -> None:
    """Wait until ``condition`` returns a true value. Raises AssertionError after ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():  # noqa: ASYNC110 (no event announces the state of another process)
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError as error:
        raise AssertionError(f"not within {seconds:g} s: {condition}") from error
