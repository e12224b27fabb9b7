"""Reports the walls that the kernel did not put around a child process."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import structlog

log = structlog.get_logger()


def report_walls(child: str, told: Mapping[str, Any]) -> None:
    """Log a warning, once for each program, if ``told`` by a child lacks Landlock or seccomp."""
    walls = told.get("walls") or {}
    _warn(child, landlock=bool(walls.get("landlock")), seccomp=bool(walls.get("seccomp")))


@cache
def _warn(child: str, *, landlock: bool, seccomp: bool) -> None:
    if landlock and seccomp:
        return
    log.warning(
        "child_not_confined",
        child=child,
        landlock=landlock,
        seccomp=seccomp,
        advice="use Linux 5.13 or newer with Landlock and seccomp enabled; docs/how-to/operations.md says what is at risk without",
    )
