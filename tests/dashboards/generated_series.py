"""Generated results of queries in PromQL and similar languages, as a server would send them."""

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import orjson
from tests.dashboards.promql import label_names, label_values

from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus.query import PrometheusQuery, read_query
from dashwright.expressions.sources.prometheus.response import frames_of, parse_response

#: The number of values of a label that the query does not fix.
_VALUES_PER_LABEL: Final = 3
#: The bounds of the buckets of a histogram, as values of the label ``le``.
_BOUNDS: Final = ("0.1", "0.5", "1", "5", "+Inf")
_NANOS_PER_SECOND: Final = 1e9


def series_of_query(
    query: SourceQuery, record: SourceRecord, extra_labels: Sequence[str], time_range: TimeRange, limits: Limits
) -> Sequence[Frame]:
    """Return the frames that the data source for Prometheus makes of generated series.

    The series have the labels of the query, and ``extra_labels`` if the query selects series without aggregation.
    """
    prometheus_query = read_query(query, time_range, record)
    # A query for both is generated as an instant query only.
    prometheus_query = replace(prometheus_query, is_range=prometheus_query.is_range and not prometheus_query.is_instant)
    body = {
        "status": "success",
        "data": {
            "resultType": "vector" if prometheus_query.is_instant else "matrix",
            "result": list(_series_items(prometheus_query, extra_labels)),
        },
    }
    return frames_of(parse_response(orjson.dumps(body)), prometheus_query, limits)


def _series_items(query: PrometheusQuery, extra_labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the series of a response, as JSON. The level of the values depends on the query, the series and the bucket."""
    names = label_names(query.expr, list(extra_labels))
    values = {name: label_values(query.expr, name, _VALUES_PER_LABEL) for name in names if name != "le"}
    count = max(map(len, values.values()), default=1)
    bounds: Sequence[str] = _BOUNDS if "le" in names else ("",)
    for index in range(count):
        labels = {name: values_of_label[index % len(values_of_label)] for name, values_of_label in values.items()}
        for bound_index, bound in enumerate(bounds):
            level = 10.0 * (1 + zlib.crc32(query.expr.encode()) % 7) * (index + 1) * (bound_index + 1)
            metric = labels | ({"le": bound} if bound else {})
            yield {"metric": metric, **_points(query, level)}


def _points(query: PrometheusQuery, level: float) -> dict[str, Any]:
    """Return the member of a series with its values: one at the level, or a sine wave above zero around it."""
    if query.is_instant:
        return {"value": [query.evaluation_time / _NANOS_PER_SECOND, str(level)]}
    times = range(query.start, query.end + 1, query.step)
    return {
        "values": [[time / _NANOS_PER_SECOND, str(round(level * (1.2 + math.sin(time / _NANOS_PER_SECOND / 1800)), 3))] for time in times]
    }
