"""A query or expression may assert properties of its result. A result that lacks an asserted property is an error of its refId."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import time_machine

from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.queries import respond
from dashwright.expressions.sources import registry
from dashwright.expressions.sources.source import Source


def series_query(ref_id: str = "A", count: int = 2, meta: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a query with a number of frames, each with one series and the same metadata."""
    frames = [
        {
            "schema": {"meta": meta, "fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number", "labels": {"h": str(i)}}]},
            "data": {"values": [[1], [i]]},
        }
        for i in range(count)
    ]
    content = {"scenarioId": "raw_frame", "rawFrameContent": json.dumps(frames)}
    return {"refId": ref_id, "datasource": {"type": "grafana-testdata-datasource"}, **content, **fields}


def math_query(ref_id: str, expression: str, **fields: Any) -> dict[str, Any]:
    """Return a math expression."""
    return {"refId": ref_id, "type": "math", "expression": expression, **fields}


async def results_by_ref_id(*queries: Any, context: QueryContext | None = None, **fields: Any) -> Any:
    """Return the results of queries by refId. Raise AssertionError unless the status is 400 if a result has an error, and else 200."""
    response = await respond(orjson.dumps({"type": "x", "targets": [], "queries": queries, **fields}), context)
    assert isinstance(response.body, bytes)
    body = orjson.loads(response.body)
    has_error = any("error" in result for result in body["results"].values())
    assert response.headers["status"] == (400 if has_error else 200)
    return body["results"]


@pytest.mark.parametrize(
    "assertions",
    [
        {"typeVersion": [0, 1]},
        {"type": "timeseries-multi", "typeVersion": [0, 1], "maxFrames": 2},
        # An empty type, the version 0.0 and a maximum below 1 assert nothing.
        {"typeVersion": [0, 0]},
        {"type": "", "typeVersion": [0, 0], "maxFrames": 0},
        {"typeVersion": [0, 0], "maxFrames": -1},
    ],
)
async def test_a_result_may_have_the_asserted_properties(assertions: dict[str, Any]) -> None:
    """A result with the asserted type, version and number of frames has no error, and neither has an expression that reads it."""
    body = await results_by_ref_id(series_query(), math_query("B", "$A", resultAssertions=assertions), math_query("C", "$B"))
    assert not any("error" in result for result in body.values())


@pytest.mark.parametrize(
    ("assertions", "fault"),
    [
        ({"type": "table", "typeVersion": [0, 0]}, "expected frame type [table], but found [timeseries-multi]"),
        ({"typeVersion": [0, 2]}, "type versions do not match: expected 0.2, found 0.1"),
        ({"typeVersion": [0, 0], "maxFrames": 1}, "more than expected frames found: 2"),
    ],
)
async def test_type_version_and_count_are_checked(assertions: dict[str, Any], fault: str) -> None:
    """A result without the asserted type, version or number of frames is an error, and expressions that read it do not run."""
    body = await results_by_ref_id(series_query(), math_query("B", "$A", resultAssertions=assertions), math_query("C", "$B"))
    assert "error" not in body["A"]
    assert body["B"]["status"] == 400
    assert fault in body["B"]["error"]
    assert "did not execute expression [C]" in body["C"]["error"]


async def test_the_frames_of_a_query_are_checked() -> None:
    """A query whose frames do not have the asserted type has an error and its frames. Expressions that read it do not run."""
    assertions: dict[str, Any] = {"resultAssertions": {"type": "timeseries-wide", "typeVersion": [0, 0]}}
    body = await results_by_ref_id(series_query(**assertions), math_query("B", "$A"))
    assert "expected frame type [timeseries-wide], but the type is unknown" in body["A"]["error"]
    assert len(body["A"]["frames"]) == 2
    assert "sse.dependencyError" in body["B"]["error"]
    declared_query = series_query(meta={"type": "timeseries-wide", "typeVersion": [0, 1]}, count=1, **assertions)
    assert "error" not in (await results_by_ref_id(declared_query))["A"]


async def test_no_data_has_no_type() -> None:
    """A result without frames satisfies every assertion."""
    assertions: dict[str, Any] = {"resultAssertions": {"type": "table", "typeVersion": [1, 0], "maxFrames": 1}}
    body = await results_by_ref_id(series_query(count=0, **assertions), math_query("B", "$A", **assertions))
    assert not any("error" in result for result in body.values())


@pytest.mark.parametrize(
    ("value", "severities"), [([{"severity": "info", "text": "own"}], ["info", "warning"]), (None, ["warning"]), (5, ["warning"])]
)
async def test_notices_are_added_to_those_of_the_source(value: Any, severities: list[str]) -> None:
    """The first frame has the notices of the data source, if they are a list, and then those about the query."""
    # A lenient request ignores the unknown property ``zone`` with a warning.
    query = series_query(meta={"notices": value}, timeRange={"zone": "utc"})
    body = await results_by_ref_id(query, context=QueryContext(lenient=True))
    first, second = (frame["schema"].get("meta", {}).get("notices") for frame in body["A"]["frames"])
    assert [notice["severity"] for notice in first] == severities
    assert "/queries/0/timeRange/zone" in first[-1]["text"]
    assert second == value


class RecordingSource(Source):
    """A data source that returns no frames and records the time ranges of its queries."""

    def __init__(self) -> None:
        self.ranges: dict[str, TimeRange] = {}

    async def health(self) -> str:
        """Return an empty message."""
        return ""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Record the time range of the query, and return no frames."""
        self.ranges[query.ref_id] = time_range
        return []


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL])
async def test_a_query_may_have_its_own_time_range(monkeypatch: pytest.MonkeyPatch, endpoint: QueryEndpoint) -> None:
    """The time range of a query applies to this query only, and other queries have the range of the request.

    A missing start or end has its default, which is independent of the request.
    """
    recording = RecordingSource()
    monkeypatch.setitem(registry.BUILT_IN, "recording", recording)
    datasource = {"type": "recording", "uid": "x"}
    queries = [
        {"refId": "A", "datasource": datasource},
        {"refId": "B", "datasource": datasource, "timeRange": {"from": "now-1h", "to": "now-30m"}},
        {"refId": "C", "datasource": datasource, "timeRange": {}},
    ]
    with time_machine.travel(datetime(2020, 1, 1, 12, tzinfo=UTC), tick=False):
        await results_by_ref_id(*queries, context=QueryContext(endpoint), **{"from": "now-2h", "to": 1577880000000})
    times_by_ref_id = {
        ref_id: (time_range.start.strftime("%H:%M"), time_range.end.strftime("%H:%M")) for ref_id, time_range in recording.ranges.items()
    }
    assert times_by_ref_id == {"A": ("10:00", "12:00"), "B": ("11:00", "11:30"), "C": ("06:00", "12:00")}
