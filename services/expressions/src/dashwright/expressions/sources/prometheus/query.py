"""Parsing of Prometheus queries: the step, the time range and the macros."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.codec import encode_strings
from dashwright.expressions.sources.prometheus import steps

#: Grafana's default of ``intervalMs``, the distance of two points.
DEFAULT_INTERVAL_MS: Final = 1000

_AUTO_LEGEND: Final = "__auto"
_NAME_LABEL: Final = "__name__"
_PLACEHOLDER: Final = re.compile(r"\{\{\s*(.+?)\s*\}\}")
_MACRO: Final = re.compile(r"\$\{?__(interval_ms|interval|range_ms|range_s|range|rate_interval_ms|rate_interval)\}?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: The maximum of an interval in milliseconds, and of a number of points, that a client requests.
_MAX_INTERVAL_OR_POINTS: Final = 1e12
#: The maximum of other numbers of a query.
_MAX_NUMBER: Final = 1e9
#: Macros that the query's member ``interval`` may consist of.
_INTERVAL_MACROS: Final = frozenset({"interval", "interval_ms", "rate_interval", "rate_interval_ms"})


@dataclass(frozen=True, slots=True)
class PrometheusQuery:
    """A query in the form that is sent to the server. Times are in nanoseconds."""

    expr: str
    step: int
    start: int  #: Rounded down to a multiple of the step.
    end: int  #: Rounded down to a multiple of the step.
    evaluation_time: int  #: The time of an instant query: the requested end, not rounded. 0 without an instant query.
    is_instant: bool
    is_range: bool
    legend: str  #: The ``legendFormat`` of the query.
    notices: tuple[str, ...] = ()

    @property
    def executed_query(self) -> str:
        """The description of the query that Grafana displays to users."""
        return f"Expr: {self.expr}\nStep: {steps.format_exact(self.step)}"

    def display_name(self, labels: Labels) -> str:
        """Return the name of a series by ``legendFormat``; empty if the client chooses the name."""
        if self.legend == _AUTO_LEGEND:
            return "" if labels.pairs else self.expr
        if not self.legend:
            return _format_metric(labels) or self.expr
        values = dict(labels.pairs)
        name = _PLACEHOLDER.sub(lambda match: values.get(match[1], ""), self.legend)
        # As in Grafana, empty braces are replaced by the query.
        return self.expr if name == "{}" else name

    def display_names(self, labels: LabelSets) -> Sequence[str]:
        """Return the names of series by ``legendFormat``, as ``display_name`` does for each."""
        # Label sets with different keys are not stored as columns.
        if not labels.keys:
            return [self.display_name(label_set) for label_set in labels]
        if self.legend == _AUTO_LEGEND:
            return [""] * len(labels)
        if not self.legend:
            return [name or self.expr for name in _format_metrics(labels)]
        columns = []

        def add_column(match: re.Match[str]) -> str:
            columns.append(labels.column(match[1]) or [""] * len(labels))
            return "%s"

        # Percent signs are doubled, since ``%s`` takes the place of each placeholder.
        template = _PLACEHOLDER.sub(add_column, self.legend.replace("%", "%%"))
        # Without placeholders, all series have the same name.
        if not columns:
            return [self.display_name(labels[0])] * len(labels)
        names = [template % row for row in zip(*columns, strict=True)]
        return [self.expr if name == "{}" else name for name in names]


def read_query(query: SourceQuery, time_range: TimeRange, record: SourceRecord) -> PrometheusQuery:
    """Return the Prometheus query for a query of a request. Raises BadRequest if it is invalid."""
    properties = query.model_extra or {}
    expr = _string(properties, "expr")
    if not expr.strip():
        raise BadRequest("expr is required: the query in PromQL")
    is_instant, is_range = _flag(properties, "instant"), _flag(properties, "range")
    if not is_instant and not is_range:
        # Older panels set neither flag.
        is_instant = query.query_type == "instant"
        is_range = not is_instant
    start, end = _nanoseconds(time_range.start), _nanoseconds(time_range.end)
    interval = _string(properties, "interval").strip()
    scrape_interval = str(record.json_data.get("timeInterval") or "")
    client_interval = int(_bounded(query.interval_ms) * steps.MILLISECOND)
    step = _step(query, interval, scrape_interval, client_interval, end - start, _interval_factor(properties))
    offset = int(_number(properties, "utcOffsetSec")) * steps.SECOND
    rate_interval = _rate_interval(interval, scrape_interval, client_interval or DEFAULT_INTERVAL_MS * steps.MILLISECOND, step)
    macros = _macros(end - start, step, rate_interval)
    return PrometheusQuery(
        expr=_MACRO.sub(lambda match: macros[match[1]], expr),
        step=step,
        start=steps.align(start, step, offset),
        end=steps.align(end, step, offset),
        evaluation_time=end if is_instant else 0,
        is_instant=is_instant,
        is_range=is_range,
        legend=_string(properties, "legendFormat"),
        notices=("exemplars are not supported; the query was run without them",) if _flag(properties, "exemplar") else (),
    )


def _step(query: SourceQuery, interval: str, scrape_interval: str, client_interval: int, range_length: int, factor: int) -> int:
    """Return the step in nanoseconds, by Grafana's rules.

    ``interval`` and ``scrape_interval`` are durations as users wrote them; all other durations are in nanoseconds. The
    minimum is the query's own interval, else the interval that the client computed, else the scrape interval.
    """
    macro = _interval_macro(interval)
    # Clients send 0s for an unset interval.
    has_interval = not macro and interval not in {"", "0s"}
    min_step = steps.parse_interval(interval) if has_interval else client_interval or _parse_scrape_interval(scrape_interval)
    if min_step <= 0:
        raise BadRequest(f"the interval {interval[:40]!r} must be above zero")
    step = max(steps.step(range_length, min_step, int(_bounded(query.max_data_points))), steps.MILLISECOND)
    return steps.rate_interval(step, _parse_scrape_interval(scrape_interval)) if macro == "rate_interval" else step * factor


def _rate_interval(interval: str, scrape_interval: str, client_interval: int, step: int) -> int:
    """Return the value of ``$__rate_interval`` in nanoseconds, by Grafana's rules for the macro that ``interval`` may be."""
    macro = _interval_macro(interval)
    if macro == "rate_interval":
        return step
    if macro == "interval":
        return steps.rate_interval(client_interval, step)
    # A duration in ``interval`` takes the place of the scrape interval.
    written_duration = "" if macro else interval
    return steps.rate_interval(client_interval, _parse_scrape_interval(written_duration or scrape_interval))


def _parse_scrape_interval(scrape_interval: str) -> int:
    return steps.parse_interval(scrape_interval) if scrape_interval else steps.DEFAULT_SCRAPE_INTERVAL


def _macros(range_length: int, step: int, rate_interval: int) -> Mapping[str, str]:
    """Return the text that replaces each macro, from durations in nanoseconds."""
    range_ms = range_length // steps.MILLISECOND
    # Half a second is rounded up, as in Grafana.
    range_s = (range_ms + 500) // 1000
    return {
        "interval": steps.format_brief(step),
        "interval_ms": str(step // steps.MILLISECOND),
        "range": f"{range_s}s",
        "range_s": str(range_s),
        "range_ms": str(range_ms),
        "rate_interval": steps.format_exact(rate_interval),
        "rate_interval_ms": str(rate_interval // steps.MILLISECOND),
    }


def _interval_macro(interval: str) -> str:
    """Return the name of the macro that an interval consists of, else an empty string."""
    match = _MACRO.fullmatch(interval)
    return match[1] if match and match[1] in _INTERVAL_MACROS else ""


def _format_metric(labels: Labels) -> str:
    """Return labels in Prometheus' notation, such as ``up{job="a"}``; empty for no labels."""
    values = dict(labels.pairs)
    name = values.pop(_NAME_LABEL, "")
    if not values:
        return name
    pairs = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return f"{name}{{{pairs}}}"


def _format_metrics(labels: LabelSets) -> Sequence[str]:
    """Return label sets with the same keys in Prometheus' notation."""
    names = labels.column(_NAME_LABEL) or [""] * len(labels)
    keys = [key for key in labels.keys if key != _NAME_LABEL]
    if not keys:
        return names
    template = "%s{" + ", ".join([key.replace("%", "%%") + '="%s"' for key in keys]) + "}"
    columns = [[value.decode() for value in encode_strings(labels.column(key) or ())] for key in keys]
    return [template % row for row in zip(names, *columns, strict=True)]


def _nanoseconds(instant: datetime) -> int:
    return (instant - _EPOCH) // timedelta(microseconds=1) * 1000


def _string(properties: Mapping[str, Any], name: str) -> str:
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MAX_NUMBER:
        raise BadRequest(f"{name} must be a number")
    return value


def _bounded(value: float | None) -> float:
    """Return an interval or number of points of the client, limited to its bounds; None counts as 0."""
    return min(max(value or 0.0, 0.0), _MAX_INTERVAL_OR_POINTS)


def _interval_factor(properties: Mapping[str, Any]) -> int:
    return max(1, int(_number(properties, "intervalFactor")))
