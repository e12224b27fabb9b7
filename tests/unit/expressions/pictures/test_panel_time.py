"""Laws of time ranges that panels set themselves."""

from datetime import UTC, datetime, timedelta

import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.dashboard import read_dashboard
from dashwright.expressions.pictures.outcomes import PanelOutcome, State
from dashwright.expressions.pictures.panel_time import TimeOverride, panel_time

NOW = datetime(2024, 5, 10, 12, 30, tzinfo=UTC)
RANGE = TimeRange(NOW - timedelta(hours=6), NOW)


@pytest.mark.parametrize(
    ("length", "shift", "start", "end", "text"),
    [
        ("", "", "10 06:30", "10 12:30", ""),
        ("2h", "", "10 10:30", "10 12:30", "Last 2 hours"),
        ("now-1d", "", "09 12:30", "10 12:30", "Last 1 day"),
        ("1d/d", "", "09 00:00", "10 12:30", "1d/d"),
        ("now/d", "", "10 00:00", "10 23:59", "now/d"),
        ("", "1d", "09 06:30", "09 12:30", "timeshift -1d"),
        ("2h", "1w", "03 10:30", "03 12:30", "Last 2 hours timeshift -1w"),
    ],
)
def test_a_panel_replaces_and_moves_the_range(length: str, shift: str, start: str, end: str, text: str) -> None:
    found = panel_time(TimeOverride(length, shift), RANGE, NOW, is_relative=True)
    assert (f"{found.range.start:%d %H:%M}", f"{found.range.end:%d %H:%M}", found.text) == (start, end, text)


def test_a_fixed_range_is_moved_but_not_replaced() -> None:
    found = panel_time(TimeOverride("2h", "1d"), RANGE, NOW, is_relative=False)
    assert found.range.end - found.range.start == timedelta(hours=6)
    assert found.text == "timeshift -1d"


def test_the_text_may_be_hidden() -> None:
    assert panel_time(TimeOverride("2h", is_hidden=True), RANGE, NOW, is_relative=True).text == ""


@pytest.mark.parametrize("override", [TimeOverride("soon"), TimeOverride(shift="-"), TimeOverride("9" * 50 + "y")])
def test_what_is_no_duration_is_refused(override: TimeOverride) -> None:
    with pytest.raises(BadRequest, match="which is not a duration"):
        panel_time(override, RANGE, NOW, is_relative=True)


def test_panels_and_elements_have_the_settings() -> None:
    settings = {"timeFrom": "2h", "timeShift": "1d", "hideTimeOverride": True}
    element = {"kind": "Panel", "spec": {"id": 1, "data": {"spec": {"queryOptions": settings}}, "vizConfig": {"group": "stat"}}}
    item = {"kind": "GridLayoutItem", "spec": {"element": {"kind": "ElementReference", "name": "a"}, "width": 12, "height": 8}}
    specs = [
        {"panels": [{"type": "stat", **settings}]},
        {"elements": {"a": element}, "layout": {"kind": "GridLayout", "spec": {"items": [item]}}},
    ]
    assert [read_dashboard(spec).panels[0].time for spec in specs] == [TimeOverride("2h", "1d", is_hidden=True)] * 2


def test_the_heading_shows_the_range_before_the_message() -> None:
    assert PanelOutcome("", State.PARTIAL, "incomplete", time_text="Last 1 day").note == "Last 1 day; incomplete"
    assert PanelOutcome("", State.NO_DATA, "No data", is_message=True, time_text="Last 1 day").note == "Last 1 day"
