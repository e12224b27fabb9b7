"""Settings of classic dashboards after the conversion to v2, the format that stores panels as elements."""

from typing import Any

import pytest

from dashwright.common.conversion.classic_to_elements import classic_to_elements
from dashwright.common.conversion.context import EMPTY_CONTEXT
from dashwright.common.conversion.failures import ConversionFailed

# The expected value of a member that the converted dashboard does not have.
ABSENT = object()


@pytest.mark.parametrize(
    ("members", "name", "expected"),
    [
        ({}, "title", ""),
        ({"title": "Ovens"}, "title", "Ovens"),
        ({"title": None}, "title", ""),
        ({"description": "of the bakery"}, "description", "of the bakery"),
        ({"description": ""}, "description", ABSENT),
        ({"tags": ["a", 1, None, "b"]}, "tags", ["a", "b"]),
        ({"tags": "a"}, "tags", []),
        ({}, "cursorSync", "Off"),
        ({"graphTooltip": 1}, "cursorSync", "Crosshair"),
        ({"graphTooltip": 2.0}, "cursorSync", "Tooltip"),
        ({"graphTooltip": "2"}, "cursorSync", "Tooltip"),
        ({"graphTooltip": 3}, "cursorSync", "Off"),
        ({"graphTooltip": True}, "cursorSync", "Off"),
        ({}, "editable", True),
        ({"editable": False}, "editable", False),
        ({"editable": 0}, "editable", True),
        ({}, "liveNow", False),
        ({"liveNow": True}, "liveNow", True),
        ({}, "preload", False),
        ({"preload": True}, "preload", True),
        ({"revision": 7}, "revision", 7),
        ({"revision": 65536}, "revision", ABSENT),
        ({"revision": "7"}, "revision", ABSENT),
        ({}, "annotations", []),
        ({}, "variables", []),
        ({"dashboard": {"title": "Wrapped"}, "title": "Wrapper"}, "title", "Wrapped"),
    ],
)
def test_settings_have_their_types_or_defaults(members: dict[str, Any], name: str, expected: Any) -> None:
    """A setting with a valid value is kept, and any other value is replaced by the default or left out.

    The member ``dashboard`` is the wrapper of exports, which contains the dashboard itself.
    """
    assert classic_to_elements(members, EMPTY_CONTEXT).get(name, ABSENT) == expected


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"time": {"from": "now-1h", "to": "now-5m"}}, {"from": "now-1h", "to": "now-5m"}),
        ({"time": {"from": "", "to": 5}}, {"from": "now-6h", "to": "now"}),
        ({"time": "now-1h"}, {"from": "now-6h", "to": "now"}),
        ({"timezone": ""}, {"timezone": ""}),
        ({}, {"timezone": "browser"}),
        ({"refresh": "30s"}, {"autoRefresh": "30s"}),
        ({"refresh": False}, {"autoRefresh": ""}),
        ({"fiscalYearStartMonth": 3}, {"fiscalYearStartMonth": 3}),
        ({"weekStart": "monday"}, {"weekStart": "monday"}),
        ({"weekStart": ""}, {"weekStart": ABSENT}),
        ({"timepicker": {"refresh_intervals": ["1s", 2]}}, {"autoRefreshIntervals": ["1s"]}),
        (
            {"timepicker": {"refresh_intervals": []}},
            {"autoRefreshIntervals": ["5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d"]},
        ),
        ({"timepicker": {"hidden": True, "nowDelay": "1m"}}, {"hideTimepicker": True, "nowDelay": "1m"}),
        ({"timepicker": {"nowDelay": ""}}, {"hideTimepicker": False, "nowDelay": ABSENT}),
        (
            {"timepicker": {"quick_ranges": [{"display": "Shift", "from": "now-8h", "to": "now"}, 1, {}]}},
            {"quickRanges": [{"display": "Shift", "from": "now-8h", "to": "now"}, {"display": "", "from": "", "to": ""}]},
        ),
        ({"timepicker": {"quick_ranges": []}}, {"quickRanges": ABSENT}),
    ],
)
def test_time_settings_are_gathered(members: dict[str, Any], expected: dict[str, Any]) -> None:
    """Time range, time zone, refresh and time picker become members of the time settings."""
    settings = classic_to_elements(members, EMPTY_CONTEXT)["timeSettings"]
    assert {name: settings.get(name, ABSENT) for name in expected} == expected


def test_links_are_complete() -> None:
    """A link has each required member. Its address loses byte-order marks, and entries that are not objects are left out."""
    link = {
        "title": "Wiki",
        "type": "dashboards",
        "url": "https://\ufeffwiki.example",
        "tags": ["a"],
        "keepTime": True,
        "placement": "inControlsMenu",
    }
    spec = classic_to_elements({"links": [{}, None, link]}, EMPTY_CONTEXT)
    empty = {
        "title": "",
        "icon": "",
        "tooltip": "",
        "tags": [],
        "asDropdown": False,
        "targetBlank": False,
        "includeVars": False,
        "keepTime": False,
    }
    assert spec["links"] == [{**empty, "type": "link"}, {**empty, **link, "url": "https://wiki.example"}]


@pytest.mark.parametrize("wrapped", [None, 1, "title", ["title"]])
def test_a_broken_wrapper_is_refused(wrapped: Any) -> None:
    """A member ``dashboard`` that is not an object is an error, because the content of an export is expected in this member."""
    with pytest.raises(ConversionFailed, match="'dashboard' is not an object"):
        classic_to_elements({"title": "Ovens", "dashboard": wrapped}, EMPTY_CONTEXT)


def test_extreme_nesting_is_refused() -> None:
    """Options that are nested deeper than Python can follow are an error of the dashboard."""
    options: dict[str, Any] = {}
    for _ in range(100_000):
        options = {"inner": options}
    with pytest.raises(ConversionFailed, match="nested too deeply"):
        classic_to_elements({"panels": [{"options": options}]}, EMPTY_CONTEXT)
