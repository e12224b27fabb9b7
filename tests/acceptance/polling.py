"""Polling for a state that no event announces."""

import asyncio
from collections.abc import Awaitable, Callable

_LOOK_EVERY = 0.02


async def until(holds: Callable[[], Awaitable[object]], *, seconds: float = 30) -> None:
    """Wait until ``holds`` returns a true value; raise AssertionError after ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110 (the state is another process's)
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError as error:
        raise AssertionError(f"not within {seconds:g} s: {holds}") from error
