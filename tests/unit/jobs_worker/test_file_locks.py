"""Locks between processes, with any number of waiting tasks."""

import asyncio
import fcntl
from pathlib import Path
from typing import IO

import pytest

from dashwright.jobs_worker.adapters import file_lock


async def test_one_of_many_tasks_has_the_lock(tmp_path: Path) -> None:
    """One task holds the lock at a time, even if fewer threads than waiting tasks exist, and if holders delete the file."""
    lock = tmp_path / "folder" / "x.lock"
    holders = 0
    maximum = 0

    async def hold(number: int) -> None:
        nonlocal holders, maximum
        async with file_lock.exclusive(lock):
            holders += 1
            maximum = max(maximum, holders)
            # The holder needs a thread, so waiting tasks must not occupy all of them.
            await asyncio.to_thread(str)
            if number % 2:
                lock.unlink()
            holders -= 1

    async with asyncio.timeout(20):
        await asyncio.gather(*(hold(number) for number in range(50)))
    assert maximum == 1


async def test_a_deleted_file_is_not_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on a deleted file is not valid: the previous holder deleted it, and another task may hold its replacement."""
    lock, flock, attempts = tmp_path / "x.lock", fcntl.flock, 0

    def late_flock(file: IO[str], operation: int) -> None:
        """Lock a file after another task has deleted it, at the first attempt only."""
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            lock.unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late_flock)
    async with file_lock.exclusive(lock):
        with lock.open() as deleted_file, pytest.raises(BlockingIOError):
            flock(deleted_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
