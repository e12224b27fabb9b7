"""Data frames as JSON, as Grafana's clients read them. ``frame_reader`` is the counterpart.

``values`` has one array a field: times as epoch milliseconds, null for null, NaN and infinities. What JSON cannot hold
is in two more members with one entry a field: ``entities`` (rows that are NaN, Inf, NegInf) and ``nanos`` (the part of
a time below a millisecond).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame

#: Values encoded in one step: encoding holds the interpreter lock, for a few milliseconds with this many.
PIECE = 100_000

#: The fixed cost of a frame, in values: ten thousand frames of one value each take time, too.
FRAME = 300

#: Encoded bytes, and their cost in values.
Fragment = tuple[bytes, int]

#: Encodes the entry of a column in ``entities`` or ``nanos``; None if it has none.
Beside = Callable[[], Iterator[Fragment]] | None

_NANOS = 1_000_000
_TYPES = {FieldType.TIME: "time", FieldType.BOOL: "boolean", FieldType.STRING: "string", FieldType.ENUM: "enum", FieldType.JSON: "other"}


def pieces(fragments: Iterable[Fragment]) -> Iterator[bytes]:
    """Yield the fragments joined to pieces of about ``PIECE`` values."""
    parts: list[bytes] = []
    held = 0
    for part, count in fragments:
        if parts and held + count > PIECE:
            yield b"".join(parts)
            parts, held = [], 0
        parts.append(part)
        held += count
    if parts:
        yield b"".join(parts)


class JsonFrameWriter:
    """Encodes frames one after the other. Frames that share a time column share its encoding."""

    def __init__(self) -> None:
        self._times: NDArray[Any] | None = None
        self._encoded_times: list[bytes] = []
        self._nanos: Beside = None

    def write(self, frame: Frame) -> Iterator[Fragment]:
        """Yield the frame as fragments; a small one is a single fragment."""
        if frame.rows * len(frame.fields) > PIECE:
            yield from self._parts(frame)
            return
        # Most frames are small and there may be very many, so each becomes one fragment.
        parts = list(self._parts(frame))
        yield b"".join([part for part, _ in parts]), FRAME + sum([count for _, count in parts])

    def _parts(self, frame: Frame) -> Iterator[Fragment]:
        yield b'{"schema":' + orjson.dumps(_schema(frame)) + b',"data":{"values":[', 0
        entities: list[Beside] = []
        nanos: list[Beside] = []
        for number, item in enumerate(frame.fields):
            if number:
                yield b",", 0
            if item.type is FieldType.TIME:
                nanos.append((yield from self._instants(item)))
                entities.append(None)
                continue
            entities.append((yield from _floats(item)) if item.type.is_float else (yield from _others(item)))
            nanos.append(None)
        yield b"]", 0
        yield from _beside(b"entities", entities)
        yield from _beside(b"nanos", nanos)
        yield b"}}", 0

    def _instants(self, item: Field) -> Generator[Fragment, None, Beside]:
        if item.nulls is None and item.values is self._times:
            # Copying bytes costs almost nothing compared with encoding, so they do not count as values.
            yield from [(part, 0) for part in self._encoded_times]
            return self._nanos
        encoded: list[bytes] = []
        finer = False
        for rows in _slices(len(item)):
            whole = item.values[rows] // _NANOS
            finer = finer or bool(np.count_nonzero(whole * _NANOS != item.values[rows]))
            encoded.append(_dumps(_with_nulls(whole, item, rows), rows))
            yield encoded[-1], len(whole)
        encoded.append(b"]")
        yield b"]", 0
        nanos = partial(_listed, item.values, lambda values: values % _NANOS) if finer else None
        if item.nulls is None:
            self._times, self._encoded_times, self._nanos = item.values, encoded, nanos
        return nanos


def meta_of(frame: Frame) -> Mapping[str, Any] | None:
    """Return the meta as it is written: always with a version."""
    if frame.meta is None or "typeVersion" in frame.meta:
        return frame.meta
    return {**frame.meta, "typeVersion": [0, 0]}


def _schema(frame: Frame) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    if frame.name:
        schema["name"] = frame.name
    if frame.ref_id:
        schema["refId"] = frame.ref_id
    if (meta := meta_of(frame)) is not None:
        schema["meta"] = meta
    schema["fields"] = [_field_schema(item) for item in frame.fields]
    return schema


def _field_schema(item: Field) -> dict[str, Any]:
    schema: dict[str, Any] = {"name": item.name} if item.name else {}
    schema["type"] = _TYPES.get(item.type, "number")
    schema["typeInfo"] = {"frame": item.type.value, "nullable": True} if item.nullable else {"frame": item.type.value}
    if item.labels is not None:
        schema["labels"] = dict(item.labels.pairs)
    if item.config is not None:
        schema["config"] = item.config
    return schema


def _floats(item: Field) -> Generator[Fragment, None, Beside]:
    odd: list[NDArray[np.intp]] = []
    for rows in _slices(len(item)):
        values = item.values[rows]
        finite = np.isfinite(values)
        if np.count_nonzero(finite) < len(values):
            if item.nulls is not None:
                finite |= item.nulls[rows]
            odd.append(np.flatnonzero(~finite) + rows.start)
        yield _dumps(values, rows), len(values)
    yield b"]", 0
    return partial(_entities, item.values, np.concatenate(odd)) if any(map(len, odd)) else None


def _others(item: Field) -> Generator[Fragment, None, Beside]:
    for rows in _slices(len(item)):
        values = item.values[rows]
        yield _dumps(values.tolist() if values.dtype == object else _with_nulls(values, item, rows), rows), len(values)
    yield b"]", 0
    return None


def _slices(size: int) -> Iterator[slice]:
    """Yield slices of ``PIECE`` rows that cover all rows; at least one slice."""
    for start in range(0, max(size, 1), PIECE):
        yield slice(start, min(size, start + PIECE))


def _with_nulls(values: NDArray[Any], item: Field, rows: slice) -> NDArray[Any] | list[Any]:
    """Return the rows in a form that orjson writes: the array, or objects if there are nulls."""
    if item.nulls is None:
        return values
    return [None if null else value for value, null in zip(values.tolist(), item.nulls[rows].tolist(), strict=True)]


def _dumps(values: NDArray[Any] | list[Any], rows: slice) -> bytes:
    """Return a part of an array as JSON, without the bracket that ends the whole array."""
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
    encoded = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    return b"," + encoded[1:-1] if rows.start else encoded[:-1]


def _listed(values: NDArray[Any], change: Callable[[NDArray[Any]], NDArray[Any]] | None = None) -> Iterator[Fragment]:
    """Yield the values as a JSON array, changed slice by slice."""
    for rows in _slices(len(values)):
        part = values[rows]
        yield _dumps(change(part) if change else part, rows), len(part)
    yield b"]", 0


def _beside(key: bytes, entries: Sequence[Beside]) -> Iterator[Fragment]:
    """Yield the member ``key`` with one entry a field, or nothing if all entries are empty."""
    if not any(entries):
        return
    for number, entry in enumerate(entries):
        yield b"," if number else b',"%s":[' % key, 0
        if entry is None:
            yield b"null", 0
        else:
            yield from entry()
    yield b"]", 0


def _entities(values: NDArray[Any], rows: NDArray[np.intp]) -> Iterator[Fragment]:
    """Yield the rows that are not finite numbers, by what they are."""
    odd = values[rows]
    kinds = {b"NaN": rows[np.isnan(odd)], b"Inf": rows[odd == np.inf], b"NegInf": rows[odd == -np.inf]}
    for number, (kind, found) in enumerate((kind, found) for kind, found in kinds.items() if len(found)):
        yield b'%s"%s":' % (b"," if number else b"{", kind), 0
        yield from _listed(found)
    yield b"}", 0
