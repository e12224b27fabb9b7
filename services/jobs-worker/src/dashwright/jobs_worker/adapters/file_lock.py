"""Locks between the processes of one machine, and work in threads that must finish under a lock."""

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
    """Hold a lock on a file, which is created if needed: only one task of all processes runs the block.

    The lock of a process that dies is released; a holder may delete the file. Waiting tasks poll: threads that wait would leave none for
    the holder's work.
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
    """Return whether the path is still this file: the former holder may have deleted it, and another task may hold its replacement."""
    try:
        return lock.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


async def to_end(work: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
    """Run ``work`` in a thread and return its result.

    When cancelled, wait for the thread first, so that no lock is released during a write.
    """
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **named))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
