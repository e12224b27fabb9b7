"""Columns whose type is detected from their texts: numbers, booleans, times, or text."""

import csv
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any, Final

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.sources.testdata.naming import labels_of

_NULLS: Final = frozenset({"", "null"})
_TRUTHS: Final = {"T": True, "TRUE": True, "F": False, "FALSE": False}
_WHOLE: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = 1_000_000
#: The last epoch millisecond that fits into nanoseconds.
_LAST: Final = 9_223_372_036_854


def table(content: str, name: str) -> Frame:
    """Return a frame of CSV text. The first line names the columns; ``value{host="a"}`` gives a column labels.

    A column without rows is left out. Raises BadRequest that names the line.
    """
    reader = csv.reader(StringIO(content, newline=""), strict=True, skipinitialspace=True)
    try:
        header, *rows = [row for row in reader if row] or [[]]
    except csv.Error as error:
        raise BadRequest(f"csvContent cannot be read: {error} in line {reader.line_num}") from error
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise BadRequest(f"csvContent has {len(row)} values in row {number} where its header has {len(header)}; give one a column")
    columns = [[text.strip(" ") for text in column] for column in zip(*rows, strict=True)]
    titles = [title.strip(" ") for title in header]
    # Without rows, zip yields no columns: a header alone gives an empty frame.
    fields = [_column(title, column, place) for place, (title, column) in enumerate(zip(titles, columns, strict=False))]
    return Frame(fields, name)


def _column(title: str, texts: Sequence[str], place: int) -> Field:
    found = field_of("", texts)
    if "time" in title.lower():
        found = _timed(found) or found
    bare, brace, _ = title.partition("{")
    labels = labels_of(title[len(bare) :], place) if brace else None
    return Field(bare if labels else title, found.type, found.values, found.nulls, nullable=True, labels=labels or None)


def field_of(name: str, texts: Sequence[str]) -> Field:
    """Return a column of the type that fits all texts: booleans if the first is one, integers, floats, else text."""
    nulls = np.array([text in _NULLS or text == "NULL" for text in texts], np.bool_)
    given = [text for text, null in zip(texts, nulls.tolist(), strict=True) if not null]
    if texts and texts[0].upper() in _TRUTHS:
        return _field(name, FieldType.BOOL, [_TRUTHS.get(text.upper(), False) for text in texts], nulls)
    if given and all(map(_is_whole, given)):
        return _field(name, FieldType.INT64, _each(texts, nulls, int, 0), nulls)
    if given and all(map(_DECIMAL.fullmatch, given)):
        return _field(name, FieldType.FLOAT64, _each(texts, nulls, float, np.nan), nulls)
    return _field(name, FieldType.STRING, _each(texts, nulls, str, None), nulls)


def _is_whole(text: str) -> bool:
    return _WHOLE.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _each(texts: Sequence[str], nulls: Any, read: Callable[[str], Any], missing: Any) -> list[Any]:
    return [missing if null else read(text) for text, null in zip(texts, nulls.tolist(), strict=True)]


def _field(name: str, kind: FieldType, values: list[Any], nulls: Any) -> Field:
    array = np.empty(len(values), kind.dtype)
    array[:] = values
    return Field(name, kind, array, nulls if nulls.any() else None, nullable=True)


def _timed(field: Field) -> Field | None:
    """Return the column as times, from epoch milliseconds or RFC 3339 texts; None if no value is a time."""
    if field.type is FieldType.BOOL:
        return None
    read = _instant if field.type is FieldType.STRING else _milliseconds
    instants = [
        None if null else read(value)
        for value, null in zip(
            field.values.tolist(), (np.zeros(len(field), np.bool_) if field.nulls is None else field.nulls).tolist(), strict=True
        )
    ]
    if not any(instant is not None for instant in instants):
        return None
    nulls = np.array([instant is None for instant in instants], np.bool_)
    return _field(field.name, FieldType.TIME, [instant or 0 for instant in instants], nulls)


def _milliseconds(value: float) -> int | None:
    return int(value) * _MILLISECOND if abs(value) <= _LAST else None


def _instant(text: str) -> int | None:
    if not _INSTANT.fullmatch(text):
        return None
    try:
        since = datetime.fromisoformat(text) - _EPOCH
    except ValueError:
        return None
    microseconds = since // timedelta(microseconds=1)
    return microseconds * 1000 if abs(microseconds) <= _LAST * 1000 else None
