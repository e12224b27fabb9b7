"""The time range in the URLs of pictures and pages: ``from`` and ``to``, or the middle and the length of a range."""

import re
from datetime import UTC, datetime
from typing import Final

from multidict import MultiDict, MultiMapping

from dashwright.common.errors import BadRequest

MIDDLE: Final = "time"
LENGTH: Final = "time.window"
"""Names of the parameters of the middle and the length."""
TIME_PARAMETERS: Final = {
    "from": "start of the time range, such as now-6h; by default the dashboard's own",
    "to": "end of the time range, such as now",
    MIDDLE: f"middle of a time range in milliseconds since 1970 or ISO 8601, with {LENGTH} instead of from and to",
    LENGTH: "length of this time range: milliseconds, or a number with a unit, such as 1h",
}
"""Query parameters of the time range, with their descriptions."""
_MILLISECONDS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000, "y": 31_536_000_000}
"""Milliseconds of each unit of a length."""
_LENGTH: Final = re.compile(r"([0-9]{1,15})(ms|[smhdwy])?", re.ASCII)
_MIDDLE: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


def with_range(query: MultiMapping[str]) -> MultiMapping[str]:
    """Return the query of a URL with ``from`` and ``to`` in place of the middle and the length, as Grafana reads its links.

    One of the two without the other is ignored. Raises BadRequest if one of them is invalid.
    """
    middle, length = query.get(MIDDLE, ""), query.get(LENGTH, "")
    if not middle or not length:
        return query
    centre, half = _middle(middle), _length(length) / 2
    other_parameters = [(name, value) for name, value in query.items() if name not in TIME_PARAMETERS]
    return MultiDict([*other_parameters, ("from", f"{centre - half:.0f}"), ("to", f"{centre + half:.0f}")])


def _middle(text: str) -> int:
    """Return a time in milliseconds since 1970. Raises BadRequest for another value."""
    if _MIDDLE.fullmatch(text):
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadRequest(f"the parameter {MIDDLE} is {text[:40]!r}; give milliseconds since 1970, or a time in ISO 8601") from error
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _length(text: str) -> int:
    """Return a duration in milliseconds. Raises BadRequest for another value, and for 0."""
    match = _LENGTH.fullmatch(text)
    if match is None or not int(match[1]):
        raise BadRequest(f"the parameter {LENGTH} is {text[:40]!r}; give milliseconds, or a number with a unit, such as 1h")
    return int(match[1]) * _MILLISECONDS[match[2] or "ms"]
