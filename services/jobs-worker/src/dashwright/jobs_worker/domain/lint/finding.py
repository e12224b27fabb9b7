"""The findings of rules: words, and where in the dashboard."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dashwright.jobs_worker.domain.lint.board import Board, Panel, Target, Variable


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found.

    ``panel`` is a title, ``target`` the index of a query in it; None where it is the whole dashboard, or the whole panel. ``pointer`` is a
    JSON pointer into the spec, empty for the whole of it.
    """

    message: str
    panel: str | None = None
    target: int | None = None
    pointer: str = ""


def in_panel(panel: Panel, message: str) -> Finding:
    """Return a finding on a whole panel."""
    return Finding(message, panel.title, pointer=panel.pointer)


def in_query(panel: Panel, target: Target, message: str) -> Finding:
    """Return a finding on one query of a panel."""
    return Finding(message, panel.title, target.index, target.pointer)


def in_variable(variable: Variable, message: str) -> Finding:
    """Return a finding on a variable."""
    return Finding(message, pointer=variable.pointer)


Rule = Callable[[Board], Iterator[Finding]]
