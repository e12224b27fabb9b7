"""Cleanup after a killed process: a server that outlived it, or only its lock file."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import structlog

from dashwright.common.errors import Unavailable

log = structlog.get_logger()

_PATIENCE = 30.0


async def end_orphan(data: Path) -> None:
    """End the server that a previous process left on ``data``, or remove its stale lock file.

    Call it under the lock of the data folder. PostgreSQL trusts that file if any process of its user has the number
    in it, which after a reboot may be any program. Raises Unavailable if the server does not end within 30 s.
    """
    file = data / "postmaster.pid"
    if not file.exists() or sys.platform != "linux":  # Other systems have no /proc; PostgreSQL's own check must do.
        return
    pid = int(file.read_text().split("\n", 1)[0])
    if not _serves(pid, data):
        file.unlink()
        return
    log.warning("orphaned_database_stopped", pid=pid, folder=str(data))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    try:
        async with asyncio.timeout(_PATIENCE):
            while _serves(pid, data):  # noqa: ASYNC110 (the process is not a child of this one: nothing signals its end)
                await asyncio.sleep(0.02)
    except TimeoutError as error:
        raise Unavailable(f"A previous PostgreSQL on {data} (process {pid}) does not end. End it, then start again.") from error


def _serves(pid: int, data: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except OSError:
        return False
