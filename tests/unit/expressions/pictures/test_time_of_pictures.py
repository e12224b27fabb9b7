"""Time ranges and time zones of pictures: from the URL, else from the dashboard."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dashwright.common.errors import BadRequest
from dashwright.common.models.pictures import PictureOptions
from dashwright.expressions.pictures.zones import PictureTime, picture_time

#: A Wednesday.
NOW = datetime(2024, 1, 17, 12, tzinfo=UTC)
#: Half past two in summer time in Berlin, half an hour before the clocks are set back to two o'clock.
BEFORE_CLOCKS_ARE_SET_BACK = datetime(2024, 10, 27, 0, 30, tzinfo=UTC)


def time_of(spec: dict[str, Any], **options: str) -> PictureTime:
    """Return the time of the picture of a dashboard, with options from the URL."""
    return picture_time(spec, PictureOptions.model_validate(options), NOW)


def range_texts(time: PictureTime) -> tuple[str, str]:
    """Return the start and the end of the range, in the zone of the picture."""
    return time.range.start.isoformat(), time.range.end.isoformat(timespec="seconds")


BOARD = {"time": {"from": "now-2h", "to": "now-1h"}, "timezone": "America/New_York", "weekStart": "monday"}


def test_the_dashboard_has_a_range_and_a_zone() -> None:
    """A picture has the range and zone of its dashboard, in either schema; the default is the last six hours in UTC."""
    assert range_texts(time_of(BOARD)) == ("2024-01-17T05:00:00-05:00", "2024-01-17T06:00:00-05:00")
    assert range_texts(time_of({})) == ("2024-01-17T06:00:00+00:00", "2024-01-17T12:00:00+00:00")
    elements = {"elements": {}, "timeSettings": {"from": "now-1h", "to": "now", "timezone": "Asia/Tokyo"}}
    assert range_texts(time_of(elements)) == ("2024-01-17T20:00:00+09:00", "2024-01-17T21:00:00+09:00")


def test_the_url_comes_first() -> None:
    """The range and the zone of the URL replace those of the dashboard."""
    assert range_texts(time_of(BOARD, **{"from": "20240115", "to": "20240115T103000", "timezone": "utc"})) == (
        "2024-01-15T00:00:00+00:00",
        "2024-01-15T10:30:00+00:00",
    )
    assert time_of(BOARD, timezone="Europe/Berlin").zone_name == "Europe/Berlin"


def test_days_and_weeks_begin_in_the_zone() -> None:
    """A day begins at midnight in the zone of the dashboard. A week begins on Sunday unless the dashboard has another day."""
    today = {"from": "now/d", "to": "now/d"}
    assert range_texts(time_of(BOARD, **today)) == ("2024-01-17T00:00:00-05:00", "2024-01-17T23:59:59-05:00")
    week = {"from": "now/w", "to": "now"}
    monday, sunday = "2024-01-15T00:00:00-05:00", "2024-01-14T00:00:00+00:00"
    assert range_texts(time_of(BOARD, **week))[0] == monday
    assert range_texts(time_of({}, **week))[0] == sunday


def test_an_unknown_zone_is_an_error_only_in_the_url() -> None:
    """An unknown zone of a dashboard is UTC. One in the URL is an error that names it."""
    with pytest.raises(BadRequest, match="'Mars', which is not a time zone"):
        time_of(BOARD, timezone="Mars")
    assert time_of({"timezone": "Mars"}).zone_name == "UTC"


@pytest.mark.parametrize(
    ("month", "text", "expected"),
    [
        (3, "now/fy", ("2023-04-01T00:00:00+01:00", "2024-03-31T23:59:59+01:00")),
        (3, "now/fQ", ("2024-01-01T00:00:00+00:00", "2024-03-31T23:59:59+01:00")),
        (1, "now/fQ", ("2023-11-01T00:00:00+00:00", "2024-01-31T23:59:59+00:00")),
        (11, "now-1fy/fy", ("2022-12-01T00:00:00+00:00", "2023-11-30T23:59:59+00:00")),
        (12, "now/fy", ("2024-01-01T00:00:00+00:00", "2024-12-31T23:59:59+00:00")),
    ],
)
def test_fiscal_years_begin_in_a_month_of_the_dashboard(month: int, text: str, expected: tuple[str, str]) -> None:
    """The number of the month is 0 for January, as in Grafana. A month that does not exist is January, too."""
    spec = {"fiscalYearStartMonth": month, "timezone": "Europe/London"}
    assert range_texts(time_of(spec, **{"from": text, "to": text})) == expected


def test_rounded_hours_end_where_clocks_are_set_back() -> None:
    """The hour before the clocks are set back ends at 02:59:59 in summer time, although a second hour from two to three follows it."""
    this_hour = PictureOptions.model_validate({"from": "now/h", "to": "now/h"})
    time = picture_time({"timezone": "Europe/Berlin"}, this_hour, BEFORE_CLOCKS_ARE_SET_BACK)
    assert range_texts(time) == ("2024-10-27T02:00:00+02:00", "2024-10-27T02:59:59+02:00")
