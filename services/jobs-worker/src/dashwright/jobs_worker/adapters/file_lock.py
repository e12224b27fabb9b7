"""Locks between the processes of one machine."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

_TRY_AGAIN_SECONDS: Final = 0.02

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@asynccontextmanager
async def exclusive(lock: Path) -> AsyncIterator[None]:
    """Only one task of all processes at a time gets past, by a lock on a file, which is made if need be.

    The lock of a holder that dies is free again; a holder may remove the file. Waiters poll: if they sat in threads, none would be left for
    the holder to work with.
    """
    await asyncio.to_thread(lock.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    while True:
        with lock.open("a") as file:
            if _take(file) and _is_still(lock, file):
                yield
                return
        await asyncio.sleep(_TRY_AGAIN_SECONDS)


def _take(file: TextIOWrapper) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_still(lock: Path, file: TextIOWrapper) -> bool:
    """Whether the path still leads to this file: the holder before may have removed it, and another hold the one in its place."""
    try:
        return lock.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


async def to_end(work: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
    """As asyncio.to_thread; cancelled, it ends when the thread has, so that no lock is let go while somebody still writes under it."""
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **named))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
