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

#: 1 January 2000, PostgreSQL's epoch, in microseconds.
_EPOCH: Final = 946_684_800_000_000

_DAY: Final = 86_400_000_000
#: Microseconds before and after 1970 that fit into 64 bits of nanoseconds.
_REACH: Final = (1 << 63) // 1000 - 1

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
#: Types that arrive as text, or nearly, without a cast.
_TEXTS: Final = frozenset({"text", "varchar", "bpchar", "name", "xml", "bytea", "void", "unknown"})

_BUILT_IN: Final = "pg_catalog"

#: Most distinct texts of a column that are remembered.
_SHARED: Final = 10_000

#: One column of a batch, None for null.
Values = tuple[Any, ...]

Arrays = tuple[NDArray[Any], Mask]


async def read_natively(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Register codecs that return times as their raw bytes, and decimal numbers as floats, without a round trip."""
    for name in ("timestamp", "timestamptz", "date"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=bytes, decoder=bytes, format="binary")
    # The text of a float4 has the digits that the user wrote: 0.1, not 0.10000000149.
    for name in ("float4", "numeric"):
        await connection.set_type_codec(name, schema=_BUILT_IN, encoder=str, decoder=float, format="text")


def is_native(attribute: asyncpg.Attribute) -> bool:
    """Return whether the values need no cast to text by the server."""
    kind = attribute.type
    return kind.schema == _BUILT_IN and kind.kind == "scalar" and (kind.name in _TYPES or kind.name in _TEXTS)


class ColumnBuilder:
    """One column while its rows arrive."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.type = _TYPES.get(kind, FieldType.STRING)
        self.lost = 0  #: Times outside the range of nanoseconds, such as ``infinity``, which became null.
        self._read = _READERS.get(kind, _texts)
        self._parts: list[Arrays] = []
        self._known: dict[Any, Any] = {}

    def add(self, values: Values) -> None:
        """Add the values of a batch."""
        if self.type is FieldType.STRING and len(self._known) < _SHARED:
            # Labels repeat: equal texts become one object.
            values = tuple(map(self._known.setdefault, values, values))
        self._parts.append(self._read(values))

    def field(self) -> Field:
        """Return the whole column and release its parts; the builder is not used after that."""
        values = np.concatenate([part for part, _ in self._parts]) if self._parts else np.empty(0, self.type.dtype)
        nulls = np.concatenate([mask for _, mask in self._parts]) if self._parts else np.empty(0, np.bool_)
        self._parts.clear()
        self._known.clear()
        if self.type is FieldType.TIME:
            values, beyond = _instants(values)
            self.lost = int(np.count_nonzero(beyond & ~nulls))
            nulls |= beyond
        return Field(self.name, self.type, values, nulls if nulls.any() else None, nullable=True)


def _nulls(values: Values) -> Mask:
    if None in values:
        return np.fromiter((value is None for value in values), np.bool_, len(values))
    return np.zeros(len(values), np.bool_)


def _numbers(dtype: Any) -> Callable[[Values], Arrays]:
    empty = np.nan if dtype is np.float64 else 0

    def read(values: Values) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([empty if value is None else value for value in values])
        return np.array(values, dtype), nulls

    return read


def _times(dtype: str, scale: int) -> Callable[[Values], Arrays]:
    """Return a reader of times as microseconds from 2000; null and infinities become the least number."""
    ends = np.iinfo(dtype)
    least = np.array(ends.min, dtype).tobytes()

    def read(values: Values) -> Arrays:
        nulls = _nulls(values)
        if nulls.any():
            values = tuple([least if value is None else value for value in values])
        counted = np.frombuffer(b"".join(values), dtype).astype(np.int64)
        endless = (counted == ends.min) | (counted == ends.max)
        return np.where(endless, np.iinfo(np.int64).min, counted * scale), nulls

    return read


def _texts(values: Values) -> Arrays:
    made = np.empty(len(values), object)
    made[:] = values
    return made, _nulls(values)


def _bytes(values: Values) -> Arrays:
    return _texts(tuple([None if value is None else _as_text(value) for value in values]))


def _documents(values: Values) -> Arrays:
    return _texts(tuple([None if value is None else _as_tree(value) for value in values]))


def _as_text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"\\x{value.hex()}"


def _as_tree(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text  # half of a surrogate pair, which type json can hold but a response cannot


def _instants(counted: NDArray[np.int64]) -> tuple[NDArray[np.int64], Mask]:
    """Return nanoseconds from 1970, and a mask of those beyond their range."""
    beyond = (counted < -_REACH - _EPOCH) | (counted > _REACH - _EPOCH)
    counted = np.where(beyond, -_EPOCH, counted)
    return (counted + _EPOCH) * 1000, beyond


_READERS: Final[dict[str, Callable[[Values], Arrays]]] = {
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
    "json": _documents,
    "jsonb": _documents,
    "bytea": _bytes,
}
