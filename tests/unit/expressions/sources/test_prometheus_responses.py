"""Responses of Prometheus become frames that clients and expressions read, or an error of the right type."""

import math
import re
import threading
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.sources.conftest import Serve
from tests.unit.expressions.sources.records import source_record
from tests.unit.expressions.sources.servers import FakeServer, respond_with, success
from tests.unit.expressions.sources.test_prometheus_queries import HOUR, SECOND, START

from dashwright.common.errors import BadRequest, DashwrightError, SourceFailed, TooLarge
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import NoData, Numbers, Series
from dashwright.expressions.sources.http_client import HttpClient
from dashwright.expressions.sources.prometheus.query import PrometheusQuery
from dashwright.expressions.sources.prometheus.response import frames_of, parse_response
from dashwright.expressions.sources.prometheus.source import Prometheus

QUERY = PrometheusQuery(
    expr="up",
    step=15 * SECOND,
    start=0,
    end=60 * SECOND,
    evaluation_time=60 * SECOND,
    is_instant=False,
    is_range=True,
    legend="",
)


def read_frames(body: bytes, limits: Limits | None = None) -> list[Frame]:
    """Return the frames of a response's body."""
    limits = limits or Limits()
    return list(frames_of(parse_response(body), QUERY, limits))


def series(labels: dict[str, str], *points: tuple[float, str]) -> dict[str, Any]:
    """Return a series of a matrix, with points of a time in seconds and a value."""
    return {"metric": labels, "values": [list(point) for point in points]}


def test_a_matrix_is_a_frame_for_each_series() -> None:
    """The frames of a matrix have the expected types, names and metadata. Special values are values."""
    first, second = read_frames(
        success(
            "matrix",
            [
                series({"__name__": "up", "job": "a"}, (1700000000, "1"), (1700000015.123, "NaN"), (1700000030, "+Inf")),
                series({"job": "b"}, (1700000000, "-Inf"), (1700000015, "1e-300")),
            ],
        )
    )
    assert first.meta == {
        "type": "timeseries-multi",
        "typeVersion": [0, 1],
        "custom": {"resultType": "matrix"},
        "executedQueryString": "Expr: up\nStep: 15s",
    }
    assert second.meta == {"type": "timeseries-multi", "typeVersion": [0, 1], "custom": {"resultType": "matrix"}}
    times, values = first.fields
    assert times.name == "Time"
    assert values.name == "up"
    # A series without a name.
    assert second.fields[1].name == "Value"
    assert times.config == {"interval": 15_000}
    assert values.config == {"displayNameFromDS": 'up{job="a"}'}
    assert times.values.tolist() == [1700000000_000000000, 1700000015_123000000, 1700000030_000000000]
    assert values.values[0] == 1
    assert math.isnan(values.values[1])
    assert values.values[2] == math.inf
    assert second.fields[1].values.tolist() == [-math.inf, 1e-300]
    assert not values.nullable


def test_series_with_equal_times_share_one_column() -> None:
    """Series with equal times share one column, so that expressions find common axes fast, even if other series are in between."""
    six_points = [(1700000000 + 15 * index, "1") for index in range(6)]
    five_points = six_points[:5]
    matrix = [series({"n": str(n)}, *points) for n, points in enumerate((six_points, five_points, six_points, six_points))]
    frames = read_frames(success("matrix", matrix))
    times = [frame.fields[0].values for frame in frames]
    assert times[0] is times[2] is times[3]
    assert times[0] is not times[1]
    values = values_of(frames)
    assert isinstance(values, Series)
    assert len(values.blocks) == 2


# Random series, and labels that resemble the members of a response.
POINTS = st.lists(
    st.tuples(st.integers(0, 4_000_000_000), st.floats() | st.integers(-(10**20), 10**20)), max_size=20, unique_by=lambda point: point[0]
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
LABELS = st.dictionaries(TEXTS.filter(bool), TEXTS, max_size=4)
HOSTILE_LABELS = st.sampled_from(
    [{"a": '"values":[[1,"2"]]'}, {"]]": "[["}, {"values": "0"}, {"a": '\\"values\\":[['}, {"a": ',"values":0}'}]
)


def _reverse_members(document: Any) -> Any:
    """Return a document with the members of its objects in reverse order, except labels."""
    if isinstance(document, list):
        return [_reverse_members(item) for item in document]
    if not isinstance(document, dict):
        return document
    return {key: value if key == "metric" else _reverse_members(value) for key, value in reversed(document.items())}


@given(st.lists(st.tuples(LABELS | HOSTILE_LABELS, POINTS), max_size=6), st.booleans(), st.booleans())
def test_points_are_read_from_any_notation_of_json(content: list[Any], is_indented: bool, is_reversed: bool) -> None:
    """Points are read the same from bodies with any white space and order of members. Nothing in a label is taken for points."""
    result = [series(labels, *((time, str(value)) for time, value in points)) for labels, points in content]
    document = orjson.loads(success("matrix", result))
    body = orjson.dumps(_reverse_members(document) if is_reversed else document, option=orjson.OPT_INDENT_2 if is_indented else 0)
    frames = [frame for frame in read_frames(body) if frame.fields]
    assert len(frames) == len(content)
    for frame, (labels, points) in zip(frames, content, strict=True):
        times, values = frame.fields
        assert dict(values.labels.pairs if values.labels else ()) == labels
        assert times.values.tolist() == [time * 10**9 for time, _ in points]
        np.testing.assert_array_equal(values.values, np.array([float(value) for _, value in points]))


def test_unusual_series_are_read_unchanged() -> None:
    """Points in any order, equal times, equal label sets, very long numbers, many labels and series without points are valid."""
    many_labels = {f"label_{number}": "x" for number in range(100_000)}
    content = [
        series({"n": "a"}, (3, "1"), (1, "2"), (2, "3")),
        series({"n": "a"}, (1, "1"), (1, "2")),
        series({"n": "b"}, (1, "9" * 400), (2, "0." + "3" * 400), (3, "-1e-400")),
        series(many_labels, (1, "1")),
        series({"n": "c"}),
    ]
    frames = read_frames(success("matrix", content))
    assert [[time // 10**9 for time in frame.fields[0].values.tolist()] for frame in frames] == [[3, 1, 2], [1, 1], [1, 2, 3], [1], []]
    assert [frame.fields[1].values.tolist() for frame in frames] == [[1, 2, 3], [1, 2], [math.inf, 1 / 3, 0], [1], []]
    assert frames[3].fields[1].labels is not None
    assert len(frames[3].fields[1].labels) == 100_000


def test_a_vector_is_a_number_for_each_series() -> None:
    """A vector is a frame of the type ``numeric-multi`` for each series, which expressions read as a number."""
    frames = read_frames(success("vector", [{"metric": {"job": name}, "value": [1700000000, "0.1"]} for name in "ab"]))
    assert frames[1].meta == {"type": "numeric-multi", "typeVersion": [0, 1], "custom": {"resultType": "vector"}}
    numbers = values_of(frames)
    assert isinstance(numbers, Numbers)
    assert [dict(labels.pairs) for labels in numbers.labels] == [{"job": "a"}, {"job": "b"}]


def test_scalars_and_strings_are_one_frame() -> None:
    """A scalar is a frame that expressions read as a number. A string is a frame that expressions cannot read."""
    (scalar,) = read_frames(success("scalar", [1700000000.5, "3"]))
    assert scalar.fields[0].values.tolist() == [1700000000_500000000]
    assert scalar.fields[1].values.tolist() == [3.0]
    assert isinstance(values_of([scalar]), Numbers)
    (text,) = read_frames(success("string", [1700000000, "hello"]))
    assert text.fields[1].values.tolist() == ["hello"]
    with pytest.raises(BadRequest):
        values_of([text])


def test_an_empty_response_is_a_frame_without_fields() -> None:
    """A response without series is a frame without fields, which expressions read as no data. Its metadata has the query."""
    (frame,) = read_frames(success("matrix", []))
    assert frame.fields == ()
    assert frame.meta == {"executedQueryString": "Expr: up\nStep: 15s"}
    assert isinstance(values_of([frame]), NoData)


def test_warnings_of_the_server_are_notices() -> None:
    """Warnings and infos are notices of the first frame."""
    (frame,) = read_frames(success("matrix", [series({"job": "a"}, (1, "1"))], warnings=["careful"], infos=["by the way"]))
    assert frame.meta is not None
    assert frame.meta["notices"] == [{"severity": "warning", "text": "careful"}, {"severity": "info", "text": "by the way"}]


def histogram(*buckets: list[Any]) -> dict[str, Any]:
    """Return a native histogram. Each bucket is its kind of bounds, lower bound, upper bound and count."""
    return {"count": "3", "sum": "4", "buckets": list(buckets)}


def test_native_histograms_are_cells() -> None:
    """The frame of a series of histograms has a row for each bucket at each time, and follows the frames of other series."""
    # Two buckets at 1 s and one at 16.5 s. The numbers 0 and 3 are kinds of bounds.
    points = [[1, histogram([0, "0.5", "1", "2"], [3, "-0.1", "0.1", "1"])], [16.5, histogram([0, "1", "+Inf", "7"])]]
    body = success("matrix", [{"metric": {"job": "h"}, "histograms": points}, series({"job": "a"}, (1, "1"))])
    values, cells = read_frames(body)
    assert [field.name for field in cells.fields] == ["xMax", "yMin", "yMax", "count", "yLayout"]
    assert [field.values.tolist() for field in cells.fields] == [
        [10**9, 10**9, 16_500_000_000],
        [0.5, -0.1, 1.0],
        [1.0, 0.1, math.inf],
        [2.0, 1.0, 7.0],
        [0, 3, 0],
    ]
    assert cells.fields[3].labels == Labels.of({"job": "h"})
    assert cells.meta == {"type": "heatmap-cells"}
    # Expressions read only the series of numbers.
    series_of_expressions = values_of([values, cells])
    assert isinstance(series_of_expressions, Series)
    assert len(series_of_expressions.labels) == 1


def test_a_sample_may_be_a_histogram() -> None:
    """Expressions read histograms as no data. A histogram without buckets has no frame."""
    (frame,) = read_frames(success("vector", [{"metric": {}, "histogram": [1, histogram([0, "0", "1", "2"])]}]))
    assert frame.row_count == 1
    assert isinstance(values_of([frame]), NoData)
    (empty,) = read_frames(success("vector", [{"metric": {}, "histogram": [1, {"count": "0", "sum": "0"}]}]))
    assert empty.fields == ()


@pytest.mark.parametrize("buckets", [[[0, "0", "1"]], [[0, "a", "1", "2"]], [["x", "0", "1", "2"]], 5])
def test_other_histograms_are_errors_of_the_server(buckets: Any) -> None:
    """Invalid buckets of a histogram are an error of the data source."""
    with pytest.raises(SourceFailed, match=r"has a (histogram|bucket)"):
        read_frames(success("vector", [{"metric": {}, "histogram": [1, {"buckets": buckets}]}]))


def test_histograms_have_a_limit_of_buckets() -> None:
    """The limit of points also applies to the buckets of histograms."""
    body = success("vector", [{"metric": {}, "histogram": [1, histogram(*[[0, "0", "1", "2"]] * 3)]}])
    with pytest.raises(TooLarge, match="more than 2 buckets"):
        read_frames(body, Limits(query_points=2))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b'{"status":"sucess"}',
        b'{"status":"success"}',
        b'{"status":"success","data":{"resultType":"matrix"}}',
        success("streams", []),
        success("matrix", [5]),
        success("matrix", [{"metric": {}}]),
        success("matrix", [{"metric": {"a": 1}, "values": [[1, "1"]]}]),
        success("matrix", [{"metric": [], "values": 0}]),
        success("matrix", [{"metric": {}, "values": 0}]),
        success("matrix", [{"metric": {}, "values": [[1, "x"]]}]),
        success("matrix", [{"metric": {}, "values": [[1]]}]),
        success("matrix", [{"metric": {}, "values": [["NaN", "1"]]}]),
        success("matrix", [{"metric": {}, "values": [[1e18, "1"]]}]),
        success("matrix", [{"metric": {}, "values": [[1, None]]}]),
        success("matrix", [{"metric": {}, "values": [[1, 2]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "true"]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "null"]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "1 2"]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "1,2"]]}]),
        success("matrix", [{"metric": {}, "values": [[1, ""]]}]),
        success("matrix", [{"metric": {}, "values": [[1, ["2"]]]}]),
        success("matrix", [{"metric": {}, "values": [[1, {"2": 3}]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "2", "3"], [4]]}]),
        success("matrix", [{"metric": {}, "values": [[1, "\u0661"]]}]),
        success("matrix", [{"metric": {}, "values": "[[1]]"}]),
        success("vector", [{"metric": {}, "value": [1, None]}]),
        success("scalar", [1]),
        success("string", [1, 2]),
        b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"2"',
    ],
)
def test_an_invalid_response_is_an_error_of_the_source(body: bytes) -> None:
    """An invalid body is an error of the data source, not an internal error."""
    with pytest.raises(SourceFailed, match="check that the data source's URL is that of a Prometheus server"):
        read_frames(body)


def test_the_numbers_of_series_and_points_are_limited() -> None:
    """A response with more series or points than the settings allow is rejected, and the error names the setting."""
    body = success("matrix", [series({"n": str(n)}, (1, "1"), (2, "2")) for n in range(3)])
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_SERIES"):
        read_frames(body, Limits(query_series=2))
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_POINTS"):
        read_frames(body, Limits(query_points=5))
    with pytest.raises(TooLarge, match="DASHWRIGHT_QUERY_SERIES"):
        read_frames(success("vector", [{"metric": {}, "value": [1, "1"]}] * 3), Limits(query_series=2))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("result_type", "points"), [("matrix", 60), ("matrix", 1), ("vector", 1)])
def test_reading_a_range_takes_few_times_the_memory_of_its_body(result_type: str, points: int) -> None:
    """Body, labels and points of many series together take at most 2.5 times the memory of the body."""
    # Values of different lengths.
    values = ",".join([f'[{1700000000 + 15 * index},"{index * 1.234567}"]' for index in range(points)])
    member = f'"values":[{values}]' if result_type == "matrix" else f'"value":{values}'
    items = [
        f'{{"metric":{{"__name__":"up","host":"node-{number:05}","zone":"zone-{number % 5}"}},{member}}}'
        # Labels take about 80 bytes of each item, so the body has about 8 MB.
        for number in range(8_000_000 // (len(values) + 80))
    ]
    body = f'{{"status":"success","data":{{"resultType":"{result_type}","result":[{",".join(items)}]}}}}'.encode()
    tracemalloc.start()
    try:
        frames = frames_of(parse_response(body), QUERY, Limits())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(frames) == len(items)
    assert len(body) + peak <= 2.5 * len(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (success("matrix", [{"metric": {}}]), "the data source 'name of prom': the response has a series without values; check"),
        (
            b'{"status":"success","data":{"resultType":"matrix","result":[{"metric"',
            "the data source 'name of prom': the response is not JSON",
        ),
        (success("matrix", [series({"n": "a"})] * 3), "the data source 'name of prom': the response has 3 series, more than the 2 allowed"),
    ],
)
async def test_the_error_of_a_response_names_the_data_source(serve: Serve, http: HttpClient, body: bytes, message: str) -> None:
    """The error of a response names the data source, because a request may have queries of several ones."""
    server = await serve(respond_with(body))
    source_query = SourceQuery.model_validate({"refId": "A", "datasource": {"uid": "prom"}, "expr": "up", "interval": "1m"})
    with pytest.raises(DashwrightError, match=re.escape(message)):
        await Prometheus(source_record(server.url), http).query(source_query, TimeRange(START, START + HOUR), Limits(query_series=2))


async def query(http: HttpClient, server: FakeServer, options: dict[str, Any] | None = None, **properties: Any) -> list[Frame]:
    """Return the frames of a query to a server, with options of the data source and properties of the query."""
    source = Prometheus(source_record(server.url, json_data=options or {}), http)
    source_query = SourceQuery.model_validate({"refId": "A", "datasource": {"uid": "prom"}, "expr": "up", "interval": "1m", **properties})
    return list(await source.query(source_query, TimeRange(START, START + HOUR), Limits()))


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_ranges_and_instants_are_requested_by_the_configured_method(serve: Serve, http: HttpClient, method: str) -> None:
    """Requests are POST unless the data source is configured for GET, and have its time-out. An instant is not rounded to the step."""
    server = await serve(respond_with(success("vector", [{"metric": {"job": "a"}, "value": [1, "1"]}])))
    options = {"queryTimeout": "7s"} | ({"httpMethod": "GET"} if method == "GET" else {})
    frames = await query(http, server, options, instant=True, range=True)
    assert len(frames) == 2
    instant_request, range_request = server.requests
    assert [instant_request.method, range_request.method] == [method, method]
    assert instant_request.path == "/api/v1/query"
    assert instant_request.parameters == {"query": "up", "time": "1767229207", "timeout": "7s"}
    assert range_request.path == "/api/v1/query_range"
    assert range_request.parameters == {
        "query": "up",
        "start": "1767225600",
        "end": "1767229200",
        "step": "60",
        "timeout": "7s",
    }


async def test_exemplars_are_not_supported(serve: Serve, http: HttpClient) -> None:
    """A query that also requests exemplars runs without them, with a notice."""
    server = await serve(respond_with(success("matrix", [])))
    (frame,) = await query(http, server, exemplar=True)
    assert frame.meta is not None
    assert frame.meta["notices"] == [{"severity": "info", "text": "exemplars are not supported; the query was run without them"}]


BAD_DATA_ERROR = b'{"status":"error","errorType":"bad_data","error":"parse error at char 3"}'


@pytest.mark.parametrize(
    ("status", "body", "error_type", "message"),
    [
        (400, BAD_DATA_ERROR, BadRequest, "bad_data: parse error at char 3"),
        (422, BAD_DATA_ERROR.replace(b"bad_data", b"execution"), BadRequest, "execution: parse error"),
        (401, b"no", SourceFailed, "refuses the credentials"),
        (403, BAD_DATA_ERROR, SourceFailed, "refuses the credentials"),
        (404, b"<html>", SourceFailed, "HTTP 404; check the data source's URL"),
        (405, b"", SourceFailed, "HTTP method to GET"),
        (500, b"", SourceFailed, "HTTP 500; try again"),
        (503, BAD_DATA_ERROR.replace(b"bad_data", b"timeout"), SourceFailed, "timeout: parse error"),
        (200, b"<html>", SourceFailed, "is not JSON"),
        (200, BAD_DATA_ERROR, SourceFailed, "bad_data"),
        (500, success("vector", []), SourceFailed, "HTTP 500"),
    ],
)
async def test_the_status_decides_whether_the_caller_or_the_source_failed(
    serve: Serve, http: HttpClient, status: int, body: bytes, error_type: type[Exception], message: str
) -> None:
    """The statuses 400 and 422 are errors of the caller, with the message of the server. All others are errors of the data source."""
    server = await serve(respond_with(body, status))
    with pytest.raises(error_type, match=message):
        await query(http, server)
    with pytest.raises(error_type, match=message):
        await Prometheus(source_record(server.url), http).health()


async def test_health_computes_a_sum(serve: Serve, http: HttpClient) -> None:
    """The health check queries ``1+1``, and returns the sentence that clients know from Grafana."""
    server = await serve(respond_with(success("scalar", [4, "2"])))
    assert await Prometheus(source_record(server.url), http).health() == "Successfully queried the Prometheus API."
    assert server.requests[0].parameters["query"] == "1+1"


async def test_a_large_response_is_parsed_in_a_thread(serve: Serve, http: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small response is parsed in the event loop, and a large one in a thread. Both have a frame for each series."""
    on_main_thread = []
    original = Prometheus._frames

    def record_and_parse(*arguments: Any) -> Sequence[Frame]:
        """Record the thread that parses a response."""
        on_main_thread.append(threading.current_thread() is threading.main_thread())
        return original(*arguments)

    monkeypatch.setattr(Prometheus, "_frames", record_and_parse)
    for count in (1, 5000):
        server = await serve(respond_with(success("matrix", [series({"n": str(n)}, (1, "1"), (2, "2")) for n in range(count)])))
        assert len(await query(http, server)) == count
    assert on_main_thread == [True, False]


def test_ranges_with_the_same_steps_have_the_same_key() -> None:
    """A range query a second later has the same points and the same key. An instant query or another legend has another key."""
    # The preparation of a query needs no HTTP client.
    source = Prometheus(source_record("http://x"), None)  # type: ignore[arg-type]
    later_range = TimeRange(START.replace(second=8), START.replace(second=8) + HOUR)

    def query_key(time_range: TimeRange, **properties: Any) -> Any:
        source_query = SourceQuery.model_validate({"refId": "A", "datasource": {}, "expr": "up", "interval": "1m", **properties})
        return source.prepare(source_query, time_range).key

    time_range = TimeRange(START, START + HOUR)
    assert query_key(time_range) == query_key(later_range)
    assert query_key(time_range, instant=True) != query_key(later_range, instant=True)
    assert query_key(time_range) != query_key(time_range, legendFormat="x")
    assert query_key(time_range, expr="x[$__range]") != query_key(TimeRange(START, START + HOUR * 2), expr="x[$__range]")
