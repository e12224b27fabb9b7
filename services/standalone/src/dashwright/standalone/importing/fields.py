"""Values of a row, independent of the database driver. A missing column, as in an older schema, has no value."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

#: A row as the database driver returns it.
Row: TypeAlias = Mapping[str, Any]

_INTEGER_PATTERN: Final = re.compile(r"-?[0-9]{1,18}")
#: Larger numbers count as no time, because ``datetime`` cannot represent all of them.
_YEAR_3000_SECONDS: Final = 32_503_680_000
_MIN_YEAR: Final = 1971
"""Earlier timestamps, such as Go's zero time and the Unix epoch, mean that there is no time."""
UNKNOWN_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""The creation time of an imported row without one."""
#: A date, a time, its fraction and its zone. Text after them is ignored.
_TIMESTAMP_PATTERN: Final = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?.*")


def integer(row: Row, column: str) -> int:
    """Return the integer in a column, or 0 if it has none."""
    value = row.get(column)
    if isinstance(value, bool):
        return int(value)
    return int(value) if isinstance(value, int | str) and _INTEGER_PATTERN.fullmatch(str(value)) else 0


def flag(row: Row, column: str) -> bool:
    """Return the boolean in a column, which SQLite stores as 0 or 1."""
    return integer(row, column) != 0


def string(row: Row, column: str) -> str:
    """Return the string in a column without NUL characters, which PostgreSQL cannot store. It may be empty."""
    value = row.get(column)
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    return "" if value is None else str(value).replace("\0", "")


def optional_string(row: Row, column: str) -> str | None:
    """Return the string in a column, or None if it is empty."""
    return string(row, column) or None


def timestamp(row: Row, column: str) -> datetime | None:
    """Return the timestamp in a column in UTC, or None if it has none. An integer is in Unix seconds; a missing zone means UTC."""
    value = row.get(column)
    if isinstance(value, datetime):
        return _timestamp_in_utc(value.replace(tzinfo=UTC) if value.tzinfo is None else value)
    if isinstance(value, int):
        return datetime.fromtimestamp(value, UTC) if 0 < value < _YEAR_3000_SECONDS else None
    match = _TIMESTAMP_PATTERN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    day, time, fraction, zone = match.groups()
    try:
        parsed = datetime.fromisoformat(f"{day}T{time}.{(fraction or '0')[:6]:0<6}{'+00:00' if zone in (None, 'Z') else zone}")
    except ValueError:
        return None
    return _timestamp_in_utc(parsed)


def _timestamp_in_utc(value: datetime) -> datetime | None:
    return None if value.year < _MIN_YEAR else value.astimezone(UTC)
