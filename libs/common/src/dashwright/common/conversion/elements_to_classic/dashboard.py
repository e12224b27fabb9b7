"""Classic form of a whole dashboard and of its settings."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.choices import CURSOR_SYNCS, numbers
from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.elements_to_classic.annotations import classic_annotations
from dashwright.common.conversion.elements_to_classic.layout import classic_panels
from dashwright.common.conversion.elements_to_classic.variables import classic_variables
from dashwright.common.conversion.parts import list_in, object_in, objects_in, text_in

_SCHEMA_VERSION: Final = 42
_TOOLTIPS: Final = numbers(CURSOR_SYNCS)

#: Members of links that are always written, and their defaults.
_LINK_DEFAULTS: Final[Mapping[str, Any]] = {
    "title": "",
    "type": "",
    "icon": "",
    "tooltip": "",
    "tags": [],
    "asDropdown": False,
    "targetBlank": False,
    "includeVars": False,
    "keepTime": False,
}


def elements_to_classic(spec: Mapping[str, Any], context: ConversionContext) -> dict[str, Any]:
    """Return the ``v1`` form of a ``v2alpha1`` spec.

    Raises ConversionFailed if a part has an unexpected type, or if the layout refers to an element that does not exist.
    """
    del context
    classic: dict[str, Any] = {
        "title": _or(spec.get("title"), ""),
        "graphTooltip": _TOOLTIPS.get(text_in(spec, "cursorSync"), 0),
        "schemaVersion": _SCHEMA_VERSION,
        "preload": _or(spec.get("preload"), False),
        "editable": _or(spec.get("editable"), True),
        **_time_settings(object_in(spec, "timeSettings")),
    }
    for name in ("description", "liveNow", "revision"):
        if (value := spec.get(name)) is not None:
            classic[name] = value
    if tags := list_in(spec, "tags"):
        classic["tags"] = tags
    if links := objects_in(spec, "links"):
        classic["links"] = [_link(link) for link in links]
    if panels := classic_panels(spec):
        classic["panels"] = panels
    if variables := classic_variables(spec):
        classic["templating"] = {"list": variables}
    # An empty list is written too: without it, Grafana's page adds the built-in annotation.
    classic["annotations"] = {"list": classic_annotations(spec)}
    return classic


def _time_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a classic dashboard for the time range, the refresh interval and the time picker."""
    classic: dict[str, Any] = {
        "time": {"from": settings.get("from") or "now-6h", "to": settings.get("to") or "now"},
        "refresh": _or(settings.get("autoRefresh"), ""),
        "fiscalYearStartMonth": _or(settings.get("fiscalYearStartMonth"), 0),
    }
    for name in ("timezone", "weekStart"):
        if (value := settings.get(name)) is not None:
            classic[name] = value
    picker: dict[str, Any] = {}
    if intervals := settings.get("autoRefreshIntervals"):
        picker["refresh_intervals"] = intervals
    if settings.get("hideTimepicker"):
        picker["hidden"] = True
    if (delay := settings.get("nowDelay")) is not None:
        picker["nowDelay"] = delay
    if ranges := objects_in(settings, "quickRanges"):
        picker["quick_ranges"] = ranges
    return {**classic, "timepicker": picker} if picker else classic


def _link(link: Mapping[str, Any]) -> dict[str, Any]:
    classic = {name: _or(link.get(name), default) for name, default in _LINK_DEFAULTS.items()}
    for name in ("url", "placement"):
        if (value := link.get(name)) is not None:
            classic[name] = value
    return classic


def _or(value: Any, default: Any) -> Any:
    """Return the value, or the default for null and for a missing value."""
    return default if value is None else value
