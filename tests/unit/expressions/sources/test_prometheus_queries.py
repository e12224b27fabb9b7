"""Queries to Prometheus have the same steps, ranges and macros as in Grafana."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.sources.records import source_record

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus import steps
from dashwright.expressions.sources.prometheus.query import PrometheusQuery, read_query

START = datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)
SECOND = steps.SECOND


def prometheus_query(span: timedelta = timedelta(hours=1), *, scrape: str = "15s", **query: Any) -> PrometheusQuery:
    """Return a query of a panel as it is sent to a data source with a scrape interval, for a range of a length."""
    source_query = SourceQuery.model_validate({"refId": "A", "datasource": {"uid": "prom"}, "expr": "up", **query})
    record = source_record("http://x", json_data={"timeInterval": scrape})
    return read_query(source_query, TimeRange(START, START + span), record)


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("span", "scrape", "query", "seconds"),
    [
        # The larger of ``interval`` and the rounded quotient of the range and ``maxDataPoints``.
        (2 * DAY, "", {"interval": "10m", "intervalMs": 300_000, "maxDataPoints": 761}, 600),
        (2 * DAY, "", {"interval": "2m", "intervalMs": 300_000, "maxDataPoints": 761}, 300),
        (2 * DAY, "", {"interval": "2m", "intervalMs": 900_000, "maxDataPoints": 175}, 900),
        # Without ``maxDataPoints``, the range is divided into 1,500 points, and the quotient is rounded.
        (12 * HOUR, "15s", {}, 30),
        (HOUR, "15s", {}, 15),
        (2 * DAY, "15s", {"intervalFactor": 10}, 1200),
        (2 * DAY, "15s", {"intervalFactor": 1}, 120),
        (2 * DAY, "240s", {}, 240),
        (2 * DAY, "15s", {"interval": "$__interval", "intervalMs": 60_000}, 120),
        (2 * DAY, "15s", {"interval": "${__interval}", "intervalMs": 60_000}, 120),
        (2 * DAY, "15s", {"interval": "1m", "intervalMs": 60_000}, 120),
        # ``$__rate_interval`` is the step plus the scrape interval, and at least four scrape intervals.
        (2 * DAY, "30s", {"interval": "$__rate_interval", "intervalMs": 100_000, "maxDataPoints": 12_384}, 130),
        (HOUR, "30s", {"interval": "$__rate_interval", "intervalMs": 30_000, "maxDataPoints": 12_384}, 120),
        (2 * DAY, "30s", {"interval": "$__rate_interval", "intervalMs": 120_000, "maxDataPoints": 12_384}, 150),
        (2 * DAY, "30s", {"interval": "150s", "intervalMs": 100_000, "maxDataPoints": 12_384}, 150),
        (30 * DAY, "15s", {}, 1800),
        (HOUR, "15s", {"maxDataPoints": 10}, 300),
        (HOUR, "", {}, 15),
        (HOUR, "15s", {"interval": "0s", "intervalMs": 15_000}, 15),
        (HOUR, "15", {"interval": ">30s"}, 30),
        (HOUR, "15s", {"intervalMs": 1}, 2),
    ],
)
def test_the_step_is_that_of_saved_panels(span: timedelta, scrape: str, query: dict[str, Any], seconds: int) -> None:
    """The step, in seconds, has a minimum from the query, the panel or the data source, and is longer for long ranges and few points."""
    assert prometheus_query(span, scrape=scrape, **query).step == seconds * SECOND


@given(st.integers(0, 10 * 366 * 86_400 * 10**9), st.integers(1, 10**9), st.integers(0, 50_000))
def test_the_step_respects_the_limit_of_points(span: int, minimum: int, points: int) -> None:
    """A query has at most 11,000 points per series, which is the limit of Prometheus.

    Its step is not below the minimum by more than rounding.
    """
    step = steps.step(span, minimum, points)
    for start in (0, 1, step - 1):
        first, last = steps.align(start, step), steps.align(start + span, step)
        assert (last - first) // step <= 11_000
    assert step >= min(minimum, steps.round_duration(minimum))


@pytest.mark.parametrize(
    ("length", "short", "exact"),
    [
        (15, "15s", "15s"),
        (60, "1m", "1m0s"),
        (90, "1m", "1m30s"),
        (135, "2m", "2m15s"),
        (1200, "20m", "20m0s"),
        (3600, "1h", "1h0m0s"),
        (86_400 * 400, "1y", "9600h0m0s"),
        (0.2, "200ms", "200ms"),
        (1.5, "1s", "1.5s"),
        (0.0001, "1ms", "0.1ms"),
    ],
)
def test_durations_are_written_in_two_ways(length: float, short: str, exact: str) -> None:
    """``$__interval`` is rounded down to one unit, but not below 1 ms. ``$__rate_interval`` is exact."""
    nanoseconds = round(length * SECOND)
    assert steps.format_brief(nanoseconds) == short
    assert steps.format_exact(nanoseconds) == exact


@pytest.mark.parametrize(
    ("expr", "query", "expected"),
    [
        ("rate(x[$__interval])", {"intervalMs": 60_000}, "rate(x[2m])"),
        ("rate(x[${__interval}]) + $__interval_ms", {"intervalMs": 60_000}, "rate(x[2m]) + 120000"),
        ("x[$__range]", {}, "x[172800s]"),
        ("x[${__range_s}s] $__range_ms", {}, "x[172800s] 172800000"),
        ("rate(x[$__rate_interval])", {"interval": "5m"}, "rate(x[20m0s])"),
        ("rate(x[$__rate_interval])", {"intervalMs": 120_000}, "rate(x[2m15s])"),
        ("$__rate_interval_ms", {"intervalMs": 120_000}, "135000"),
        ("rate(x[$__rate_interval])", {"interval": "$__rate_interval", "intervalMs": 120_000}, "rate(x[2m15s])"),
        ("$__intervals $__other $interval", {"intervalMs": 60_000}, "2ms $__other $interval"),
    ],
)
def test_macros_are_replaced(expr: str, query: dict[str, Any], expected: str) -> None:
    """Macros are replaced with and without braces; other text is unchanged."""
    assert prometheus_query(2 * DAY, expr=expr, **query).expr == expected


def test_ranges_begin_and_end_on_their_step() -> None:
    """Both ends of a range are rounded down to its step in the time zone of the client. An instant is unchanged."""
    # The range begins 7 seconds after a full minute.
    query_of_range = prometheus_query(HOUR, interval="1m")
    assert query_of_range.start % (60 * SECOND) == 0
    assert query_of_range.end % (60 * SECOND) == 0
    assert steps.format_seconds(query_of_range.start) == "1767225600"
    assert steps.format_seconds(prometheus_query(HOUR, interval="1m", instant=True).evaluation_time) == "1767229207"
    # A day begins at 23:00 UTC in a zone that is one hour ahead.
    daily = prometheus_query(10 * DAY, interval="1d", utcOffsetSec=3600)
    assert daily.start % (86_400 * SECOND) == 23 * 3600 * SECOND


@given(st.integers(-(10**18), 10**18), st.integers(1, 10**15), st.integers(-86_400, 86_400))
def test_alignment_subtracts_less_than_a_step(instant: int, width: int, offset: int) -> None:
    """Alignment subtracts less than a step. An aligned time is unchanged."""
    aligned = steps.align(instant, width, offset * SECOND)
    assert 0 <= instant - aligned < width
    assert steps.align(aligned, width, offset * SECOND) == aligned


@given(st.integers(-(10**18), 10**18))
def test_times_are_written_exactly(instant: int) -> None:
    """Times are written exactly: in decimal seconds, without zeros at the end."""
    text = steps.format_seconds(instant)
    assert Decimal(text) * SECOND == instant
    _, _, fraction = text.partition(".")
    assert not fraction.endswith("0")


@pytest.mark.parametrize(
    ("query", "is_instant", "is_range"),
    [
        ({}, False, True),
        ({"instant": True}, True, False),
        ({"instant": True, "range": True}, True, True),
        ({"queryType": "instant"}, True, False),
        ({"queryType": "instant", "range": True}, False, True),
    ],
)
def test_a_query_is_for_a_range_by_default(query: dict[str, Any], is_instant: bool, is_range: bool) -> None:
    """The members ``instant`` and ``range`` decide the kind of a query. Without them, ``queryType`` decides, by default for a range."""
    result = prometheus_query(**query)
    assert result.is_instant == is_instant
    assert result.is_range == is_range


@pytest.mark.parametrize(
    ("legend", "labels", "name"),
    [
        ("", {"__name__": "up", "job": "a", "b": 'x"y'}, 'up{b="x\\"y", job="a"}'),
        ("", {"__name__": "up"}, "up"),
        ("", {"job": "a"}, '{job="a"}'),
        ("", {}, "up"),
        ("__auto", {"job": "a"}, ""),
        ("__auto", {}, "up"),
        ("{{job}} on {{ host }}{{gone}}", {"job": "a", "host": "h"}, "a on h"),
        ("{}", {}, "up"),
    ],
)
def test_series_are_named_by_their_legend(legend: str, labels: dict[str, str], name: str) -> None:
    """Series are named by their legend, or as Prometheus writes them, or by the query."""
    assert prometheus_query(legendFormat=legend).display_name(Labels.of(labels)) == name


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"expr": " "}, "expr is required"),
        ({"expr": 7}, "expr must be text"),
        ({"instant": "yes"}, "instant must be true or false"),
        ({"interval": "soon"}, "soon"),
        ({"interval": "-5s"}, "must be above zero"),
        ({"intervalFactor": "x"}, "intervalFactor must be a number"),
        ({"utcOffsetSec": 1e300}, "utcOffsetSec must be a number"),
    ],
)
def test_an_invalid_query_is_an_error(query: dict[str, Any], message: str) -> None:
    """The error of an invalid query names the invalid property."""
    with pytest.raises(BadRequest, match=message):
        prometheus_query(**query)


@pytest.mark.parametrize("number", [-1, 0, 1e300, 0.1])
def test_any_numbers_of_clients_give_a_valid_step(number: float) -> None:
    """Any numbers of clients result in a valid step."""
    result = prometheus_query(intervalMs=number, maxDataPoints=number)
    assert result.step >= steps.MILLISECOND
    assert result.end - result.start <= result.step * 11_000
