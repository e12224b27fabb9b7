"""Locks between the processes of one machine."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final

_TRY_AGAIN_SECONDS: Final = 0.02


@asynccontextmanager
async def held(lock: Path) -> AsyncIterator[None]:
    """One at a time, of all tasks and processes, by a file that is made for it. A holder that dies lets go; it may remove the file.

    It is tried again and again: waiters that sit in threads would leave none for the holder to work with.
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
    """Whether the file was not removed by the holder before: another may hold the one that came in its place."""
    try:
        return lock.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False
