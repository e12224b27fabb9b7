"""Conversion of rows to columns. Each batch of rows becomes arrays, so only one batch exists as Python objects.

Numbers, booleans, times and JSON keep their type. Values of other types become the strings that PostgreSQL writes.
"""

from collections.abc import Callable
from typing import Any, Final

import asyncpg
import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.engine.values import Mask

#: 1 January 2000, PostgreSQL's epoch, in microseconds since 1970.
_POSTGRES_EPOCH_MICROSECONDS: Final = 946_684_800_000_000

_DAY_MICROSECONDS: Final = 86_400_000_000
#: The largest distance from 1970, in microseconds, whose nanoseconds fit into an int64.
_MAX_MICROSECONDS: Final = (1 << 63) // 1000 - 1

#: The type of a column by its type in PostgreSQL. Columns of other types are strings.
_TYPES: Final = {
    "int2": FieldType.INT16,
    "int4": FieldType.INT32,
    "int8": FieldType.INT64,
    "float4": FieldType.FLOAT64,
    "float8": FieldType.FLOAT64,
    "numeric": FieldType.FLOAT64,
    "bool": FieldType.BOOL,
    "timestamp": FieldType.TIME,
    "timestamptz": FieldType.TIME,
    "date": FieldType.TIME,
    "json": FieldType.JSON,
    "jsonb": FieldType.JSON,
}
#: Types whose values asyncpg returns as str or bytes without a cast.
_STRING_TYPES: Final = frozenset({"text", "varchar", "bpchar", "name", "xml", "bytea", "void", "unknown"})

#: The schema of PostgreSQL's own types.
_BUILT_IN: Final = "pg_catalog"

#: The number of distinct strings of a column after which further batches are not interned: their strings probably do not repeat.
_MAX_INTERNED_STRINGS: Final = 10_000

#: The values of one column in a batch; None is null.
BatchColumn = tuple[Any, ...]

#: The values of a column or batch, and their null mask.
Arrays = tuple[NDArray[Any], Mask]


async def register_codecs(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Register codecs that decode times as raw bytes, and decimal numbers as floats, without a round trip."""
    for name in ("timestamp", "timestamptz", "date"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=bytes, decoder=bytes, format="binary")
    # The text format of a float4 has the digits that the user wrote: 0.1 instead of 0.10000000149.
    for name in ("float4", "numeric"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=str, decoder=float, format="text")


def is_native(attribute: asyncpg.Attribute) -> bool:
    """Return whether the column can be read without a cast to text by the server."""
    pg_type = attribute.type
    return pg_type.schema == _BUILT_IN and pg_type.kind == "scalar" and (pg_type.name in _TYPES or pg_type.name in _STRING_TYPES)


class ColumnBuilder:
    """Builder of one column from batches of rows."""

    def __init__(self, name: str, pg_type: str) -> None:
        self.name = name
        self.type = _TYPES.get(pg_type, FieldType.STRING)
        #: The number of times that became null, such as ``infinity``, because nanoseconds cannot express them.
        self.out_of_range_count = 0
        self._convert = _CONVERTERS.get(pg_type, _convert_strings)
        self._batches: list[Arrays] = []
        self._interned_strings: dict[Any, Any] = {}

    def add(self, values: BatchColumn) -> None:
        """Add the values of a batch."""
        if self.type is FieldType.STRING and len(self._interned_strings) < _MAX_INTERNED_STRINGS:
            # Labels repeat, so equal strings share one object.
            values = tuple(map(self._interned_strings.setdefault, values, values))
        self._batches.append(self._convert(values))

    def field(self) -> Field:
        """Return the complete column and release its batches. Do not use the builder afterwards."""
        values = np.concatenate([batch_values for batch_values, _ in self._batches]) if self._batches else np.empty(0, self.type.dtype)
        nulls = np.concatenate([batch_nulls for _, batch_nulls in self._batches]) if self._batches else np.empty(0, np.bool_)
        self._batches.clear()
        self._interned_strings.clear()
        if self.type is FieldType.TIME:
            values, is_out_of_range = _to_unix_nanoseconds(values)
            self.out_of_range_count = int(np.count_nonzero(is_out_of_range & ~nulls))
            nulls |= is_out_of_range
        return Field(self.name, self.type, values, nulls if nulls.any() else None, nullable=True)


def _nulls(values: BatchColumn) -> Mask:
    if None in values:
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.zeros(len(values), np.bool_)


def _number_converter(dtype: Any) -> Callable[[BatchColumn], Arrays]:
    """Return a converter of numbers or booleans. Null becomes NaN in floats, else 0."""
    null_value = np.nan if dtype is np.float64 else 0

    def convert(values: BatchColumn) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([null_value if value is None else value for value in values])
        return np.array(values, dtype), nulls

    return convert


def _time_converter(dtype: str, unit_microseconds: int) -> Callable[[BatchColumn], Arrays]:
    """Return a converter of raw times to microseconds since 2000. Null and infinities become the minimum of int64."""
    limits = np.iinfo(dtype)
    minimum = np.array(limits.min, dtype).tobytes()

    def convert(values: BatchColumn) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([minimum if value is None else value for value in values])
        units = np.frombuffer(b"".join(values), dtype).astype(np.int64)
        is_infinite = (units == limits.min) | (units == limits.max)
        return np.where(is_infinite, np.iinfo(np.int64).min, units * unit_microseconds), nulls

    return convert


def _convert_strings(values: BatchColumn) -> Arrays:
    array = np.empty(len(values), object)
    array[:] = values
    return array, _nulls(values)


def _convert_bytes(values: BatchColumn) -> Arrays:
    return _convert_strings(tuple([None if value is None else _decode_bytes(value) for value in values]))


def _convert_json(values: BatchColumn) -> Arrays:
    return _convert_strings(tuple([None if value is None else _parse_json(value) for value in values]))


def _decode_bytes(value: bytes) -> str:
    """Return the text in UTF-8, or PostgreSQL's notation of bytes in hexadecimal."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"\\x{value.hex()}"


def _parse_json(document: str) -> Any:
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError:
        # The document has a lone surrogate, which the type json may contain but JSON of a response may not.
        return document


def _to_unix_nanoseconds(microseconds: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Convert microseconds since 2000 to nanoseconds since 1970. The mask is True for times out of range."""
    # Compared before the epoch is added, because the sum may overflow.
    first, last = -_MAX_MICROSECONDS - _POSTGRES_EPOCH_MICROSECONDS, _MAX_MICROSECONDS - _POSTGRES_EPOCH_MICROSECONDS
    is_out_of_range = (microseconds < first) | (microseconds > last)
    # Times out of range become 1970, so that the sum does not overflow.
    microseconds = np.where(is_out_of_range, -_POSTGRES_EPOCH_MICROSECONDS, microseconds)
    return (microseconds + _POSTGRES_EPOCH_MICROSECONDS) * 1000, is_out_of_range


_CONVERTERS: Final[dict[str, Callable[[BatchColumn], Arrays]]] = {
    "int2": _number_converter(np.int16),
    "int4": _number_converter(np.int32),
    "int8": _number_converter(np.int64),
    "float4": _number_converter(np.float64),
    "float8": _number_converter(np.float64),
    "numeric": _number_converter(np.float64),
    "bool": _number_converter(np.bool_),
    "timestamp": _time_converter(">i8", 1),
    "timestamptz": _time_converter(">i8", 1),
    "date": _time_converter(">i4", _DAY_MICROSECONDS),
    "json": _convert_json,
    "jsonb": _convert_json,
    "bytea": _convert_bytes,
}
