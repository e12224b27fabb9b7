"""Lenient requests ignore a fixed list of fields and values of saved panels, which the strict form of targets rejects."""

from typing import Any

import pytest
from pydantic import ValidationError

from dashwright.common.models.expressions import TARGETS, FormattedSqlTarget, ReduceTarget, Target
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.requests.binding import BoundQuery, bind, is_expression, strict_target

# A valid target of each type that saved panels have.
REDUCE = {"refId": "B", "type": "reduce", "expression": "A", "reducer": "last"}
MATH = {"refId": "B", "type": "math", "expression": "$A"}
CONDITION = {
    "evaluator": {"type": "gt", "params": [1]},
    "operator": {"type": "and"},
    "query": {"params": ["A"]},
    "reducer": {"type": "last"},
}
CLASSIC = {"refId": "B", "type": "classic_conditions", "conditions": [CONDITION]}
THRESHOLD = {"refId": "B", "type": "threshold", "expression": "A", "conditions": [{"evaluator": {"type": "gt", "params": [1]}}]}


def validate(target: dict[str, Any]) -> Target:
    """Return a target that is valid in its strict form. Raises ValidationError."""
    return TARGETS[target["type"]].model_validate(target)


def is_rejected(target: dict[str, Any], endpoint: QueryEndpoint) -> bool:
    """Return whether the binding of a target returns a list of faults instead of a query."""
    return isinstance(bind(target, "", QueryContext(endpoint)), list)


@pytest.mark.parametrize(
    "target",
    [
        {**MATH, "intervalMs": 1000, "maxDataPoints": 10, "datasourceId": 3},
        {**MATH, "datasource": "__expr__"},
        {**MATH, "datasource": {"name": "Expression", "type": "__expr__", "uid": "__expr__"}},
        {**MATH, "datasource": {"uid": "__expr__"}},
        {**MATH, "reducer": "mean", "window": "10s", "conditions": [], "settings": {"mode": "dropNN"}},
        {**REDUCE, "settings": {}},
        {**REDUCE, "settings": {"mode": ""}},
        {**REDUCE, "reducer": "LAST"},
        {**CLASSIC, "conditions": [{**CONDITION, "type": "query"}]},
        {**CLASSIC, "conditions": [{**CONDITION, "reducer": {"type": "last", "params": []}}]},
        {**CLASSIC, "conditions": [{key: value for key, value in CONDITION.items() if key != "operator"}]},
        {**CLASSIC, "conditions": [{**CONDITION, "operator": None}]},
        {**CLASSIC, "conditions": [{**CONDITION, "operator": {"type": ""}}]},
        {**THRESHOLD, "conditions": [{**CONDITION, "type": "query"}]},
    ],
)
def test_the_listed_fields_are_accepted(target: dict[str, Any]) -> None:
    """A lenient request ignores the listed fields and values. A strict request rejects them."""
    with pytest.raises(ValidationError):
        validate(target)
    assert validate(strict_target(target)).type == target["type"]


@pytest.mark.parametrize(
    "target",
    [
        {**MATH, "colour": "red"},
        {**MATH, "format": "alerting"},
        {**MATH, "datasource": {"type": "__expr__", "colour": "red"}},
        {**MATH, "timeRange": {"from": "now-1h", "zone": "utc"}},
        {**REDUCE, "settings": {"mode": "dropNN", "colour": "red"}},
        {**REDUCE, "settings": {"mode": "dropNN", "replaceWithValue": 1}},
        {**REDUCE, "settings": {"mode": "replaceNN"}},
        {**REDUCE, "settings": {"mode": "replaceNN", "replaceWithValue": "-12"}},
        {**REDUCE, "settings": {"mode": "test"}},
        {**REDUCE, "settings": "drop-nan"},
        {**REDUCE, "reducer": "percentile"},
        {**REDUCE, "expression": ""},
        {**CLASSIC, "conditions": [{**CONDITION, "colour": "red"}]},
        {**CLASSIC, "conditions": [{**CONDITION, "operator": {"type": "xor"}}]},
        {**CLASSIC, "conditions": [CONDITION, {key: value for key, value in CONDITION.items() if key != "operator"}]},
        {**CLASSIC, "conditions": [CONDITION, {**CONDITION, "operator": {"type": ""}}]},
        {**THRESHOLD, "conditions": [{"evaluator": {"type": "above", "params": [1]}}]},
        {**THRESHOLD, "conditions": [{"evaluator": {"type": "gt", "params": ["1"]}}]},
        {**MATH, "resultAssertions": {"typeVersion": [0]}},
        {**MATH, "resultAssertions": {"type": "wide", "typeVersion": [0, 1]}},
        {**MATH, "hide": "yes"},
        {**MATH, "type": "join"},
        {"refId": "B", "expression": "$A"},
    ],
)
def test_other_fields_are_rejected(target: dict[str, Any]) -> None:
    """Unknown properties at any depth, invalid values of enums, and wrong types are rejected even by lenient requests."""
    assert is_rejected({"datasource": "__expr__"} | target, QueryEndpoint.QUERY)


def test_only_lenient_sql_targets_may_have_a_format() -> None:
    """A SQL target of a lenient request may have a known format. A SQL target of a panel may not have any format."""
    target = {"refId": "B", "type": "sql", "expression": "SELECT 1"}
    for format_name in ("", "table", "alerting", None):
        bound_target = bind(target | {"format": format_name}, "", QueryContext())
        assert isinstance(bound_target, BoundQuery)
        assert isinstance(bound_target.query, FormattedSqlTarget)
        assert bound_target.query.format == (format_name or "")
        assert is_rejected(target | {"format": format_name}, QueryEndpoint.PANEL)
    assert is_rejected(target | {"format": "wide"}, QueryEndpoint.QUERY)
    assert isinstance(bind(target, "", QueryContext(QueryEndpoint.PANEL)), BoundQuery)


def test_lenient_parsing_does_not_change_the_query() -> None:
    """Lenient parsing changes a copy. The object of the caller is unchanged."""
    target = {**REDUCE, "reducer": "LAST", "settings": {}, "datasource": {"type": "__expr__", "name": "x"}}
    original = {**target}
    assert strict_target(target) == {**REDUCE, "datasource": {"type": "__expr__"}}
    assert target == original


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"datasource": {"type": "__expr__"}}, True),
        ({"datasource": {"uid": "__expr__"}}, True),
        ({"datasource": {"uid": "-100"}}, True),
        ({"datasource": "__expr__", "type": "math"}, True),
        ({"datasourceId": -100, "type": "math"}, True),
        ({"type": "math"}, True),
        ({"type": "timeSeriesQuery"}, False),
        ({"datasource": {"type": "mysql"}, "type": "sql"}, False),
        ({"datasource": "abc", "type": "math"}, False),
        ({"datasourceId": -100}, True),
        ({"datasourceId": 3, "type": "math"}, True),
        ({"datasourceId": 3, "type": "timeSeriesQuery"}, False),
        ({}, False),
    ],
)
def test_expressions_are_detected(query: dict[str, Any], expected: bool) -> None:
    """The data source decides whether a query is an expression.

    Without a data source, the type decides. Without a type, the query is an expression if its numeric id is -100.
    """
    assert is_expression(query) is expected


def test_null_is_the_same_as_missing() -> None:
    """An optional property that is null has its default value."""
    target = validate({**REDUCE, "settings": None, "hide": None, "timeRange": {"from": None}})
    assert isinstance(target, ReduceTarget)
    assert target.settings is None
    assert target.hide is None
    assert target.time_range is not None
    assert target.time_range.from_ == "now-6h"
    assert target.time_range.to == "now"
