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


async def stop_orphan(cluster_folder: Path) -> None:
    """Stop the server that a killed process left running on ``cluster_folder``, or remove the lock file of that server.

    Call this while holding the lock of the data directory. PostgreSQL's own check does not suffice: it treats its lock file as valid
    if the PID in the file is that of any process of the same user. After a reboot, this may be another program.

    Raises Unavailable if the server does not stop within 30 s.
    """
    lock_file = cluster_folder / "postmaster.pid"
    if not lock_file.exists() or sys.platform != "linux":  # Other systems have no /proc, so PostgreSQL's own check must suffice.
        return
    pid = int(lock_file.read_text().split("\n", 1)[0])
    if not _is_serving(pid, cluster_folder):
        lock_file.unlink()
        return
    log.warning("orphaned_database_stopped", pid=pid, folder=str(cluster_folder))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    try:
        async with asyncio.timeout(_STOP_TIMEOUT_SECONDS):
            while _is_serving(pid, cluster_folder):  # noqa: ASYNC110 (the process is not a child of this one: nothing signals its end)
                await asyncio.sleep(0.02)
    except TimeoutError as error:
        raise Unavailable(
            f"A previous PostgreSQL on {cluster_folder} (process {pid}) did not stop within {_STOP_TIMEOUT_SECONDS:.0f} s. "
            "Stop it, then start again."
        ) from error


def _is_serving(pid: int, cluster_folder: Path) -> bool:
    """Return whether a process runs in the directory of the cluster, as only its server does."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == cluster_folder.resolve()
    except OSError:
        return False
