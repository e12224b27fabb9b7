"""Times in date math are anchors with steps and rounding. Invalid times are rejected, and business days equal a plain loop."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import parse_time_range

# A Thursday. Business days depend on the day of the week.
NOW = datetime(2020, 3, 26, 15, 12, 56, tzinfo=UTC)

INSTANTS = st.integers(0, 4_102_444_800_000).map(
    lambda milliseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
)


def parse_start(text: str, now: datetime = NOW) -> datetime:
    """Return a text as the start of a time range."""
    return parse_time_range(text, "9999-12-31T23:59:59.999Z", now).start


def parse_end(text: str, now: datetime = NOW) -> datetime:
    """Return a text as the end of a time range."""
    return parse_time_range("0001-01-01", text, now).end


def utc_time(text: str) -> datetime:
    """Return an ISO date in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ISO dates.
        ("2014-05-30T20", "2014-05-30T20:00:00"),
        ("2014-05-30T20:21", "2014-05-30T20:21:00"),
        ("2014-05-30T20:21:35.123456789Z", "2014-05-30T20:21:35.123456"),
        ("2014-05-30T20:21:35+05:30", "2014-05-30T14:51:35"),
        ("2014-05-30T20:21:35-08", "2014-05-31T04:21:35"),
        # Steps from an ISO date.
        ("2014-05||+1M/M", "2014-06-01T00:00:00"),
        ("2014||-1s", "2013-12-31T23:59:59"),
        ("2020-02-29||+1y", "2021-03-01T00:00:00"),
        # Durations before now, which is 2020-03-26T15:12:56.
        ("1h30m", "2020-03-26T13:42:56"),
        ("1.5h", "2020-03-26T13:42:56"),
        ("250ms", "2020-03-26T15:12:55.750"),
        ("1M", "2020-02-26T15:12:56"),
        # Steps from now.
        ("now-2H", "2020-03-26T13:12:56"),
        ("now-1Q", "2019-12-26T15:12:56"),
        ("now+fQ", "2020-06-26T15:12:56"),
        ("now-2fy/fy", "2018-01-01T00:00:00"),
        ("now-4b", "2020-03-20T15:12:56"),
        ("now+2b", "2020-03-30T15:12:56"),
        ("2020-03-28||+5b", "2020-04-03T00:00:00"),
        ("2020-03-28||-1b", "2020-03-27T00:00:00"),
        ("now/d+8h-1d/h", "2020-03-25T08:00:00"),
        ("  now-1d  ", "2020-03-25T15:12:56"),
    ],
)
def test_every_anchor_and_unit_is_read(text: str, expected: str) -> None:
    """ISO dates of any length, durations, and chained steps in every unit are read. ``f`` is a fiscal unit, and ``b`` a business day."""
    assert parse_start(text) == utc_time(expected)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now/Q", "2020-01-01T00:00:00", "2020-03-31T23:59:59.999"),
        ("now/fQ", "2020-01-01T00:00:00", "2020-03-31T23:59:59.999"),
        ("now/fy", "2020-01-01T00:00:00", "2020-12-31T23:59:59.999"),
        ("now/H", "2020-03-26T15:00:00", "2020-03-26T15:59:59.999"),
        ("2020-12-31||/Q", "2020-10-01T00:00:00", "2020-12-31T23:59:59.999"),
    ],
)
def test_a_rounded_range_covers_the_complete_unit(text: str, first: str, last: str) -> None:
    """``from`` is rounded down to the first millisecond of the unit, and ``to`` up to its last one."""
    assert parse_start(text) == utc_time(first)
    assert parse_end(text) == utc_time(last)


@pytest.mark.parametrize(
    "text",
    ["now/b", "now/2d", "now-1ms", "5b", "5Q", "now-1.5h", "-5m", "5 m", "now||-1d", "2014-1-1", "2014-02-30", "now-1D", "\u0665m", "1.5M"],
)
def test_invalid_times_are_rejected(text: str) -> None:
    """A text that resembles a time is an error in ``from`` and ``to``, and is not read as another time."""
    with pytest.raises(BadRequest) as error:
        parse_time_range(text, text, NOW)
    assert [cause.field for cause in error.value.causes] == ["from", "to"]


@given(INSTANTS, st.sampled_from("yMwdhHmsQ") | st.sampled_from(["fy", "fQ"]))
def test_rounded_units_are_contiguous(now: datetime, unit: str) -> None:
    """A rounded unit starts at or before the instant and ends at or after it. The next unit starts a millisecond after its end."""
    first, last = parse_start(f"now/{unit}", now), parse_end(f"now/{unit}", now)
    assert first <= now <= last
    assert parse_start(f"now+1{unit}/{unit}", first) == last + timedelta(milliseconds=1)


@given(INSTANTS, st.integers(-40, 40))
def test_business_days_are_counted_one_by_one(now: datetime, count: int) -> None:
    """A step of many business days equals as many steps of one business day, which skip Saturdays and Sundays."""
    expected, day = now, timedelta(days=1 if count > 0 else -1)
    for _ in range(abs(count)):
        expected += day
        while expected.weekday() >= 5:
            expected += day
    assert parse_start(f"now{count:+}b", now) == expected


# Valid steps and anchors, among them those at the ends of the calendar.
STEPS = st.lists(st.from_regex(r"[+-]\d{0,7}(f?[yQ]|[MwdhHmsb])|/(f?[yQ]|[MwdhHms])", fullmatch=True), max_size=4).map("".join)
ANCHORS = st.sampled_from(["now", "2014||", "9999-12-31||", "0001-01-01||", "2020-02-29T23:59:59.999+14:00||", ""])


@settings(max_examples=400, deadline=None)
@given(ANCHORS, STEPS, st.text(max_size=3))
def test_any_text_is_a_time_range_or_an_invalid_field(anchor: str, steps: str, suffix: str) -> None:
    """Any text is a time range, or a BadRequest that names ``from`` or ``to``. Times beyond the calendar are invalid, too."""
    for text in (anchor + steps, anchor + steps + suffix, steps + anchor):
        try:
            time_range = parse_time_range(text, text, NOW)
        except BadRequest as error:
            reported_fields = {cause.field for cause in error.causes}
            assert reported_fields
            assert reported_fields <= {"from", "to"}
        else:
            assert time_range.start <= time_range.end
