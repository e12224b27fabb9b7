"""Queries of classic panels after the conversion to elements (v2)."""

from itertools import product
from string import ascii_uppercase
from typing import Any

import pytest

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import EMPTY_CONTEXT, ConversionContext, DataSourceIndex, KnownDataSource

CONTEXT = ConversionContext(
    DataSourceIndex(
        [KnownDataSource(uid="p1", type="prometheus", name="Metrics", is_default=True), KnownDataSource(uid="l1", type="loki", name="Logs")]
    )
)
# The expected value of a case whose converted value is equal to the classic value.
UNCHANGED = object()
MIXED = {"type": "mixed", "uid": "-- Mixed --"}
LOKI = {"type": "loki", "uid": "l1"}
#: The 676 pairs of letters from AA to ZZ.
LETTER_PAIRS = ["".join(pair) for pair in product(ascii_uppercase, repeat=2)]


def _data(panel: dict[str, Any], context: ConversionContext = CONTEXT) -> Any:
    """Return the queries, transformations and query options of the element that a panel becomes."""
    (element,) = classic_to_elements({"panels": [panel]}, context)["elements"].values()
    assert element["spec"]["data"]["kind"] == "QueryGroup"
    return element["spec"]["data"]["spec"]


def test_a_panel_query_has_the_common_members_of_its_target() -> None:
    """Reference id, visibility and data source are members of the panel query. All other members are the spec of the query."""
    target = {"refId": "Q", "hide": True, "datasource": LOKI, "expr": "up", "legendFormat": None}
    expected = {"query": {"kind": "loki", "spec": {"expr": "up", "legendFormat": None}}, "datasource": LOKI, "refId": "Q", "hidden": True}
    assert _data({"targets": [target, None]})["queries"] == [{"kind": "PanelQuery", "spec": expected}]


@pytest.mark.parametrize(
    ("panel_source", "own_source", "expected"),
    [
        (LOKI, {"type": "x", "uid": "y"}, ("x", "y")),
        (LOKI, None, ("loki", "l1")),
        (LOKI, {}, ("loki", "l1")),
        (LOKI, {"uid": None, "type": ""}, ("loki", "l1")),
        (LOKI, "Logs", ("loki", "l1")),
        (LOKI, "$source", ("", "$source")),
        (LOKI, {"uid": "p1"}, ("prometheus", "p1")),
        (LOKI, {"uid": "unknown"}, ("prometheus", "unknown")),
        (LOKI, {"uid": "${source}"}, ("", "${source}")),
        (LOKI, {"type": "x"}, ("x", None)),
        ({"uid": "l1"}, None, ("loki", "l1")),
        ({"type": "x"}, None, ("x", None)),
        ("${source}", None, ("", "${source}")),
        ("Logs", None, ("", None)),
        (None, None, ("", None)),
        (MIXED, None, ("", None)),
        (MIXED, LOKI, ("loki", "l1")),
        (None, {"type": "datasource"}, ("datasource", "grafana")),
        ({"type": "datasource"}, None, ("datasource", "grafana")),
        ({"type": "datasource", "uid": "-- Mixed --"}, None, ("datasource", "grafana")),
    ],
)
def test_queries_find_their_data_source(panel_source: Any, own_source: Any, expected: tuple[str, str | None]) -> None:
    """A query has its own data source or else that of its panel. A missing type is looked up by the uid.

    The expected values are the type, which is also the kind of the query, and the uid.
    """
    (query,) = _data({"datasource": panel_source, "targets": [{"datasource": own_source}]})["queries"]
    source_type, uid = expected
    source = query["spec"].get("datasource", {})
    assert query["spec"]["query"]["kind"] == source_type
    assert source.get("uid") == uid
    if source:
        assert source["type"] == source_type


def test_without_a_default_data_source_the_type_is_grafana() -> None:
    """The type of an unknown data source is that of the default data source, or else grafana."""
    (query,) = _data({"targets": [{"datasource": {"uid": "unknown"}}]}, EMPTY_CONTEXT)["queries"]
    assert query["spec"]["query"]["kind"] == "grafana"


@pytest.mark.parametrize(
    ("ref_ids", "expected"),
    [
        (["A", "B"], ["A", "B"]),
        ([None, "A", "", 1, "C"], ["B", "A", "D", "E", "C"]),
        ([None] * 29, [*ascii_uppercase, "AA", "AB", "AC"]),
        # One, two and three letters: 26 + 676 + 98 names, the last of which begin with A.
        ([None] * 800, [*ascii_uppercase, *LETTER_PAIRS, *(f"A{pair}" for pair in LETTER_PAIRS[:98])]),
    ],
)
def test_missing_ref_ids_are_filled(ref_ids: list[Any], expected: list[str]) -> None:
    """A query without refId gets the first unused name of A to Z, then of AA to ZZ, then of AAA to ZZZ."""
    queries = _data({"targets": [{"refId": ref_id} for ref_id in ref_ids]})["queries"]
    assert [query["spec"]["refId"] for query in queries] == expected


@pytest.mark.parametrize(
    ("transformation", "expected"),
    [
        ({"id": "reduce", "options": {"a": 1}}, {"id": "reduce", "options": {"a": 1}}),
        ({"id": "merge"}, {"id": "merge", "options": None}),
        ({"options": {}, "disabled": False}, {"id": "", "options": {}}),
        ({"id": "merge", "options": {}, "disabled": True}, {"id": "merge", "options": {}, "disabled": True}),
        ({"id": "merge", "options": {}, "topic": "series"}, {"id": "merge", "options": {}}),
        (
            {"id": "merge", "options": {}, "filter": {"id": "byRefId", "options": "A", "scope": "nested"}},
            {"id": "merge", "options": {}, "filter": {"id": "byRefId", "options": "A"}},
        ),
        ({"id": "merge", "options": {}, "filter": {}}, {"id": "merge", "options": {}, "filter": {"id": ""}}),
    ],
)
def test_transformations_are_kept(transformation: dict[str, Any], expected: dict[str, Any]) -> None:
    """A transformation keeps its options, its filter and whether it is disabled."""
    assert _data({"transformations": [transformation, 1]})["transformations"] == [{"kind": expected["id"], "spec": expected}]


@pytest.mark.parametrize(
    ("panel", "expected"),
    [
        ({}, {}),
        ({"timeFrom": "1h", "timeShift": "1d", "interval": "10s", "cacheTimeout": "5"}, UNCHANGED),
        ({"timeFrom": "", "timeShift": None, "interval": 5}, {}),
        ({"maxDataPoints": "100"}, {"maxDataPoints": 100}),
        ({"maxDataPoints": 0}, {}),
        ({"hideTimeOverride": True}, UNCHANGED),
        ({"hideTimeOverride": False}, {}),
        ({"queryCachingTTL": 0}, UNCHANGED),
        ({"queryCachingTTL": "-60000"}, {"queryCachingTTL": -60000}),
        ({"queryCachingTTL": "1m"}, {}),
        # A full-width digit is not a number.
        ({"queryCachingTTL": "\uff11"}, {}),
        ({"timeCompare": "1d"}, {}),
    ],
)
def test_query_options_are_gathered(panel: dict[str, Any], expected: Any) -> None:
    """The query options of a panel become one object. Empty and invalid options, and ``timeCompare``, are left out."""
    assert _data(panel)["queryOptions"] == (panel if expected is UNCHANGED else expected)
