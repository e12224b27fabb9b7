"""The requests of R1 to R10: a query of a data source, and expressions over its result."""

import itertools
from dataclasses import dataclass
from typing import Any, Final

import orjson

#: The uids of the data sources, the stub of Prometheus and a PostgreSQL.
PROMETHEUS: Final = "stub"
POSTGRES: Final = "points"

#: The start of each time range and the distance of two points, in seconds.
START: Final = 1_767_225_600
STEP: Final = 10

#: The metrics of the stub: compact bodies, as Prometheus writes them; bodies with spaces; and random walks.
COMPACT: Final = "compact"
SPACED: Final = "spaced"
WALK: Final = "walk"

#: The values are evenly distributed from 0 to 100, so about half of them are above.
THRESHOLD: Final = 50.0

_EXPRESSION: Final = {"type": "__expr__", "uid": "__expr__"}
_SMALL_REQUEST: Final = orjson.dumps({"queries": [{"refId": "A", "datasource": _EXPRESSION, "type": "math", "expression": "1 + 2"}]})

#: Numbers that make each query unique.
_query_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Workload:
    """The size and kind of a request: a threshold of each series, for ranges after their mean; or the series themselves."""

    series: int
    #: Points of each series; 0 for an instant query.
    points: int = 0
    #: True if the response contains the series themselves.
    returns_series: bool = False
    metric: str = COMPACT

    @property
    def end(self) -> int:
        """The end of the time range, in seconds."""
        return START + STEP * max(self.points - 1, 0)

    @property
    def output(self) -> str:
        """The refId of the result in the response."""
        return "A" if self.returns_series else "C"

    def promql(self) -> str:
        """Return a query in PromQL with a unique text, so that no cache has its result."""
        return f"{self.metric}_{self.series} > -{next(_query_numbers)}"

    def sql(self) -> str:
        """Return an SQL statement with a unique text, so that no cache has its result."""
        condition = f"value > -{next(_query_numbers)}"
        return f"select time, host, zone, job, pod, value from points_{self.series} where {condition} order by time"


def prometheus_request(workload: Workload) -> bytes:
    """Return the body of a request over the stub of Prometheus."""
    is_instant = not workload.points
    return _request(
        workload,
        {
            "datasource": {"type": "prometheus", "uid": PROMETHEUS},
            "expr": workload.promql(),
            "instant": is_instant,
            "range": not is_instant,
            "interval": f"{STEP}s",
        },
    )


def postgres_request(workload: Workload) -> bytes:
    """Return the body of a request over PostgreSQL."""
    source = {"type": "grafana-postgresql-datasource", "uid": POSTGRES}
    return _request(workload, {"datasource": source, "rawSql": workload.sql(), "format": "time_series"})


def small_request() -> bytes:
    """Return the body of the request ``1 + 2``."""
    return _SMALL_REQUEST


def _request(workload: Workload, query: dict[str, Any]) -> bytes:
    """Return the body of a request with a query A, and expressions over it: the mean B of ranges, and the threshold C."""
    threshold_input = "B" if workload.points else "A"
    conditions = [{"evaluator": {"type": "gt", "params": [THRESHOLD]}}]
    expressions = [
        {"refId": "B", "datasource": _EXPRESSION, "type": "reduce", "expression": "A", "reducer": "mean", "hide": True},
        {"refId": "C", "datasource": _EXPRESSION, "type": "threshold", "expression": threshold_input, "conditions": conditions},
    ]
    source_query = {"refId": "A", "hide": not workload.returns_series, "intervalMs": STEP * 1000, "maxDataPoints": 11_000, **query}
    if workload.returns_series:
        expressions = []
    elif not workload.points:
        # An instant query returns numbers, which need no reduction.
        del expressions[0]
    return orjson.dumps({"from": str(START * 1000), "to": str(workload.end * 1000), "queries": [source_query, *expressions]})
