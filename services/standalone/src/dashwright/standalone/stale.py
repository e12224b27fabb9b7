"""What a killed run leaves behind: a server without its parent, or only the file that names it."""

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
    """Ends the server that a former run left on ``data``, or removes the file that names one; call it under the data folder's lock.

    PostgreSQL believes that file whenever any process of its user has the number in it, which after a restart of the machine may be
    any program. Raises Unavailable when an orphan does not end within 30 s.
    """
    file = data / "postmaster.pid"
    if not file.exists() or sys.platform != "linux":  # elsewhere PostgreSQL's own belief must do
        return
    pid = int(file.read_text().split("\n", 1)[0])
    if not _serves(pid, data):
        file.unlink()
        return
    log.warning("orphaned_database_ended", pid=pid, folder=str(data))
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    try:
        async with asyncio.timeout(_PATIENCE):
            while _serves(pid, data):  # noqa: ASYNC110 (the process is not our child: nothing announces its end)
                await asyncio.sleep(0.02)
    except TimeoutError as error:
        raise Unavailable(f"The PostgreSQL a former run left on {data} (process {pid}) does not end. End it, then start again.") from error


def _serves(pid: int, data: Path) -> bool:
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == data.resolve()
    except OSError:
        return False
