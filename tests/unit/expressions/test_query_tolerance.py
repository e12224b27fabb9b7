"""A fixed list of fields in saved panels beyond the strict form is accepted without effect."""

from typing import Any

import pytest
from pydantic import ValidationError

from dashwright.common.models.expressions import TARGETS, FormattedSqlTarget, ReduceTarget, Target
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.requests.binding import BoundQuery, bind, is_expression, strict_target

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


def bound(target: dict[str, Any]) -> Target:
    return TARGETS[target["type"]].model_validate(target)


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
    """A strict request rejects them; a lenient one ignores them."""
    with pytest.raises(ValidationError):
        bound(target)
    assert bound(strict_target(target)).type == target["type"]


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
def test_anything_else_is_refused(target: dict[str, Any]) -> None:
    """Unknown properties at any depth, invalid values of enums, and wrong types are refused."""
    assert isinstance(bind({"datasource": "__expr__"} | target, "", QueryContext()), list)


def test_a_format_of_a_statement_is_lenient_only() -> None:
    """A lenient SQL target may have one of the known formats; a panel's target may not."""
    target = {"refId": "B", "type": "sql", "expression": "SELECT 1"}
    for form in ("", "table", "alerting", None):
        bound_target = bind(target | {"format": form}, "", QueryContext())
        assert isinstance(bound_target, BoundQuery)
        assert isinstance(bound_target.query, FormattedSqlTarget)
        assert bound_target.query.format == (form or "")
        assert isinstance(bind(target | {"format": form}, "", QueryContext(QueryEndpoint.PANEL)), list)
    assert isinstance(bind(target | {"format": "wide"}, "", QueryContext()), list)
    assert isinstance(bind(target, "", QueryContext(QueryEndpoint.PANEL)), BoundQuery)


def test_lenient_parsing_does_not_change_the_query() -> None:
    """The caller's object is unchanged."""
    target = {**REDUCE, "reducer": "LAST", "settings": {}, "datasource": {"type": "__expr__", "name": "x"}}
    copy = {**target}
    assert strict_target(target) == {**REDUCE, "datasource": {"type": "__expr__"}}
    assert target == copy


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
    """The data source decides; without one, the type. The numeric id of a data source has no effect."""
    assert is_expression(query) is expected


def test_null_is_as_missing() -> None:
    """An optional property that is null takes its default."""
    target = bound({**REDUCE, "settings": None, "hide": None, "timeRange": {"from": None}})
    assert isinstance(target, ReduceTarget)
    assert (target.settings, target.hide) == (None, None)
    assert target.time_range is not None
    assert (target.time_range.from_, target.time_range.to) == ("now-6h", "now")
