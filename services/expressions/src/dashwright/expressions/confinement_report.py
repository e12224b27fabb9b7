"""Reports missing confinement of child processes."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import structlog

log = structlog.get_logger()


def report_walls(child: str, report: Mapping[str, Any]) -> None:
    """Log a warning, once for each program, if Landlock or seccomp is missing in the report of a child."""
    walls = report.get("walls") or {}
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
        advice="use Linux 5.13 or newer with Landlock and seccomp enabled; docs/how-to/operations.md describes the risk without them",
    )
