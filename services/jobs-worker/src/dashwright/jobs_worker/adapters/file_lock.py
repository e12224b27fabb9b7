"""Locks between the processes of one machine, and work in threads that must finish under a lock."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

_POLL_INTERVAL_SECONDS: Final = 0.02

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@asynccontextmanager
async def exclusive(lock_path: Path) -> AsyncIterator[None]:
    """Hold a lock on a file, which is created if needed: one task at a time, across all processes, runs the block.

    The kernel releases the lock when the process of the task ends. The task may delete the file while it holds the lock.
    """
    await asyncio.to_thread(lock_path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
    while True:
        with lock_path.open("a") as file:
            if _try_lock(file) and _is_same_file(lock_path, file):
                yield
                return
        # Poll, because threads that wait for the lock could use up the pool that the holder needs to finish.
        await asyncio.sleep(_POLL_INTERVAL_SECONDS)


def _try_lock(file: TextIOWrapper) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_same_file(lock_path: Path, file: TextIOWrapper) -> bool:
    """Return whether ``file`` is still at ``lock_path``. The previous holder of the lock may have deleted it."""
    try:
        return lock_path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


async def run_to_end(work: Callable[Parameters, Result], *arguments: Parameters.args, **keywords: Parameters.kwargs) -> Result:
    """Run ``work`` in a thread and return its result.

    When cancelled, it waits until the thread has ended, so that no lock is released during a write.
    """
    thread = asyncio.ensure_future(asyncio.to_thread(work, *arguments, **keywords))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        await asyncio.wait([thread])
        raise
