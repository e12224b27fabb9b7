"""Prometheus queries of panels and rules, with their macros replaced."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus import steps

#: Default distance of the points that a client wants.
INTERVAL_MS: Final = 1000

_AUTO: Final = "__auto"
_NAME: Final = "__name__"
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(.+?)\s*\}\}")
_MACRO: Final = re.compile(r"\$\{?__(interval_ms|interval|range_ms|range_s|range|rate_interval_ms|rate_interval)\}?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST: Final = 1e12
_VARIABLE: Final = frozenset({"interval", "interval_ms", "rate_interval", "rate_interval_ms"})


@dataclass(frozen=True, slots=True)
class PrometheusQuery:
    """A query as it is sent. Times are in nanoseconds."""

    expr: str
    step: int
    start: int  #: Aligned to the step.
    end: int  #: Aligned to the step.
    at: int  #: The end as requested, for instant queries.
    is_instant: bool
    is_range: bool
    legend: str
    notices: tuple[str, ...] = ()

    @property
    def executed(self) -> str:
        """The query as users see it."""
        return f"Expr: {self.expr}\nStep: {steps.exact(self.step)}"

    def display_name(self, labels: Labels) -> str:
        """Return the name of a series by ``legendFormat``; empty if clients choose it themselves."""
        if self.legend == _AUTO:
            return "" if labels.pairs else self.expr
        if not self.legend:
            return _metric(labels) or self.expr
        values = dict(labels.pairs)
        named = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), self.legend)
        return self.expr if named == "{}" else named


def read_query(query: SourceQuery, time_range: TimeRange, record: SourceRecord) -> PrometheusQuery:
    """Return the query of a target. Raises BadRequest if it is invalid."""
    properties = query.model_extra or {}
    expr = _text(properties, "expr")
    if not expr.strip():
        raise BadRequest("expr is required: the query in PromQL")
    kinds = {"instant": _flag(properties, "instant"), "range": _flag(properties, "range")}
    if not any(kinds.values()):
        kinds["instant"] = query.query_type == "instant"
        # Older panels set neither flag.
        kinds["range"] = not kinds["instant"]
    start, end = _nanoseconds(time_range.start), _nanoseconds(time_range.end)
    given = _text(properties, "interval").strip()
    scrape = str(record.json_data.get("timeInterval") or "")
    wanted = int(_bounded(query.interval_ms) * steps.MILLISECOND)
    step = _step(query, given, scrape, wanted, end - start, _factor(properties))
    offset = int(_number(properties, "utcOffsetSec")) * steps.SECOND
    texts = _macros(end - start, step, _rate_interval(given, scrape, wanted or INTERVAL_MS * steps.MILLISECOND, step))
    return PrometheusQuery(
        expr=_MACRO.sub(lambda match: texts[match[1]], expr),
        step=step,
        start=steps.aligned(start, step, offset),
        end=steps.aligned(end, step, offset),
        at=end,
        is_instant=kinds["instant"],
        is_range=kinds["range"],
        legend=_text(properties, "legendFormat"),
        notices=("exemplars are not served; the query was run without them",) if _flag(properties, "exemplar") else (),
    )


def _step(query: SourceQuery, given: str, scrape: str, wanted: int, span: int, factor: int) -> int:
    variable = _variable(given)
    # Clients send 0s for an unset interval.
    chosen = "" if variable or given == "0s" else given
    by_default = wanted or (steps.interval(scrape) if scrape else steps.SCRAPE)
    least = steps.interval(chosen) if chosen else by_default
    if least <= 0:
        raise BadRequest(f"the interval {given[:40]!r} must be above zero")
    step = max(steps.step(span, least, int(_bounded(query.max_data_points))), steps.MILLISECOND)
    if variable == "rate_interval":
        return steps.rate_interval(step, steps.interval(scrape) if scrape else steps.SCRAPE)
    return step * factor


def _rate_interval(given: str, scrape: str, wanted: int, step: int) -> int:
    variable = _variable(given)
    if variable == "rate_interval":
        return step
    if variable == "interval":
        return steps.rate_interval(wanted, step)
    chosen = "" if variable else given
    text = chosen or scrape
    return steps.rate_interval(wanted, steps.interval(text) if text else steps.SCRAPE)


def _macros(span: int, step: int, rate: int) -> Mapping[str, str]:
    span_ms = span // steps.MILLISECOND
    # Half a second is rounded up, as in Grafana.
    span_s = (span_ms + 500) // 1000
    return {
        "interval": steps.brief(step),
        "interval_ms": str(step // steps.MILLISECOND),
        "range": f"{span_s}s",
        "range_s": str(span_s),
        "range_ms": str(span_ms),
        "rate_interval": steps.exact(rate),
        "rate_interval_ms": str(rate // steps.MILLISECOND),
    }


def _variable(given: str) -> str:
    match = _MACRO.fullmatch(given)
    return match[1] if match and match[1] in _VARIABLE else ""


def _metric(labels: Labels) -> str:
    """Return the series in Prometheus' notation; empty if it has neither name nor labels."""
    values = dict(labels.pairs)
    name = values.pop(_NAME, "")
    if not values:
        return name
    pairs = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return f"{name}{{{pairs}}}"


def _nanoseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1) * 1000


def _text(properties: Mapping[str, Any], name: str) -> str:
    value = properties.get(name)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"{name} must be text")
    return value or ""


def _flag(properties: Mapping[str, Any], name: str) -> bool:
    value = properties.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"{name} must be true or false")
    return bool(value)


def _number(properties: Mapping[str, Any], name: str) -> float:
    value = properties.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9:
        raise BadRequest(f"{name} must be a number")
    return value


def _bounded(value: float | None) -> float:
    """Return a client's number, limited to a plausible range."""
    return min(max(value or 0.0, 0.0), _MOST)


def _factor(properties: Mapping[str, Any]) -> int:
    return max(1, int(_number(properties, "intervalFactor")))
