"""Columns of CSV values, whose type is detected: numbers, booleans, times or strings."""

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

_NULL_STRINGS: Final = frozenset({"", "null", "NULL"})
_BOOLEANS: Final = {"T": True, "TRUE": True, "F": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE)
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NANOS_PER_MILLISECOND: Final = 1_000_000
#: The last epoch millisecond that fits into nanoseconds.
_MAX_MILLISECONDS: Final = 9_223_372_036_854


def read_csv(content: str, name: str) -> Frame:
    """Return CSV as a frame. The first line has the names of the columns; ``value{host="a"}`` has labels.

    Without rows, the frame has no columns. Raises BadRequest that names the line.
    """
    reader = csv.reader(StringIO(content, newline=""), strict=True, skipinitialspace=True)
    try:
        header, *rows = [row for row in reader if row] or [[]]
    except csv.Error as error:
        raise BadRequest(f"csvContent cannot be read: {error} in line {reader.line_num}") from error
    for row_number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise BadRequest(
                f"csvContent has {len(row)} values in row {row_number} where its header has {len(header)}; give one for each column"
            )
    columns = [[value.strip(" ") for value in column] for column in zip(*rows, strict=True)]
    titles = [title.strip(" ") for title in header]
    # Without rows, zip yields no columns: a header alone gives an empty frame.
    fields = [_column(title, column, index) for index, (title, column) in enumerate(zip(titles, columns, strict=False))]
    return Frame(fields, name)


def _column(title: str, values: Sequence[str], index: int) -> Field:
    """Return column ``index`` of the CSV: times if its title contains ``time``, else the type of its values."""
    field = field_of("", values)
    if "time" in title.lower():
        field = _as_times(field) or field
    name, brace, _ = title.partition("{")
    labels = labels_of(title[len(name) :], index) if brace else None
    return Field(name if labels else title, field.type, field.values, field.nulls, nullable=True, labels=labels or None)


def field_of(name: str, strings: Sequence[str]) -> Field:
    """Return a column of strings as booleans if the first one is a boolean, else as integers or floats if all are, else as strings."""
    nulls = np.array([string in _NULL_STRINGS for string in strings], np.bool_)
    values = [string for string, is_null in zip(strings, nulls.tolist(), strict=True) if not is_null]
    if strings and strings[0].upper() in _BOOLEANS:
        return _field(name, FieldType.BOOL, [_BOOLEANS.get(string.upper(), False) for string in strings], nulls)
    if values and all(map(_is_int64, values)):
        return _field(name, FieldType.INT64, _parse_all(strings, nulls, int, 0), nulls)
    if values and all(map(_DECIMAL.fullmatch, values)):
        return _field(name, FieldType.FLOAT64, _parse_all(strings, nulls, float, np.nan), nulls)
    return _field(name, FieldType.STRING, _parse_all(strings, nulls, str, None), nulls)


def _is_int64(string: str) -> bool:
    return _INTEGER.fullmatch(string) is not None and -(2**63) <= int(string) < 2**63


def _parse_all(strings: Sequence[str], nulls: Any, parse: Callable[[str], Any], null_value: Any) -> list[Any]:
    return [null_value if is_null else parse(string) for string, is_null in zip(strings, nulls.tolist(), strict=True)]


def _field(name: str, field_type: FieldType, values: list[Any], nulls: Any) -> Field:
    array = np.empty(len(values), field_type.dtype)
    array[:] = values
    return Field(name, field_type, array, nulls if nulls.any() else None, nullable=True)


def _as_times(field: Field) -> Field | None:
    """Return the column as times, from epoch milliseconds or RFC 3339 strings; None if no value is a time."""
    if field.type is FieldType.BOOL:
        return None
    parse = _parse_rfc_3339 if field.type is FieldType.STRING else _parse_milliseconds
    null_mask = np.zeros(len(field), np.bool_) if field.nulls is None else field.nulls
    times = [None if is_null else parse(value) for value, is_null in zip(field.values.tolist(), null_mask.tolist(), strict=True)]
    if all(time is None for time in times):
        return None
    nulls = np.array([time is None for time in times], np.bool_)
    return _field(field.name, FieldType.TIME, [time or 0 for time in times], nulls)


def _parse_milliseconds(value: float) -> int | None:
    """Return epoch milliseconds in nanoseconds, or None if they do not fit into an int64."""
    return int(value) * _NANOS_PER_MILLISECOND if abs(value) <= _MAX_MILLISECONDS else None


def _parse_rfc_3339(value: str) -> int | None:
    """Return the time in nanoseconds since 1970, or None if the string is not a time or does not fit into an int64."""
    if not _RFC_3339.fullmatch(value):
        return None
    try:
        since_epoch = datetime.fromisoformat(value) - _EPOCH
    except ValueError:
        return None
    microseconds = since_epoch // timedelta(microseconds=1)
    return microseconds * 1000 if abs(microseconds) <= _MAX_MILLISECONDS * 1000 else None
