"""Time ranges of panels that differ from that of the dashboard: ``timeFrom`` and ``timeShift``, by Grafana's rules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import string_of
from dashwright.expressions.engine.timerange import TimeRange, moved_by, parse_time_range
from dashwright.expressions.pictures.zones import PictureTime
from dashwright.expressions.variables.scope import Scope

_RELATIVE: Final = re.compile(r"now([-+])(\d{1,9})(\w)", re.ASCII)
_UNITS: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "M": "month", "y": "year"}
#: Texts of ranges that begin with a rounded time, as in Grafana's list of ranges.
_SO_FAR: Final = {
    "now/d": "Today so far",
    "now/w": "This week so far",
    "now/M": "This month so far",
    "now/y": "This year so far",
    "now/fQ": "This fiscal quarter so far",
    "now/fy": "This fiscal year so far",
}
_MAX_QUOTED: Final = 40


@dataclass(frozen=True, slots=True)
class PanelTime:
    """The time range of a panel, and the text about it next to the panel's title, such as *Last 1 hour*."""

    range: TimeRange
    note: str = ""


def panel_time(panel: Mapping[str, Any], scope: Scope, time: PictureTime) -> PanelTime:
    """Return the time range of a panel. An invalid setting is named in the note, and the range of the picture applies."""
    time_from, time_shift = (scope.interpolate(string_of(panel.get(name))).strip() for name in ("timeFrom", "timeShift"))
    notation, time_range, notes = time.notation, time.range, []
    # Grafana applies ``timeFrom`` to relative ranges only, and keeps an absolute range, such as that of a zoomed dashboard.
    if time_from and time.is_relative:
        text = _range_text(time_from)
        end_texts = _ends(time_from)
        try:
            time_range, notation = parse_time_range(*end_texts, time.now, time.rules), end_texts
        except BadRequest:
            text = ""
        if not text:
            return PanelTime(time.range, f"invalid time override '{time_from:.{_MAX_QUOTED}}'")
        notes.append(text)
    if time_shift:
        try:
            time_range = _shifted(time_range, notation, f"-{time_shift}", time)
        except BadRequest:
            return PanelTime(time.range, f"invalid timeshift '{time_shift:.{_MAX_QUOTED}}'")
        notes.append(f"timeshift -{time_shift}"[:_MAX_QUOTED])
    note = ", ".join(notes)
    return PanelTime(time_range, "" if panel.get("hideTimeOverride") is True else note[:1].upper() + note[1:])


def _ends(time_from: str) -> tuple[str, str]:
    """Return the start and the end, as texts, of a range such as ``1h``, ``now/d`` or ``+1h``."""
    if time_from.startswith("+"):
        end = time_from if "now" in time_from else f"now{time_from}"
        return "now", end
    start = time_from if "now" in time_from else f"now-{time_from}"
    return start, "now"


def _range_text(time_from: str) -> str:
    """Return the text for a range, such as *Last 1 hour*; empty if the setting is invalid."""
    # One end is now, and the other one is the setting; both are now if the setting is.
    relative = next(text for text in _ends(time_from) if text != "now") if time_from != "now" else ""
    if relative in _SO_FAR:
        return _SO_FAR[relative]
    match = _RELATIVE.match(relative)
    if match is None or match[3] not in _UNITS:
        return ""
    count = int(match[2])
    return f"{'Next' if time_from.startswith('+') else 'Last'} {count} {_UNITS[match[3]]}{'s' if count > 1 else ''}"


def _shifted(time_range: TimeRange, notation: tuple[str, str], shift: str, time: PictureTime) -> TimeRange:
    """Return a range moved by ``shift``, such as ``-1d``. Raises BadRequest for other text.

    The shift is appended to the text of a relative end: ``now/d`` becomes ``now/d-1d``, the day before.
    """
    texts = [text + shift if text.startswith("now") else "" for text in notation]
    if all(texts):
        return parse_time_range(texts[0], texts[1], time.now, time.rules)
    start = moved_by(time_range.start, shift, time.rules)
    return TimeRange(start, max(start, moved_by(time_range.end, shift, time.rules, round_up=True)))
