"""Cleanup after a killed process, which left its PostgreSQL server running or the lock file of that server."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()

_STOP_TIMEOUT_SECONDS = 30.0


async def stop_orphan(data: Path) -> None:
    """Stop the server that a previous process left running on ``data``, or remove its stale lock file.

    Call it while holding the lock of the data directory. PostgreSQL itself treats its lock file as valid if any process
    of the same user has the PID in it, which after a reboot may be another program. Raises Unavailable if the server
    does not stop within 30 s.
    """
    file = data / "postmaster.pid"
    if not file.exists() or sys.platform != "linux":  # Other systems have no /proc, so PostgreSQL's own check must suffice.
        return
    pid = int(file.read_text().split("\n", 1)[0])
    if not _serves(pid, data):
        file.unlink()
        return
    log.warning("orphaned_database_stopped", pid=pid, folder=str(data))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_SECONDS):
            while _serves(pid, data):  # noqa: ASYNC110 (the process is not a child of this one: nothing signals its end)
                await asyncio.sleep(0.02)
    except TimeoutError as error:
        raise Unavailable(
            f"A previous PostgreSQL on {data} (process {pid}) did not stop within {_STOP_TIMEOUT_SECONDS:.0f} s. Stop it, then start again."
        ) from error


def _serves(pid: int, data: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except OSError:
        return False
