"""Conversion of Prometheus responses to frames. Series with the same times share one time column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.errors import SourceFailed
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NO_LABELS, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.prometheus.query import PrometheusQuery

_VALUES_MEMBER: Final = b'"values":'
_ARRAY_START: Final = _VALUES_MEMBER + b"[["
_ARRAY_END: Final = b"]]"
_ADVICE: Final = "ask for fewer series, a shorter time range or a larger interval"
_NAME_LABEL: Final = "__name__"
_MAX_MESSAGE_LENGTH: Final = 300
#: The largest distance of a time from 1970 in seconds; its nanoseconds fit into an int64.
_MAX_SECONDS: Final = 9e9
_NANOS_PER_MILLISECOND: Final = 1_000_000

#: The times and the values of one series.
Points = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class PrometheusResponse:
    """A response of the API."""

    data: Any  #: The ``data`` member. Each array of points is replaced by its index in ``points``.
    points: Sequence[NDArray[np.float64]]  #: Rows of time and value, one array per series.
    error: str = ""
    notices: tuple[dict[str, str], ...] = ()


def parse_response(body: bytes, limits: Limits) -> PrometheusResponse:
    """Return the parsed body. Raises SourceFailed if it is not a response of Prometheus, TooLarge if it has too many points."""
    remaining_body, points = _extract_points(body, limits)
    try:
        document = orjson.loads(remaining_body)
    except orjson.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _unreadable("is not a JSON object")
    status = document.get("status")
    if status == "error":
        error_type, reason = str(document.get("errorType") or "error"), str(document.get("error") or "without a reason")
        return PrometheusResponse(None, (), f"{error_type}: {reason}"[:_MAX_MESSAGE_LENGTH])
    if status != "success":
        raise _unreadable("has neither the status success nor error")
    notices = [
        {"severity": severity, "text": message[:_MAX_MESSAGE_LENGTH]}
        for severity, name in (("warning", "warnings"), ("info", "infos"))
        for message in document.get(name) or ()
        if isinstance(message, str)
    ]
    return PrometheusResponse(document.get("data"), points, notices=tuple(notices))


def frames_of(response: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> list[Frame]:
    """Return the frames of a response. The first has the query and the notices in its meta.

    A response without results gives one frame without fields.
    """
    frames = _FrameReader(response, query, limits).frames()
    first, *others = frames or [Frame()]
    meta = {**(first.meta or {}), "executedQueryString": query.executed_query}
    if response.notices:
        meta["notices"] = [*response.notices, *((first.meta or {}).get("notices") or ())]
    return [replace(first, meta=meta), *others]


def _extract_points(body: bytes, limits: Limits) -> tuple[bytes, list[NDArray[np.float64]]]:
    """Return the body with each array of points replaced by its index, and the arrays.

    Points as Python objects would take ten times the memory and twice the time. No JSON string contains the bytes that
    mark an array, because quotes in strings are escaped. Arrays with white space are not extracted.
    """
    points: list[NDArray[np.float64]] = []
    remaining_chunks: list[bytes] = []
    position, point_count = 0, 0
    while (start := body.find(_ARRAY_START, position)) >= 0:
        limits.deadline.check()
        end = body.find(_ARRAY_END, start)
        if end < 0:
            raise _unreadable("breaks off")
        points.append(_parse_points(body[start + len(_ARRAY_START) : end]))
        point_count += len(points[-1])
        if len(points) > limits.query_series:
            raise limits.refusal("query_series", f"the response has more than {limits.query_series} series", _ADVICE)
        if point_count > limits.query_points:
            raise limits.refusal("query_points", f"the response has more than {limits.query_points} points", _ADVICE)
        remaining_chunks += (body[position : start + len(_VALUES_MEMBER)], b"%d" % (len(points) - 1))
        position = end + len(_ARRAY_END)
    remaining_chunks.append(body[position:])
    return b"".join(remaining_chunks), points


def _parse_points(array: bytes) -> NDArray[np.float64]:
    """Return rows of time and value from JSON such as ``1,"2"],[3,"4"``, an array without its outer brackets."""
    try:
        numbers = np.fromstring(array.translate(None, b'[]"'), sep=",")
    except ValueError as error:
        raise _unreadable("has a point that is not a number") from error
    if len(numbers) % 2:
        raise _unreadable("has a point without time or value")
    return numbers.reshape(-1, 2)


class _FrameReader:
    """A reader of the frames of one response."""

    def __init__(self, response: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> None:
        self._response = response
        self._query = query
        self._limits = limits
        self._times_by_bytes: dict[bytes, NDArray[np.int64]] = {}
        self._latest_times: NDArray[np.int64] = np.empty(0, np.int64)
        self._histogram_count = 0

    def frames(self) -> list[Frame]:
        """Return the frames of the result."""
        data = self._response.data
        result_type, result = (data.get("resultType"), data.get("result")) if isinstance(data, dict) else (None, None)
        if not isinstance(result_type, str) or not isinstance(result, list):
            raise _unreadable("has no result")
        match result_type:
            case "matrix" | "vector":
                return list(self._series(result_type, result))
            case "scalar":
                return [self._frame("numeric-multi", result_type, NO_LABELS, self._points([result]))]
            case "string":
                return [self._string_frame(result)]
        raise _unreadable(f"has results of the unknown type {result_type!r:.40}")

    def _series(self, result_type: str, result: list[Any]) -> Iterator[Frame]:
        if len(result) > self._limits.query_series:
            raise self._limits.refusal("query_series", f"the response has {len(result)} series", _ADVICE)
        frame_type = "timeseries-multi" if result_type == "matrix" else "numeric-multi"
        meta = _meta(frame_type, result_type)
        frames = []
        for item in result:
            points = self._points_of(item)
            if points is not None:
                frames.append(self._frame(frame_type, result_type, self._labels(item), points, meta))
        if self._histogram_count:
            warning = f"{self._histogram_count} series of native histograms were left out; use histogram_quantile() or a similar function"
            first = frames[0] if frames else Frame(meta={})
            frames[:1] = [replace(first, meta={**(first.meta or {}), "notices": [{"severity": "warning", "text": warning}]})]
        yield from frames

    def _points_of(self, item: Any) -> Points | None:
        """Return the points of a series, or None if it has only native histograms. Counts series with histograms."""
        self._limits.deadline.check()
        if not isinstance(item, dict):
            raise _unreadable("has a series that is not an object")
        has_histograms = "histogram" in item or "histograms" in item
        self._histogram_count += has_histograms
        values = item.get("values")
        if isinstance(values, int) and 0 <= values < len(self._response.points):
            return self._split_rows(self._response.points[values])
        if isinstance(values, list):
            return self._points(values)
        if isinstance(value := item.get("value"), list):
            return self._points([value])
        if has_histograms:
            return None
        raise _unreadable("has a series without values")

    def _points(self, rows: list[Any]) -> Points:
        """Return the points from JSON rows of a time in seconds and a number as a string."""
        try:
            return self._split_rows(np.array([(float(time), float(value)) for time, value in rows], np.float64).reshape(-1, 2))
        except (TypeError, ValueError) as error:
            raise _unreadable("has a point that is not a time and a number") from error

    def _split_rows(self, rows: NDArray[np.float64]) -> Points:
        """Return the times in nanoseconds, and the values. Series with equal times share one array of times."""
        seconds = rows[:, 0]
        if not bool((np.abs(seconds) < _MAX_SECONDS).all()):
            raise _unreadable("has an impossible time")
        times = np.rint(seconds * 1000).astype(np.int64) * _NANOS_PER_MILLISECOND
        if not np.array_equal(times, self._latest_times):
            self._latest_times = self._times_by_bytes.setdefault(times.tobytes(), times)
        return self._latest_times, np.ascontiguousarray(rows[:, 1])

    def _labels(self, item: dict[str, Any]) -> Labels:
        metric = item.get("metric") or {}
        if not isinstance(metric, dict) or not all(isinstance(value, str) for value in metric.values()):
            raise _unreadable("has a series whose labels are not texts")
        return Labels.of(metric)

    def _frame(self, frame_type: str, result_type: str, labels: Labels, points: Points, meta: dict[str, Any] | None = None) -> Frame:
        times, values = points
        display_name = self._query.display_name(labels)
        name = next((value for key, value in labels.pairs if key == _NAME_LABEL), "Value")
        fields = (
            Field("Time", FieldType.TIME, times, config={"interval": self._query.step / _NANOS_PER_MILLISECOND}),
            Field(name, FieldType.FLOAT64, values, labels=labels, config={"displayNameFromDS": display_name} if display_name else None),
        )
        return Frame(fields, meta=meta or _meta(frame_type, result_type))

    def _string_frame(self, result: list[Any]) -> Frame:
        if len(result) != 2 or not isinstance(result[1], str):
            raise _unreadable("has an invalid string result")
        times, _ = self._points([[result[0], 0]])
        values = np.empty(1, object)
        values[0] = result[1]
        fields = (Field("Time", FieldType.TIME, times), Field("Value", FieldType.STRING, values, labels=NO_LABELS))
        return Frame(fields, meta={"type": "timeseries-multi", "custom": {"resultType": "string"}})


def _meta(frame_type: str, result_type: str) -> dict[str, Any]:
    return {"type": frame_type, "typeVersion": [0, 1], "custom": {"resultType": result_type}}


def _unreadable(problem: str) -> SourceFailed:
    return SourceFailed(f"the response {problem}; check that the data source's URL is that of a Prometheus server")
