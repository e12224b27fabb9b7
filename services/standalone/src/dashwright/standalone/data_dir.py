"""The data folder of a single machine, held by one process at a time."""

import fcntl
import os
from pathlib import Path
from typing import IO

from dashwright.common.errors import Unavailable


def lock_data_dir(data_dir: Path) -> IO[str]:
    """Makes the folder if need be and locks it until the answer is closed or this process ends, however it ends.

    Raises Unavailable when another process holds it.
    """
    # As root the database's own user must be able to pass; what is secret inside has narrower rights of its own.
    data_dir.mkdir(mode=0o711 if os.getuid() == 0 else 0o700, parents=True, exist_ok=True)
    held = (data_dir / "lock").open("a+")
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        held.seek(0)
        holder = held.read().strip() or "unknown"
        held.close()
        raise Unavailable(
            f"Another Dashwright (process {holder}) runs on {data_dir}. Stop it, or set another DASHWRIGHT_DATA_DIR."
        ) from error
    held.truncate(0)
    held.write(str(os.getpid()))
    held.flush()
    return held
