"""Warnings about child processes that the kernel does not fully confine."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import structlog

log = structlog.get_logger()


def report_confinement(child: str, report: Mapping[str, Any]) -> None:
    """Log a warning if the ``report`` of the child process ``child`` says that Landlock or seccomp is missing.

    The same warning is logged once only.
    """
    restrictions = report.get("restrictions") or {}
    _warn_once(child, landlock=bool(restrictions.get("landlock")), seccomp=bool(restrictions.get("seccomp")))


@cache
def _warn_once(child: str, *, landlock: bool, seccomp: bool) -> None:
    """Log the warning, once for each child and combination of restrictions."""
    if landlock and seccomp:
        return
    log.warning(
        "child_not_confined",
        child=child,
        landlock=landlock,
        seccomp=seccomp,
        advice="use Linux 5.13 or newer with Landlock and seccomp enabled; docs/how-to/operations.md describes the risk without them",
    )
