"""Responses of Prometheus as frames. Series on the same times share one time column, and no point becomes an object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.errors import SourceFailed
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.prometheus.query import PrometheusQuery

_VALUES: Final = b'"values":'
_OPEN: Final = _VALUES + b"[["
_ADVICE: Final = "ask for fewer series, a shorter time range or a larger interval"
_NAME: Final = "__name__"
_TOLD: Final = 300

Points = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class PrometheusResponse:
    """A response of the API."""

    data: Any  #: The ``data`` member, with the number of each cut-out array of points in its place.
    points: Sequence[NDArray[np.float64]]  #: The arrays cut out of ``data``.
    error: str = ""
    notices: tuple[dict[str, str], ...] = ()


def parse_response(body: bytes, limits: Limits) -> PrometheusResponse:
    """Return the parsed body. Raises SourceFailed if it is not a response of Prometheus, TooLarge."""
    rest, points = _cut(body, limits)
    try:
        document = orjson.loads(rest)
    except orjson.JSONDecodeError as error:
        raise _unreadable(f"is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise _unreadable("is not a JSON object")
    status = document.get("status")
    if status == "error":
        kind, reason = str(document.get("errorType") or "error"), str(document.get("error") or "without a reason")
        return PrometheusResponse(None, (), f"{kind}: {reason}"[:_TOLD])
    if status != "success":
        raise _unreadable("has neither the status success nor error")
    notices = [
        {"severity": severity, "text": text[:_TOLD]}
        for severity, name in (("warning", "warnings"), ("info", "infos"))
        for text in document.get(name) or ()
        if isinstance(text, str)
    ]
    return PrometheusResponse(document.get("data"), points, notices=tuple(notices))


def frames_of(envelope: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> list[Frame]:
    """Return the frames of a response; the first carries the query and the notices.

    Without results it is one frame without fields.
    """
    frames = _FrameReader(envelope, query, limits).frames()
    first, *others = frames or [Frame()]
    meta = {**(first.meta or {}), "executedQueryString": query.executed}
    if envelope.notices:
        meta["notices"] = [*envelope.notices, *((first.meta or {}).get("notices") or ())]
    return [replace(first, meta=meta), *others]


def _cut(body: bytes, limits: Limits) -> tuple[bytes, list[NDArray[np.float64]]]:
    """Return the body without the points of its series, and the points.

    They are parsed from the text, because as objects they take ten times the memory and twice the time. No text in JSON
    can contain the bytes that are searched for, because a quote within one has a backslash before it. Bodies with
    spaces between are parsed as objects.
    """
    points: list[NDArray[np.float64]] = []
    rest: list[bytes] = []
    position, held = 0, 0
    while (found := body.find(_OPEN, position)) >= 0:
        limits.deadline.check()
        end = body.find(b"]]", found)
        if end < 0:
            raise _unreadable("breaks off")
        points.append(_numbers(body[found + len(_OPEN) : end]))
        held += len(points[-1])
        if len(points) > limits.query_series:
            raise limits.refusal("query_series", f"the response has more than {limits.query_series} series", _ADVICE)
        if held > limits.query_points:
            raise limits.refusal("query_points", f"the response has more than {limits.query_points} points", _ADVICE)
        rest += (body[position : found + len(_VALUES)], b"%d" % (len(points) - 1))
        position = end + 2
    rest.append(body[position:])
    return b"".join(rest), points


def _numbers(text: bytes) -> NDArray[np.float64]:
    """Return rows of time and value from ``1,"2"],[3,"4"``."""
    try:
        numbers = np.fromstring(text.translate(None, b'[]"'), sep=",")
    except ValueError as error:
        raise _unreadable("has a point that is not a number") from error
    if len(numbers) % 2:
        raise _unreadable("has a point without time or value")
    return numbers.reshape(-1, 2)


class _FrameReader:
    """The reader of one response."""

    def __init__(self, envelope: PrometheusResponse, query: PrometheusQuery, limits: Limits) -> None:
        self._envelope = envelope
        self._query = query
        self._limits = limits
        self._times: dict[bytes, NDArray[np.int64]] = {}
        self._latest: NDArray[np.int64] = np.empty(0, np.int64)
        self._histograms = 0

    def frames(self) -> list[Frame]:
        """Return the frames of the result."""
        data = self._envelope.data
        kind, result = (data.get("resultType"), data.get("result")) if isinstance(data, dict) else (None, None)
        if not isinstance(kind, str) or not isinstance(result, list):
            raise _unreadable("has no result")
        match kind:
            case "matrix" | "vector":
                return list(self._series(kind, result))
            case "scalar":
                return [self._frame("numeric-multi", kind, NONE, self._points([result]))]
            case "string":
                return [self._text(result)]
        raise _unreadable(f"has results of the unknown type {kind!r:.40}")

    def _series(self, kind: str, result: list[Any]) -> Iterator[Frame]:
        if len(result) > self._limits.query_series:
            raise self._limits.refusal("query_series", f"the response has {len(result)} series", _ADVICE)
        declared = "timeseries-multi" if kind == "matrix" else "numeric-multi"
        meta = _meta(declared, kind)
        frames = [
            self._frame(declared, kind, self._labels(item), points, meta) for item in result if (points := self._of(item)) is not None
        ]
        if self._histograms:
            text = f"{self._histograms} series of native histograms were left out; use histogram_quantile() or a similar function"
            first = frames[0] if frames else Frame(meta={})
            frames[:1] = [replace(first, meta={**(first.meta or {}), "notices": [{"severity": "warning", "text": text}]})]
        yield from frames

    def _of(self, item: Any) -> Points | None:
        """Return the points of a series; None if it has only histograms."""
        self._limits.deadline.check()
        if not isinstance(item, dict):
            raise _unreadable("has a series that is not an object")
        self._histograms += "histogram" in item or "histograms" in item
        values = item.get("values")
        if isinstance(values, int) and 0 <= values < len(self._envelope.points):
            return self._timed(self._envelope.points[values])
        if isinstance(values, list):
            return self._points(values)
        if isinstance(value := item.get("value"), list):
            return self._points([value])
        if "histogram" in item or "histograms" in item:
            return None
        raise _unreadable("has a series without values")

    def _points(self, rows: list[Any]) -> Points:
        try:
            return self._timed(np.array([(float(time), float(value)) for time, value in rows], np.float64).reshape(-1, 2))
        except (TypeError, ValueError) as error:
            raise _unreadable("has a point that is not a time and a number") from error

    def _timed(self, rows: NDArray[np.float64]) -> Points:
        seconds = rows[:, 0]
        if not bool((np.abs(seconds) < 9e9).all()):
            raise _unreadable("has an impossible time")
        times = np.rint(seconds * 1000).astype(np.int64) * 1_000_000
        if not np.array_equal(times, self._latest):
            self._latest = self._times.setdefault(times.tobytes(), times)
        return self._latest, np.ascontiguousarray(rows[:, 1])

    def _labels(self, item: dict[str, Any]) -> Labels:
        metric = item.get("metric") or {}
        if not isinstance(metric, dict) or not all(isinstance(value, str) for value in metric.values()):
            raise _unreadable("has a series whose labels are not texts")
        return Labels.of(metric)

    def _frame(self, declared: str, kind: str, labels: Labels, points: Points, meta: dict[str, Any] | None = None) -> Frame:
        times, values = points
        shown = self._query.display_name(labels)
        named = next((value for key, value in labels.pairs if key == _NAME), "Value")
        fields = (
            Field("Time", FieldType.TIME, times, config={"interval": self._query.step / 1_000_000}),
            Field(named, FieldType.FLOAT64, values, labels=labels, config={"displayNameFromDS": shown} if shown else None),
        )
        return Frame(fields, meta=meta or _meta(declared, kind))

    def _text(self, result: list[Any]) -> Frame:
        if len(result) != 2 or not isinstance(result[1], str):
            raise _unreadable("has an invalid string result")
        times, _ = self._points([[result[0], 0]])
        texts = np.empty(1, object)
        texts[0] = result[1]
        fields = (Field("Time", FieldType.TIME, times), Field("Value", FieldType.STRING, texts, labels=NONE))
        return Frame(fields, meta={"type": "timeseries-multi", "custom": {"resultType": "string"}})


def _meta(declared: str, kind: str) -> dict[str, Any]:
    return {"type": declared, "typeVersion": [0, 1], "custom": {"resultType": kind}}


def _unreadable(what: str) -> SourceFailed:
    return SourceFailed(f"the response {what}; check that the data source's URL is that of a Prometheus server")
