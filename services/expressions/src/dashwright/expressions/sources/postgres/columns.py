"""Rows as columns: each batch of rows becomes arrays, so no more than one batch exists as Python objects.

Numbers, booleans, times and JSON have types of their own; every other type is the text that PostgreSQL writes for it.
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
_POSTGRES_EPOCH: Final = 946_684_800_000_000

#: A day in microseconds.
_DAY: Final = 86_400_000_000
#: The largest distance from 1970, in microseconds, whose nanoseconds fit into an int64.
_MAX_MICROSECONDS: Final = (1 << 63) // 1000 - 1

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
_TEXTS: Final = frozenset({"text", "varchar", "bpchar", "name", "xml", "bytea", "void", "unknown"})

_BUILT_IN: Final = "pg_catalog"

#: The maximum number of distinct strings that are interned per column.
_MAX_INTERNED: Final = 10_000

#: One column of a batch, None for null.
BatchColumn = tuple[Any, ...]

Arrays = tuple[NDArray[Any], Mask]


async def register_codecs(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Register codecs that decode times as raw bytes, and decimal numbers as floats, without a round trip."""
    for name in ("timestamp", "timestamptz", "date"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=bytes, decoder=bytes, format="binary")
    # The text of a float4 has the digits that the user wrote: 0.1, not 0.10000000149.
    for name in ("float4", "numeric"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=str, decoder=float, format="text")


def is_native(attribute: asyncpg.Attribute) -> bool:
    """Return whether the values need no cast to text by the server."""
    pg_type = attribute.type
    return pg_type.schema == _BUILT_IN and pg_type.kind == "scalar" and (pg_type.name in _TYPES or pg_type.name in _TEXTS)


class ColumnBuilder:
    """Builder of one column from batches of rows."""

    def __init__(self, name: str, pg_type: str) -> None:
        self.name = name
        self.type = _TYPES.get(pg_type, FieldType.STRING)
        self.out_of_range = 0  #: Times outside the range of nanoseconds, such as ``infinity``, which became null.
        self._read = _READERS.get(pg_type, _texts)
        self._parts: list[Arrays] = []
        self._interned: dict[Any, Any] = {}

    def add(self, values: BatchColumn) -> None:
        """Add the values of a batch."""
        if self.type is FieldType.STRING and len(self._interned) < _MAX_INTERNED:
            # Labels repeat: equal texts become one object.
            values = tuple(map(self._interned.setdefault, values, values))
        self._parts.append(self._read(values))

    def field(self) -> Field:
        """Return the whole column and release its parts; the builder is not used after that."""
        values = np.concatenate([part for part, _ in self._parts]) if self._parts else np.empty(0, self.type.dtype)
        nulls = np.concatenate([mask for _, mask in self._parts]) if self._parts else np.empty(0, np.bool_)
        self._parts.clear()
        self._interned.clear()
        if self.type is FieldType.TIME:
            values, is_out_of_range = _instants(values)
            self.out_of_range = int(np.count_nonzero(is_out_of_range & ~nulls))
            nulls |= is_out_of_range
        return Field(self.name, self.type, values, nulls if nulls.any() else None, nullable=True)


def _nulls(values: BatchColumn) -> Mask:
    if None in values:
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.zeros(len(values), np.bool_)


def _numbers(dtype: Any) -> Callable[[BatchColumn], Arrays]:
    empty = np.nan if dtype is np.float64 else 0

    def read(values: BatchColumn) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([empty if value is None else value for value in values])
        return np.array(values, dtype), nulls

    return read


def _times(dtype: str, scale: int) -> Callable[[BatchColumn], Arrays]:
    """Return a reader of times as microseconds since 2000; null and infinities become the minimum of int64."""
    limits = np.iinfo(dtype)
    minimum = np.array(limits.min, dtype).tobytes()

    def read(values: BatchColumn) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([minimum if value is None else value for value in values])
        counted = np.frombuffer(b"".join(values), dtype).astype(np.int64)
        is_infinite = (counted == limits.min) | (counted == limits.max)
        return np.where(is_infinite, np.iinfo(np.int64).min, counted * scale), nulls

    return read


def _texts(values: BatchColumn) -> Arrays:
    array = np.empty(len(values), object)
    array[:] = values
    return array, _nulls(values)


def _bytes(values: BatchColumn) -> Arrays:
    return _texts(tuple([None if value is None else _as_text(value) for value in values]))


def _json(values: BatchColumn) -> Arrays:
    return _texts(tuple([None if value is None else _parse_json(value) for value in values]))


def _as_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"\\x{value.hex()}"


def _parse_json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # A lone surrogate, which the type json may contain but a response may not.


def _instants(counted: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Convert microseconds since 2000 to nanoseconds since 1970; the mask marks times out of range."""
    is_out_of_range = (counted < -_MAX_MICROSECONDS - _POSTGRES_EPOCH) | (counted > _MAX_MICROSECONDS - _POSTGRES_EPOCH)
    counted = np.where(is_out_of_range, -_POSTGRES_EPOCH, counted)
    return (counted + _POSTGRES_EPOCH) * 1000, is_out_of_range


_READERS: Final[dict[str, Callable[[BatchColumn], Arrays]]] = {
    "int2": _numbers(np.int16),
    "int4": _numbers(np.int32),
    "int8": _numbers(np.int64),
    "float4": _numbers(np.float64),
    "float8": _numbers(np.float64),
    "numeric": _numbers(np.float64),
    "bool": _numbers(np.bool_),
    "timestamp": _times(">i8", 1),
    "timestamptz": _times(">i8", 1),
    "date": _times(">i4", _DAY),
    "json": _json,
    "jsonb": _json,
    "bytea": _bytes,
}
