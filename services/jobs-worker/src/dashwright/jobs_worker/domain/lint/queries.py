"""Rules on Prometheus queries, as far as a scanner without a parser can decide them."""

from collections.abc import Iterator
from typing import Final

from dashwright.jobs_worker.domain.lint import promql
from dashwright.jobs_worker.domain.lint.board import Board, Panel, Target, variable_in
from dashwright.jobs_worker.domain.lint.finding import Finding, Rule, in_query

_RATES: Final = ("rate", "irate", "increase")
_INTERVALS: Final = ("$__rate_interval", "${__rate_interval}")
_OF_COUNTERS: Final = frozenset(
    {*_RATES, "resets", "changes", "absent", "absent_over_time", "present_over_time", "count", "count_over_time", "group", "timestamp"}
)
"""Functions that return a counter's growth, or a result that does not depend on its value."""

_COUNTERS: Final = ("_total", "_sum", "_count", "_bucket")


def rates_over_rate_interval(board: Board) -> Iterator[Finding]:
    """Yield rates over a fixed range: it may hold too few points at some zoom."""
    for panel, target in _prometheus(board):
        for part in promql.read(target.text("expr")):
            if isinstance(part, promql.Range) and part.function in _RATES and part.text not in _INTERVALS:
                message = f"{part.function} is over [{part.text[:80]}]: use [$__rate_interval], which always holds enough points"
                yield in_query(panel, target, _of(target, message))


def counters_are_rated(board: Board) -> Iterator[Finding]:
    """Yield counters that are used without rate, irate or increase."""
    for panel, target in _prometheus(board):
        for selector in _selectors(target):
            if selector.metric.endswith(_COUNTERS) and ":" not in selector.metric and _OF_COUNTERS.isdisjoint(selector.within):
                message = f"{selector.metric[:80]} is a counter, which only grows until it resets: use rate, irate or increase of it"
                yield in_query(panel, target, _of(target, message))


def label_matcher(label: str) -> Rule:
    """Return the rule that every selector is narrowed by the dashboard variable ``label``."""

    def check(board: Board) -> Iterator[Finding]:
        for panel, target in _prometheus(board):
            for selector in _selectors(target):
                if not any(_matches(matcher, label) for matcher in selector.matchers):
                    message = f'{selector.metric[:80] or "a selector"} is not narrowed by {label}=~"${label}"'
                    yield in_query(panel, target, _of(target, message))

    return check


def _prometheus(board: Board) -> Iterator[tuple[Panel, Target]]:
    for panel in board.panels:
        for target in panel.targets:
            if target.type == "prometheus":
                yield panel, target


def _selectors(target: Target) -> Iterator[promql.Selector]:
    return (part for part in promql.read(target.text("expr")) if isinstance(part, promql.Selector))


def _matches(matcher: tuple[str, str, str], label: str) -> bool:
    name, sign, value = matcher
    return name == label and sign in ("=", "=~") and variable_in(value) == label


def _of(target: Target, message: str) -> str:
    return f"query {target.ref_id or target.index}: {message}"
