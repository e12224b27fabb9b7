"""Rules on Prometheus queries, as far as a scanner without a parser can decide them."""

from collections.abc import Iterator
from typing import Final

from dashwright.jobs_worker.domain.lint import promql
from dashwright.jobs_worker.domain.lint.board import Board, Panel, Target, variable_in
from dashwright.jobs_worker.domain.lint.finding import Finding, Rule, query_finding

_RATE_FUNCTIONS: Final = ("rate", "irate", "increase")
_RATE_INTERVALS: Final = ("$__rate_interval", "${__rate_interval}")
_COUNTER_FUNCTIONS: Final = frozenset(
    {
        *_RATE_FUNCTIONS,
        "resets",
        "changes",
        "absent",
        "absent_over_time",
        "present_over_time",
        "count",
        "count_over_time",
        "group",
        "timestamp",
    }
)
"""Functions that return a counter's growth, or a result that does not depend on its value."""

_COUNTER_SUFFIXES: Final = ("_total", "_sum", "_count", "_bucket")
_MAX_QUOTED_CHARACTERS: Final = 80
"""Limit on the characters of a metric or range that a message quotes."""


def rates_over_rate_interval(board: Board) -> Iterator[Finding]:
    """Yield a finding for each rate over a fixed range, which may contain too few points if the scrape interval or the step is longer."""
    for panel, target in _prometheus_targets(board):
        for node in promql.selectors_and_ranges(target.string("expr")):
            if isinstance(node, promql.Range) and node.function in _RATE_FUNCTIONS and node.text not in _RATE_INTERVALS:
                quoted_range = node.text[:_MAX_QUOTED_CHARACTERS]
                message = f"{node.function} is over [{quoted_range}]: use [$__rate_interval], which always holds enough points"
                yield query_finding(panel, target, _with_query_name(target, message))


def counters_are_rated(board: Board) -> Iterator[Finding]:
    """Yield a finding for each counter that is used without rate, irate or increase."""
    for panel, target in _prometheus_targets(board):
        for selector in _selectors(target):
            # Names with a colon are those of recording rules, which contain rates already.
            is_counter = selector.metric.endswith(_COUNTER_SUFFIXES) and ":" not in selector.metric
            if is_counter and _COUNTER_FUNCTIONS.isdisjoint(selector.functions):
                quoted_metric = selector.metric[:_MAX_QUOTED_CHARACTERS]
                message = f"{quoted_metric} is a counter, which only grows until it resets: use rate, irate or increase of it"
                yield query_finding(panel, target, _with_query_name(target, message))


def label_matcher(label: str) -> Rule:
    """Return the rule that each selector has a matcher of ``label`` with the variable of the same name, such as ``job=~"$job"``."""

    def check(board: Board) -> Iterator[Finding]:
        for panel, target in _prometheus_targets(board):
            for selector in _selectors(target):
                if not any(_matches_variable(matcher, label) for matcher in selector.matchers):
                    message = f'{selector.metric[:_MAX_QUOTED_CHARACTERS] or "a selector"} is not narrowed by {label}=~"${label}"'
                    yield query_finding(panel, target, _with_query_name(target, message))

    return check


def _prometheus_targets(board: Board) -> Iterator[tuple[Panel, Target]]:
    for panel in board.panels:
        for target in panel.targets:
            if target.type == "prometheus":
                yield panel, target


def _selectors(target: Target) -> Iterator[promql.Selector]:
    return (node for node in promql.selectors_and_ranges(target.string("expr")) if isinstance(node, promql.Selector))


def _matches_variable(matcher: promql.Matcher, label: str) -> bool:
    return matcher.label == label and matcher.operator in ("=", "=~") and variable_in(matcher.value) == label


def _with_query_name(target: Target, message: str) -> str:
    return f"query {target.ref_id or target.index}: {message}"
