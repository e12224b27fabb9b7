"""The start and end of a request's time range may have every format of times; invalid times and empty ranges are rejected."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import parse_time_range

NOW = datetime(2020, 3, 26, 15, 12, 56, tzinfo=UTC)


def utc_time(text: str) -> datetime:
    """Return an ISO date in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        # Now is 2020-03-26T15:12:56.
        ("now-6h", "now", ("2020-03-26T09:12:56", "2020-03-26T15:12:56")),
        ("5m", "now", ("2020-03-26T15:07:56", "2020-03-26T15:12:56")),
        ("now-3d", "now+3w", ("2020-03-23T15:12:56", "2020-04-16T15:12:56")),
        ("now-1M/M", "now-1M/M", ("2020-02-01T00:00:00", "2020-02-29T23:59:59.999")),
        ("now/w", "now/w", ("2020-03-23T00:00:00", "2020-03-29T23:59:59.999")),
        ("now/y", "now/d", ("2020-01-01T00:00:00", "2020-03-26T23:59:59.999")),
        ("now/h", "now/m", ("2020-03-26T15:00:00", "2020-03-26T15:12:59.999")),
        ("now-h", "now/s", ("2020-03-26T14:12:56", "2020-03-26T15:12:56.999")),
        ("now-1y-1d/d", "now", ("2019-03-25T00:00:00", "2020-03-26T15:12:56")),
        ("1474973725473", "1474975757930", ("2016-09-27T10:55:25.473", "2016-09-27T11:29:17.930")),
        ("-1000", "0", ("1969-12-31T23:59:59", "1970-01-01T00:00:00")),
        ("1960-02-01T07:00:00.000Z", "1965-02-03T08:00:00.000Z", ("1960-02-01T07:00:00", "1965-02-03T08:00:00")),
        ("2014", "2014-05", ("2014-01-01T00:00:00", "2014-05-01T00:00:00")),
        ("2014-05-30T20:21:35.123", "2014-05-30T22:00:00+00:00", ("2014-05-30T20:21:35.123", "2014-05-30T22:00:00")),
        ("2014-11-18||-2y", "2014-11-18||+3M", ("2012-11-18T00:00:00", "2015-02-18T00:00:00")),
        ("2014-11-19T14:27:32||/w", "2014-11-18T14:27||-10m+60s", ("2014-11-17T00:00:00", "2014-11-18T14:18:00")),
        ("2019-01-31||+1M", "now", ("2019-03-03T00:00:00", "2020-03-26T15:12:56")),
    ],
)
def test_times_are_read(start: str, end: str, expected: tuple[str, str]) -> None:
    """A time may be epoch milliseconds, a duration before now without ``now-``, ISO 8601 or date math.

    The end of a range is rounded up, to the last millisecond of the unit after ``/``.
    """
    time_range = parse_time_range(start, end, NOW)
    expected_start, expected_end = expected
    assert time_range.start == utc_time(expected_start)
    assert time_range.end == utc_time(expected_end)


@pytest.mark.parametrize("text", ["", "asdf", "now-", "now-6x", "now 6h", "now-6h/", "2014-13", "2014||x", "9" * 17, "now-99999y"])
def test_an_invalid_time_is_rejected(text: str) -> None:
    """An invalid time is rejected, and not read as the epoch. The error names the side of the range and the text."""
    with pytest.raises(BadRequest, match=r"from .* is not a time"):
        parse_time_range(text, "now", NOW)
    with pytest.raises(BadRequest, match=r"to .* is not a time"):
        parse_time_range("now", text, NOW)


def test_an_end_before_the_start_is_rejected() -> None:
    """An end before the start is an error: without an error, the result would be no data, without a reason."""
    with pytest.raises(BadRequest, match="range is empty"):
        parse_time_range("now", "now-1s", NOW)


def test_the_error_of_an_empty_range_explains_years() -> None:
    """The error for an empty range says that four digits are a year, since a client may mean ``1000`` as milliseconds."""
    with pytest.raises(BadRequest, match=r"from '0' is after to '1000'; four digits are a year"):
        parse_time_range("0", "1000", NOW)


@settings(deadline=None)
@given(st.text(max_size=20) | st.from_regex(r"(now|\d{1,20}|\d{4}-\d\d)?(\|\|)?([+-]?\d{0,8}[yMwdhms]|/[yMwdhms]){0,3}", fullmatch=True))
def test_any_text_is_a_time_or_a_bad_request(text: str) -> None:
    """Any text is a time or a BadRequest."""
    try:
        time_range = parse_time_range(text, text, NOW)
    except BadRequest:
        return
    assert time_range.start <= time_range.end
