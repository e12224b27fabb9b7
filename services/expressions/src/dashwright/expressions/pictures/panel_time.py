"""Time ranges of panels that differ from the range of the dashboard, by the rules of Grafana."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.timerange import TimeRange, parse_time_range

_UNITS: Final = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "M": "month", "y": "year"}
_DURATION: Final = re.compile(r"(\d{1,9})([smhdwMy])", re.ASCII)


@dataclass(frozen=True, slots=True)
class TimeOverride:
    """The settings of a panel that replace or move the time range of the dashboard."""

    length: str = ""  #: The duration before now that replaces a relative range, or date math such as ``now/d``.
    shift: str = ""  #: The duration by which the range is moved back.
    is_hidden: bool = False  #: True if the heading of the panel does not show the range.


@dataclass(frozen=True, slots=True)
class PanelTime:
    """The time range of a panel."""

    range: TimeRange
    text: str = ""  #: What the heading of the panel shows, such as ``Last 2 hours``.


def panel_time(override: TimeOverride, time_range: TimeRange, now: datetime, *, is_relative: bool) -> PanelTime:
    """Return the range of a panel from that of the dashboard. Raises BadRequest if a setting is not a duration.

    ``length`` has no effect on a range between two fixed times.
    """
    texts = []
    if override.length and is_relative:
        time_range = _read("timeFrom", override.length, now, now)
        texts.append(_description(override.length))
    if override.shift:
        start, end = time_range.start, time_range.end
        time_range = TimeRange(_read("timeShift", override.shift, start, start).start, _read("timeShift", override.shift, end, end).start)
        texts.append(f"timeshift -{override.shift}")
    return PanelTime(time_range, "" if override.is_hidden else " ".join(texts))


def _read(member: str, text: str, now: datetime, end: datetime) -> TimeRange:
    """Return the range from a duration before ``now``, or from date math, to ``end``. Date math without a duration is a whole unit."""
    is_whole_unit = text.startswith("now/")
    try:
        start = parse_time_range(text if text.startswith("now") else f"now-{text}", text if is_whole_unit else "now", now)
    except BadRequest as error:
        raise BadRequest(f"{member} of the panel is {text[:60]!r}, which is not a duration; give one such as 2h") from error
    return start if is_whole_unit else TimeRange(start.start, end)


def _description(text: str) -> str:
    match = _DURATION.fullmatch(text.removeprefix("now-"))
    if match is None:
        return text[:60]
    count, unit = int(match[1]), _UNITS[match[2]]
    return f"Last {count} {unit}s" if count != 1 else f"Last {count} {unit}"
