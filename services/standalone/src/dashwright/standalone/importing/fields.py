"""Values of a row, independent of the database driver. A missing column has no value, as in an older schema."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

#: A row as the database driver returns it.
Row: TypeAlias = Mapping[str, Any]

_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_FAR: Final = 32_503_680_000  # the year 3000
_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?\s*(Z|[+-]\d\d:?\d\d)?.*")


def whole(row: Row, column: str) -> int:
    """Return an integer, or 0."""
    found = row.get(column)
    if isinstance(found, bool):
        return int(found)
    return int(found) if isinstance(found, int | str) and _WHOLE.fullmatch(str(found)) else 0


def flag(row: Row, column: str) -> bool:
    """Return a boolean, which SQLite stores as 0 or 1."""
    return whole(row, column) != 0


def text(row: Row, column: str) -> str:
    """Return a text without NUL characters, which PostgreSQL cannot store, or an empty text."""
    found = row.get(column)
    if isinstance(found, bytes):
        found = found.decode(errors="replace")
    return "" if found is None else str(found).replace("\0", "")


def some_text(row: Row, column: str) -> str | None:
    """Return a text, or None if it is empty."""
    return text(row, column) or None


def moment(row: Row, column: str) -> datetime | None:
    """Return a time in UTC, or None if it cannot be parsed. A time without a zone is in UTC."""
    found = row.get(column)
    if isinstance(found, datetime):
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    if isinstance(found, int):
        return datetime.fromtimestamp(found, UTC) if 0 < found < _FAR else None
    match = _MOMENT.fullmatch(found.strip()) if isinstance(found, str) else None
    if match is None:
        return None
    day, time, fraction, zone = match.groups()
    try:
        read = datetime.fromisoformat(f"{day}T{time}.{(fraction or '0')[:6]:0<6}{'+00:00' if zone in (None, 'Z') else zone}")
    except ValueError:
        return None
    return None if read.year < 1971 else read.astimezone(UTC)
