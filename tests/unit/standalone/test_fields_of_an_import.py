"""Times, numbers, flags and texts of an import, from the values that SQLite and PostgreSQL return."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dashwright.standalone.importing import fields

#: The time that all readable notations mean.
NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2024-03-01 12:00:00", NOON),
        ("2024-03-01T12:00:00Z", NOON),
        ("2024-03-01T14:00:00+02:00", NOON),
        ("2024-03-01 12:00:00.123456789 +0000 UTC", NOON.replace(microsecond=123456)),
        (datetime(2024, 3, 1, 12), NOON),  # noqa: DTZ001 - as the database gives it
        (datetime(2024, 3, 1, 13, tzinfo=timezone(timedelta(hours=1))), NOON),
        (int(NOON.timestamp()), NOON),
        ("0001-01-01 00:00:00", None),
        (datetime(1, 1, 1), None),  # noqa: DTZ001 - as the database gives it
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), None),
        ("2024-13-45 12:00:00", None),
        ("yesterday", None),
        # Integers that are not seconds of a plausible year.
        (10**15, None),
        (-5, None),
        ("", None),
        (None, None),
    ],
    ids=str,
)
def test_a_time_is_in_utc_however_it_is_stored(value: Any, expected: datetime | None) -> None:
    """Times are in UTC; an unreadable value and Go's zero time become None."""
    assert fields.timestamp({"at": value}, "at") == expected


@pytest.mark.parametrize(
    ("value", "number", "is_set", "text"),
    [
        (1, 1, True, "1"),
        (True, 1, True, "True"),
        (0, 0, False, "0"),
        (False, 0, False, "False"),
        (None, 0, False, ""),
        ("7", 7, True, "7"),
        ("-7", -7, True, "-7"),
        ("seven", 0, False, "seven"),
        (b"a\0b", 0, False, "ab"),
        # A superscript 2, which ``isdigit`` accepts and ``int`` refuses.
        ("\u00b2", 0, False, "\u00b2"),
        ("--5", 0, False, "--5"),
        # More digits than ``int`` parses.
        ("9" * 5000, 0, False, "9" * 5000),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_numbers_flags_and_texts_are_read_from_any_value(value: Any, number: int, is_set: bool, text: str) -> None:
    """A value is read as a number, a flag or a text. An invalid number is 0, and a missing column is read as null."""
    row = {"x": value}
    assert fields.integer(row, "x") == number
    assert fields.flag(row, "x") == is_set
    assert fields.string(row, "x") == text
    assert fields.integer({}, "x") == 0
    assert fields.flag({}, "x") is False
    assert fields.string({}, "x") == ""
