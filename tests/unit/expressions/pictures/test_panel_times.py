"""Time ranges of panels that differ from that of the dashboard."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dashwright.common.models.pictures import PictureOptions
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.zones import picture_time
from dashwright.expressions.variables.resolution import Resolution
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import Value

#: A Wednesday.
NOW = datetime(2025, 5, 14, 9, 30, tzinfo=UTC)


def range_and_note(panel: dict[str, Any], **options: str) -> tuple[str, str, str] | None:
    """Return the start, the end and the note of a panel's own range, or None if it has the range of the dashboard.

    The dashboard has the last 6 hours, unless ``options`` name another range. Its fiscal year starts in April.
    """
    spec = {"panels": [{"id": 1, "type": "stat", **panel}], "fiscalYearStartMonth": 3}
    time = picture_time(spec, PictureOptions.model_validate({"from": "now-6h", "to": "now", **options}), NOW)
    scope = Scope({"span": Value(("2d",), ("2d",))})
    (panel_read,) = read_dashboard(spec, Resolution(scope), time=time).panels
    if panel_read.time is None:
        return None
    start, end = (f"{instant:%m-%d %H:%M:%S}" for instant in (panel_read.time.range.start, panel_read.time.range.end))
    return start, end, panel_read.time.note


@pytest.mark.parametrize(
    ("panel", "expected"),
    [
        ({}, None),
        ({"timeFrom": "1h"}, ("05-14 08:30:00", "05-14 09:30:00", "Last 1 hour")),
        ({"timeFrom": "now-3d"}, ("05-11 09:30:00", "05-14 09:30:00", "Last 3 days")),
        ({"timeFrom": "now/d"}, ("05-14 00:00:00", "05-14 09:30:00", "Today so far")),
        ({"timeFrom": "now/fy"}, ("04-01 00:00:00", "05-14 09:30:00", "This fiscal year so far")),
        ({"timeFrom": "+2h"}, ("05-14 09:30:00", "05-14 11:30:00", "Next 2 hours")),
        ({"timeFrom": "$span"}, ("05-12 09:30:00", "05-14 09:30:00", "Last 2 days")),
        ({"timeShift": "1w"}, ("05-07 03:30:00", "05-07 09:30:00", "Timeshift -1w")),
        ({"timeFrom": "1h", "timeShift": "1d"}, ("05-13 08:30:00", "05-13 09:30:00", "Last 1 hour, timeshift -1d")),
        ({"timeFrom": "1h", "timeShift": "0d/d"}, ("05-14 00:00:00", "05-14 23:59:59", "Last 1 hour, timeshift -0d/d")),
        ({"timeFrom": "1h", "hideTimeOverride": True}, ("05-14 08:30:00", "05-14 09:30:00", "")),
        ({"timeFrom": "soon"}, ("05-14 03:30:00", "05-14 09:30:00", "invalid time override 'soon'")),
        ({"timeShift": "1x"}, ("05-14 03:30:00", "05-14 09:30:00", "invalid timeshift '1x'")),
        ({"timeFrom": "999999999y"}, ("05-14 03:30:00", "05-14 09:30:00", "invalid time override '999999999y'")),
    ],
)
def test_panels_have_ranges_of_their_own(panel: dict[str, Any], expected: tuple[str, str, str] | None) -> None:
    """``timeFrom`` names the range of a panel, and ``timeShift`` moves it. A note describes both, unless ``hideTimeOverride`` is set."""
    assert range_and_note(panel) == expected


def test_an_absolute_range_is_kept_but_moved() -> None:
    """If the dashboard has an absolute range, ``timeFrom`` has no effect, and ``timeShift`` moves the range."""
    absolute = {"from": "2025-01-10T00:00:00Z", "to": "2025-01-11T00:00:00Z"}
    # ``timeFrom`` has no effect, so the range has no note.
    assert range_and_note({"timeFrom": "1h"}, **absolute) == ("01-10 00:00:00", "01-11 00:00:00", "")
    assert range_and_note({"timeFrom": "1h", "timeShift": "2d"}, **absolute) == ("01-08 00:00:00", "01-09 00:00:00", "Timeshift -2d")


def test_the_variables_of_the_range_are_those_of_the_panel() -> None:
    """``$__from`` in the query of a panel is the start of the panel's own range."""
    target = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource", "uid": "t"}, "stringInput": "$__from"}
    spec = {"panels": [{"id": 1, "type": "stat", "timeFrom": "1h", "targets": [target]}]}
    time = picture_time(spec, PictureOptions.model_validate({}), NOW)
    (panel,) = read_dashboard(spec, time=time).panels
    one_hour_ago = datetime(2025, 5, 14, 8, 30, tzinfo=UTC)
    assert panel.targets[0]["stringInput"] == str(round(one_hour_ago.timestamp() * 1000))
