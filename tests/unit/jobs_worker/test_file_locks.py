"""Locks between processes, with any number of waiting tasks."""

import asyncio
import fcntl
from pathlib import Path
from typing import IO

import pytest

from dashwright.jobs_worker.adapters import file_lock


async def test_many_wait_and_each_holds_alone(tmp_path: Path) -> None:
    """The holder works in threads, of which there are fewer than waiting tasks, and deletes the file."""
    lock, holders, most = tmp_path / "folder" / "x.lock", 0, 0

    async def hold(number: int) -> None:
        nonlocal holders, most
        async with file_lock.exclusive(lock):
            holders += 1
            most = max(most, holders)
            await asyncio.to_thread(str)
            if number % 2:
                lock.unlink()
            holders -= 1

    async with asyncio.timeout(20):
        await asyncio.gather(*(hold(number) for number in range(50)))
    assert most == 1


async def test_a_file_that_goes_before_it_is_locked_is_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The former holder deleted it, and another task may hold its replacement."""
    lock, flock, taken = tmp_path / "x.lock", fcntl.flock, 0

    def late(file: IO[str], operation: int) -> None:
        nonlocal taken
        taken += 1
        if taken == 1:
            lock.unlink()
        flock(file, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    async with file_lock.exclusive(lock):
        with lock.open() as same, pytest.raises(BlockingIOError):
            flock(same, fcntl.LOCK_EX | fcntl.LOCK_NB)
