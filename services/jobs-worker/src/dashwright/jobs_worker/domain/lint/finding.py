"""The findings of rules: a message and its place in the dashboard."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from dashwright.jobs_worker.domain.lint.board import Board, Panel, Target, Variable


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem that a rule found. An issue is a finding with the name of the rule and a severity."""

    message: str
    #: Title of the panel; None for the whole dashboard.
    panel: str | None = None
    #: Index of a query in the panel; None for the whole panel.
    target: int | None = None
    #: JSON pointer into the spec, empty for the whole spec.
    pointer: str = ""


def panel_finding(panel: Panel, message: str) -> Finding:
    """Return a finding on a whole panel."""
    return Finding(message, panel.title, pointer=panel.pointer)


def query_finding(panel: Panel, target: Target, message: str) -> Finding:
    """Return a finding on one query of a panel."""
    return Finding(message, panel.title, target.index, target.pointer)


def variable_finding(variable: Variable, message: str) -> Finding:
    """Return a finding on a variable."""
    return Finding(message, pointer=variable.pointer)


class Waivers(Protocol):
    """The findings that a configuration waives, by the name of the rule and the title of the dashboard."""

    def excludes(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is not reported."""
        ...

    def only_warns(self, rule: str, dashboard: str, finding: Finding) -> bool:
        """Return whether a finding is a warning at most."""
        ...


Rule = Callable[[Board], Iterator[Finding]]
"""A rule, which yields its findings on a dashboard."""
