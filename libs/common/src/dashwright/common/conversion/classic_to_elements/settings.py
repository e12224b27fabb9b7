"""Settings of a dashboard: title, tags, links, and the time range with its picker."""

from typing import Any, Final

from dashwright.common.conversion.choices import CURSOR_SYNCS
from dashwright.common.conversion.classic_to_elements.byte_order_marks import without_marks
from dashwright.common.conversion.classic_to_elements.members import (
    Members,
    child,
    children,
    filled_texts,
    flag,
    text,
    texts,
    truncated,
    whole_number,
)

_CURSOR_SYNCS: Final = dict(enumerate(CURSOR_SYNCS))
#: The revision is an unsigned 16-bit number in Grafana's schema.
_LARGEST_REVISION: Final = 2**16 - 1
_REFRESH_INTERVALS: Final = ("5s", "10s", "30s", "1m", "5m", "15m", "30m", "1h", "2h", "1d")


def dashboard_settings(dashboard: Members) -> dict[str, Any]:
    """Return the settings of a dashboard that are members of its spec."""
    settings: dict[str, Any] = {
        "title": text(dashboard, "title"),
        "tags": texts(dashboard, "tags"),
        "cursorSync": _CURSOR_SYNCS.get(whole_number(dashboard, "graphTooltip"), "Off"),
        "preload": flag(dashboard, "preload"),
        "editable": flag(dashboard, "editable", default=True),
        "liveNow": flag(dashboard, "liveNow"),
        "timeSettings": _time_settings(dashboard),
        "links": [_link(link) for link in children(dashboard, "links")],
        **filled_texts(dashboard, "description"),
    }
    revision = truncated(dashboard.get("revision"))
    if revision is not None and 0 <= revision <= _LARGEST_REVISION:
        settings["revision"] = revision
    return settings


def _time_settings(dashboard: Members) -> dict[str, Any]:
    """Return the member ``timeSettings`` of a spec with elements."""
    time_range = child(dashboard, "time") or {}
    picker = child(dashboard, "timepicker") or {}
    settings: dict[str, Any] = {
        "timezone": text(dashboard, "timezone", "browser"),
        "from": text(time_range, "from") or "now-6h",
        "to": text(time_range, "to") or "now",
        "autoRefresh": text(dashboard, "refresh"),
        "autoRefreshIntervals": texts(picker, "refresh_intervals") or list(_REFRESH_INTERVALS),
        "hideTimepicker": flag(picker, "hidden"),
        "fiscalYearStartMonth": whole_number(dashboard, "fiscalYearStartMonth"),
        **filled_texts(dashboard, "weekStart"),
        **filled_texts(picker, "nowDelay"),
    }
    if ranges := children(picker, "quick_ranges"):
        settings["quickRanges"] = [{name: text(quick_range, name) for name in ("display", "from", "to")} for quick_range in ranges]
    return settings


def _link(link: Members) -> dict[str, Any]:
    converted: dict[str, Any] = {
        "title": text(link, "title"),
        "type": text(link, "type", "link"),
        "icon": text(link, "icon"),
        "tooltip": text(link, "tooltip"),
        "tags": texts(link, "tags"),
        **{name: flag(link, name) for name in ("asDropdown", "targetBlank", "includeVars", "keepTime")},
    }
    if isinstance(url := link.get("url"), str):
        converted["url"] = without_marks(url)
    if isinstance(placement := link.get("placement"), str):
        converted["placement"] = placement
    return converted
