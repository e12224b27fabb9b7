"""Work in threads that holds something."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


async def to_end(work: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
    """As asyncio.to_thread; cancelled, it ends when the thread has, so that no lock is let go while somebody still writes under it."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **named))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
