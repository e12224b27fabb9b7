"""Native histograms of Prometheus responses: a frame for each series, with a row for each bucket at each time."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.prometheus.errors import ADVICE, unreadable

_NANOS_PER_MILLISECOND: Final = 1_000_000
#: The largest distance of a time from 1970 in seconds; its nanoseconds fit into an int64.
_MAX_SECONDS: Final = 9e9
_META: Final = {"type": "heatmap-cells"}


class _Histogram(msgspec.Struct):
    """A histogram at one time.

    Each bucket has the rule by which it includes its bounds (0 to 3), its lower and upper bound, and its count.
    """

    buckets: list[tuple[int, str, str, str]] = msgspec.field(default_factory=list)


_POINT: Final = msgspec.json.Decoder(tuple[float, _Histogram])
_POINTS: Final = msgspec.json.Decoder(list[tuple[float, _Histogram]])


def histogram_frames(
    histograms: Sequence[tuple[Mapping[str, str], msgspec.Raw]], step: int, limits: Limits, *, are_samples: bool
) -> list[Frame]:
    """Return a frame of the type ``heatmap-cells`` for each series that has buckets, as Grafana's data source does.

    ``histograms`` are the labels and the JSON of each series: one point if ``are_samples``, else a list of points. ``step`` is the
    step of the query in nanoseconds. Raises SourceFailed if the JSON has another form, and TooLarge for too many buckets.
    """
    frames, count = [], 0
    for labels, encoded in histograms:
        points = _points(encoded, are_samples=are_samples)
        count += sum(len(histogram.buckets) for _, histogram in points)
        if count > limits.query_points:
            raise limits.refusal("query_points", f"the histograms have more than {limits.query_points} buckets", ADVICE)
        limits.deadline.check()
        frames.append(_frame(points, Labels.of(labels), step))
    return [frame for frame in frames if frame.row_count]


def _points(encoded: msgspec.Raw, *, are_samples: bool) -> list[tuple[float, _Histogram]]:
    try:
        return [_POINT.decode(encoded)] if are_samples else _POINTS.decode(encoded)
    except msgspec.DecodeError as error:
        raise unreadable(f"has a histogram of an unexpected form ({error})") from error


def _frame(points: Sequence[tuple[float, _Histogram]], labels: Labels, step: int) -> Frame:
    """Return the buckets of a series as rows. Raises SourceFailed if a bound, a count or a time is invalid."""
    rows = [(seconds, *bucket) for seconds, histogram in points for bucket in histogram.buckets]
    try:
        numbers = np.array([[seconds, float(low), float(high), float(count)] for seconds, _, low, high, count in rows], np.float64)
    except ValueError as error:
        raise unreadable("has a bucket whose bounds or count are not numbers") from error
    seconds, lower, upper, counts = numbers.reshape(-1, 4).T
    if not bool((np.abs(seconds) < _MAX_SECONDS).all()):
        raise unreadable("has an impossible time")
    times = np.rint(seconds * 1000).astype(np.int64) * _NANOS_PER_MILLISECOND
    rules = np.array([rule for _, rule, *_ in rows], np.int64).clip(-128, 127).astype(np.int8)
    fields = [
        Field("xMax", FieldType.TIME, times, config={"interval": step / _NANOS_PER_MILLISECOND}),
        Field("yMin", FieldType.FLOAT64, np.ascontiguousarray(lower)),
        Field("yMax", FieldType.FLOAT64, np.ascontiguousarray(upper)),
        Field("count", FieldType.FLOAT64, np.ascontiguousarray(counts), labels=labels),
        Field("yLayout", FieldType.INT8, rules),
    ]
    return Frame(fields, meta=_META)
