"""The time range and the time zone of a picture, from its options and the settings of the dashboard."""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import object_of, string_of
from dashwright.common.models.pictures import PictureOptions
from dashwright.expressions.engine.timerange import CalendarRules, TimeRange, parse_time_range

_DEFAULT_RANGE: Final = ("now-6h", "now")
#: Names of the zone of the server, which is UTC.
_SERVER_ZONES: Final = frozenset({"", "default", "browser", "utc"})
_WEEK_STARTS: Final = {"monday": calendar.MONDAY, "saturday": calendar.SATURDAY, "sunday": calendar.SUNDAY}
_MONTHS: Final = 12
#: Dates in URLs of Grafana, such as ``20240115`` and ``20240115T100000``.
_COMPACT_DATE: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class PictureTime:
    """The time range of a picture, with its notation in URLs and the time zone of its axes."""

    range: TimeRange
    notation: tuple[str, str]  #: The start and the end as URLs have them, such as ``now-6h`` and ``now``.
    zone: tzinfo
    zone_name: str
    rules: CalendarRules  #: The starts of weeks and of fiscal years.
    now: datetime  #: The present time in the zone, to which relative times refer.

    @property
    def is_relative(self) -> bool:
        """True if an end of the range is relative to now."""
        return any("now" in text for text in self.notation)


def time_settings(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings with the time range, ``from`` and ``to``, that a dashboard stores."""
    return object_of(spec.get("timeSettings" if isinstance(spec.get("elements"), dict) else "time"))


def picture_time(spec: Mapping[str, Any], options: PictureOptions, now: datetime) -> PictureTime:
    """Return the time range and zone. Raises BadRequest for an invalid time, or an unknown zone in the options."""
    settings = time_settings(spec)
    # The classic schema has all but the range in the dashboard itself.
    calendar_settings = settings if "elements" in spec else spec
    zone, zone_name = _zone(options.timezone, string_of(calendar_settings.get("timezone")))
    rules = _calendar_rules(calendar_settings)
    stored = (string_of(settings.get("from")) or _DEFAULT_RANGE[0], string_of(settings.get("to")) or _DEFAULT_RANGE[1])
    start, end = (_expanded(chosen) or default for chosen, default in zip((options.from_, options.to), stored, strict=True))
    chosen_range = parse_time_range(start, end, now.astimezone(zone), rules)
    return PictureTime(
        TimeRange(chosen_range.start.astimezone(zone), chosen_range.end.astimezone(zone)),
        (start, end),
        zone,
        zone_name,
        rules,
        now.astimezone(zone),
    )


def _calendar_rules(settings: Mapping[str, Any]) -> CalendarRules:
    """Return the rules in the settings of a dashboard, whose fiscal years begin in a month from 0 to 11."""
    week_start = _WEEK_STARTS.get(string_of(settings.get("weekStart")).lower(), calendar.SUNDAY)
    month = settings.get("fiscalYearStartMonth")
    return CalendarRules(week_start, month + 1 if isinstance(month, int) and 0 <= month < _MONTHS else 1)


def _zone(chosen: str, stored: str) -> tuple[tzinfo, str]:
    """Return the zone and its name: the one that the request chose, else the stored one if it is known, else UTC.

    Raises BadRequest if the request chose an unknown zone.
    """
    for name in (chosen, stored):
        if name.lower() in _SERVER_ZONES:
            # An empty name and ``default`` leave the choice to the next name.
            if name and name != "default":
                return UTC, "UTC"
            continue
        try:
            return ZoneInfo(name), name
        except (ValueError, OSError, KeyError) as error:
            if name == chosen:
                raise BadRequest(f"the parameter tz is {name[:60]!r}, which is not a time zone; give one such as Europe/Berlin") from error
    return UTC, "UTC"


def _expanded(value: str) -> str:
    """Return a date of a URL in ISO 8601; other text is unchanged."""
    match = _COMPACT_DATE.fullmatch(value.strip())
    if match is None:
        return value
    year, month, day, hour, minute, second = match.groups()
    return f"{year}-{month}-{day}" + (f"T{hour}:{minute}:{second}" if hour else "")
