"""The requests of R1 to R10: queries of a data source, and the expressions over them."""

import itertools
from dataclasses import dataclass
from typing import Any, Final

import orjson

#: The uids of the data sources.
PROMETHEUS: Final = "stub"
POSTGRES: Final = "points"

#: The beginning of each range and the distance of two points, in seconds.
START: Final = 1_767_225_600
STEP: Final = 10

#: The names of the metrics of the stub: bodies as Prometheus writes them, bodies with spaces, and random walks.
COMPACT: Final = "compact"
SPACED: Final = "spaced"
WALK: Final = "walk"

THRESHOLD: Final = 50.0

_EXPRESSION: Final = {"type": "__expr__", "uid": "__expr__"}
_SMALL: Final = orjson.dumps({"queries": [{"refId": "A", "datasource": _EXPRESSION, "type": "math", "expression": "1 + 2"}]})

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Work:
    """A request: a threshold of each series, after a mean for a range; or the series as they are."""

    series: int
    points: int = 0  #: Of each series; 0 for an instant query.
    shown: bool = False  #: Whether the series are returned as they are.
    metric: str = COMPACT

    @property
    def end(self) -> int:
        """The end of the time range, in seconds."""
        return START + STEP * max(self.points - 1, 0)

    @property
    def output(self) -> str:
        """The refId of the result."""
        return "A" if self.shown else "C"

    def promql(self) -> str:
        """Return the query in another text than all queries before, so that no cache has its result."""
        return f"{self.metric}_{self.series} > -{next(_numbers)}"

    def sql(self) -> str:
        """Return the statement in another text than all statements before."""
        condition = f"value > -{next(_numbers)}"
        return f"select time, host, zone, job, pod, value from points_{self.series} where {condition} order by time"


def prometheus_request(work: Work) -> bytes:
    """Return the body of a request over the stub."""
    is_instant = not work.points
    return _request(
        work,
        {
            "datasource": {"type": "prometheus", "uid": PROMETHEUS},
            "expr": work.promql(),
            "instant": is_instant,
            "range": not is_instant,
            "interval": f"{STEP}s",
        },
    )


def postgres_request(work: Work) -> bytes:
    """Return the body of a request over PostgreSQL."""
    source = {"type": "grafana-postgresql-datasource", "uid": POSTGRES}
    return _request(work, {"datasource": source, "rawSql": work.sql(), "format": "time_series"})


def small_request() -> bytes:
    """Return the body of the request ``1 + 2``."""
    return _SMALL


def _request(work: Work, query: dict[str, Any]) -> bytes:
    numbers = "B" if work.points else "A"
    threshold = [{"evaluator": {"type": "gt", "params": [THRESHOLD]}}]
    expressions = [
        {"refId": "B", "datasource": _EXPRESSION, "type": "reduce", "expression": "A", "reducer": "mean", "hide": True},
        {"refId": "C", "datasource": _EXPRESSION, "type": "threshold", "expression": numbers, "conditions": threshold},
    ]
    source = {"refId": "A", "hide": not work.shown, "intervalMs": STEP * 1000, "maxDataPoints": 11_000, **query}
    wanted = [] if work.shown else expressions if work.points else expressions[1:]
    return orjson.dumps({"from": str(START * 1000), "to": str(work.end * 1000), "queries": [source, *wanted]})
