"""The memory that one git program may use. It fits into the memory of the container, in which the worker and other git programs run."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

_MAX_BYTES: Final = 2 * 1024 * 1024 * 1024
"""Limit for a program outside of a container, or in a container with much memory."""

_CONTAINER_DIVISOR: Final = 2
"""One program may use half of the container's memory. If several need so much, the system ends one of them."""

_LIMIT_FILES: Final = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the memory limit of a container, by cgroups of version 2 and 1."""


@cache
def limited_command() -> str:
    """Return a shell command that runs git with limited memory, because a pack from a host may unpack to any size.

    If the memory of the container is used up, the system ends the git program and not the worker.
    """
    # -v limits the address space, which includes mapped packs, and -d the memory that the program allocates; both in KiB.
    return (
        "{ echo 1000 > /proc/self/oom_score_adj; } 2>/dev/null; "
        f'ulimit -v {_MAX_BYTES // 1024} && ulimit -d {allowed_bytes(_LIMIT_FILES) // 1024} && exec git "$@"'
    )


def allowed_bytes(limit_files: Sequence[Path]) -> int:
    """Return how many bytes one git program may allocate. ``limit_files`` contain the memory limit of the container, if it has one."""
    limits = [limit // _CONTAINER_DIVISOR for path in limit_files if (limit := _limit(path)) is not None]
    return min([_MAX_BYTES, *limits])


def _limit(path: Path) -> int | None:
    """Return the number in a file; None if it has another content or cannot be read."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
