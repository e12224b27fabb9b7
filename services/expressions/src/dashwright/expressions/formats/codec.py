"""Encoding of frames as JSON for Grafana's clients. ``frame_reader`` reads this JSON.

``values`` has one array per field: times as epoch milliseconds, null for null, NaN and infinities. Two more members
have one entry per field for what JSON numbers cannot express: ``entities`` (the positions of NaN, Inf and NegInf) and
``nanos`` (the nanoseconds of each time below a millisecond).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import LabelSets

#: The number of values that are encoded in one step, which holds the interpreter lock for a few milliseconds.
CHUNK_VALUES = 100_000

#: The fixed cost of encoding a frame, as a number of values.
FRAME_COST = 300

#: Encoded bytes, and their cost: the number of values that would take the same time to encode.
Fragment = tuple[bytes, int]

#: A function that encodes the entry of a column in ``entities`` or ``nanos``; None for an empty entry.
EntryEncoder = Callable[[], Iterator[Fragment]] | None

NANOS_PER_MILLISECOND = 1_000_000
#: The JSON between two strings of an array. Quotes inside a string are escaped, so it occurs nowhere else.
_SEPARATOR = b'","'
_TYPES = {FieldType.TIME: "time", FieldType.BOOL: "boolean", FieldType.STRING: "string", FieldType.ENUM: "enum", FieldType.JSON: "other"}


def chunks(fragments: Iterable[Fragment]) -> Iterator[bytes]:
    """Yield the fragments joined to chunks with a cost of at most ``CHUNK_VALUES``, unless a single fragment costs more."""
    chunk: list[bytes] = []
    chunk_cost = 0
    for encoded, cost in fragments:
        if chunk and chunk_cost + cost > CHUNK_VALUES:
            yield b"".join(chunk)
            chunk, chunk_cost = [], 0
        chunk.append(encoded)
        chunk_cost += cost
    if chunk:
        yield b"".join(chunk)


class JsonFrameWriter:
    """Encoder of frames. Consecutive frames with the same time column share its encoding."""

    def __init__(self) -> None:
        # The time column that was encoded last.
        self._times: NDArray[Any] | None = None
        self._encoded_times: list[bytes] = []
        self._nanos: EntryEncoder = None

    def write(self, frame: Frame, types: Sequence[str] = ()) -> Iterator[Fragment]:
        """Yield the frame as fragments; a small one is a single fragment.

        ``types`` are the types of the fields in the schema, if they differ from those of the columns.
        """
        if frame.row_count * len(frame.fields) > CHUNK_VALUES:
            yield from self._fragments(frame, types)
            return
        # Most frames are small and there may be very many, so each becomes one fragment.
        fragments = list(self._fragments(frame, types))
        yield b"".join([encoded for encoded, _ in fragments]), FRAME_COST + sum([cost for _, cost in fragments])

    def _fragments(self, frame: Frame, types: Sequence[str]) -> Iterator[Fragment]:
        """Yield the schema of a frame, its values, and the members ``entities`` and ``nanos`` if they are needed."""
        yield b'{"schema":' + _encode_schema(frame, types) + b',"data":{"values":[', 0
        entities: list[EntryEncoder] = []
        nanos: list[EntryEncoder] = []
        for index, field in enumerate(frame.fields):
            if index:
                yield b",", 0
            if field.type is FieldType.TIME:
                nanos.append((yield from self._time_values(field)))
                entities.append(None)
                continue
            entities.append((yield from _float_values(field)) if field.type.is_float else (yield from _other_values(field)))
            nanos.append(None)
        yield b"]", 0
        yield from _entries(b"entities", entities)
        yield from _entries(b"nanos", nanos)
        yield b"}}", 0

    def _time_values(self, field: Field) -> Generator[Fragment, None, EntryEncoder]:
        """Yield the array of a time column, and return the encoder of its nanoseconds."""
        if field.nulls is None and field.values is self._times:
            # Copying bytes costs almost nothing compared with encoding, so its cost is 0.
            yield from [(encoded, 0) for encoded in self._encoded_times]
            return self._nanos
        encoded_times: list[bytes] = []
        has_nanos = False
        for rows in _slices(len(field)):
            milliseconds = field.values[rows] // NANOS_PER_MILLISECOND
            has_nanos = has_nanos or bool(np.count_nonzero(milliseconds * NANOS_PER_MILLISECOND != field.values[rows]))
            encoded_times.append(_dumps(_with_nulls(milliseconds, field, rows), rows))
            yield encoded_times[-1], len(milliseconds)
        encoded_times.append(b"]")
        yield b"]", 0
        nanos = partial(_array, field.values, lambda values: values % NANOS_PER_MILLISECOND) if has_nanos else None
        if field.nulls is None:
            self._times, self._encoded_times, self._nanos = field.values, encoded_times, nanos
        return nanos


def with_type_version(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the meta of a frame in its written form, which always has a ``typeVersion``."""
    return meta if "typeVersion" in meta else {**meta, "typeVersion": [0, 0]}


def encode_schema_start(name: str, ref_id: str, meta: Mapping[str, Any] | None) -> bytes:
    """Return the schema of a frame up to its first field."""
    schema: dict[str, Any] = {}
    if name:
        schema["name"] = name
    if ref_id:
        schema["refId"] = ref_id
    if meta is not None:
        schema["meta"] = with_type_version(meta)
    # Without the closing bracket of the fields and the closing brace of the schema.
    return orjson.dumps({**schema, "fields": []})[:-2]


def encode_field_schema(field: Field, type_: str = "") -> bytes:
    """Return the schema of a field, with the type ``type_`` if it is given, else the type of the column."""
    return orjson.dumps(_field_schema(field, type_))


def encode_strings(strings: Sequence[str]) -> list[bytes]:
    """Return each string as JSON, without quotes."""
    # Without the bracket and the quote at each end of the array.
    return orjson.dumps(list(strings))[2:-2].split(_SEPARATOR) if strings else []


def encode_labels(labels: LabelSets) -> list[bytes]:
    """Return each label set as a JSON object."""
    if not labels.columns:
        return [orjson.dumps(dict(label_set.pairs)) for label_set in labels]
    members = [b'%s:"%%s"' % orjson.dumps(key).replace(b"%", b"%%") for key in labels.keys]
    template = b"{" + b",".join(members) + b"}"
    return [template % row for row in zip(*map(encode_strings, labels.columns), strict=True)]


def _encode_schema(frame: Frame, types: Sequence[str]) -> bytes:
    types = types or [""] * len(frame.fields)
    fields = b",".join([encode_field_schema(field, type_) for field, type_ in zip(frame.fields, types, strict=True)])
    return encode_schema_start(frame.name, frame.ref_id, frame.meta) + fields + b"]}"


def _field_schema(field: Field, type_: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"name": field.name} if field.name else {}
    schema["type"] = type_ or _TYPES.get(field.type, "number")
    schema["typeInfo"] = {"frame": field.type.value, "nullable": True} if field.nullable else {"frame": field.type.value}
    if field.labels is not None:
        schema["labels"] = dict(field.labels.pairs)
    if field.config is not None:
        schema["config"] = field.config
    return schema


def _float_values(field: Field) -> Generator[Fragment, None, EntryEncoder]:
    """Yield the array of a float column, and return the encoder of its entities."""
    entity_rows: list[NDArray[np.intp]] = []
    for rows in _slices(len(field)):
        values = field.values[rows]
        is_finite = np.isfinite(values)
        if np.count_nonzero(is_finite) < len(values):
            is_entity = ~is_finite if field.nulls is None else ~is_finite & ~field.nulls[rows]
            entity_rows.append(np.flatnonzero(is_entity) + rows.start)
        yield _dumps(values, rows), len(values)
    yield b"]", 0
    return partial(_entities, field.values, np.concatenate(entity_rows)) if any(map(len, entity_rows)) else None


def _other_values(field: Field) -> Generator[Fragment, None, EntryEncoder]:
    """Yield the array of a column that has neither times nor floats. It has no entities."""
    for rows in _slices(len(field)):
        values = field.values[rows]
        yield _dumps(values.tolist() if values.dtype == object else _with_nulls(values, field, rows), rows), len(values)
    yield b"]", 0
    return None


def _slices(size: int) -> Iterator[slice]:
    """Yield slices of ``CHUNK_VALUES`` rows that cover all rows; at least one slice."""
    for start in range(0, max(size, 1), CHUNK_VALUES):
        yield slice(start, min(size, start + CHUNK_VALUES))


def _with_nulls(values: NDArray[Any], field: Field, rows: slice) -> NDArray[Any] | list[Any]:
    """Return the values in a form that orjson can encode: the array, or a list if the column has nulls."""
    if field.nulls is None:
        return values
    return [None if is_null else value for value, is_null in zip(values.tolist(), field.nulls[rows].tolist(), strict=True)]


def _dumps(values: NDArray[Any] | list[Any], rows: slice) -> bytes:
    """Return some rows of an array as JSON, without the closing bracket of the array, since more rows may follow."""
    if isinstance(values, np.ndarray):
        values = np.ascontiguousarray(values)
    encoded = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)
    return b"," + encoded[1:-1] if rows.start else encoded[:-1]


def _array(values: NDArray[Any], convert: Callable[[NDArray[Any]], NDArray[Any]] | None = None) -> Iterator[Fragment]:
    """Yield the values as a JSON array, converted slice by slice."""
    for rows in _slices(len(values)):
        chunk = values[rows]
        yield _dumps(convert(chunk) if convert else chunk, rows), len(chunk)
    yield b"]", 0


def _entries(key: bytes, encoders: Sequence[EntryEncoder]) -> Iterator[Fragment]:
    """Yield the member ``key`` with one entry per field, or nothing if all entries are empty."""
    if not any(encoders):
        return
    for index, encode in enumerate(encoders):
        yield b"," if index else b',"%s":[' % key, 0
        if encode is None:
            yield b"null", 0
        else:
            yield from encode()
    yield b"]", 0


def encode_entities(values: NDArray[Any], rows: NDArray[np.intp]) -> bytes:
    """Return the positions of NaN, Inf and NegInf among ``rows``, as a JSON object of arrays."""
    return b"".join([encoded for encoded, _ in _entities(values, rows)])


def _entities(values: NDArray[Any], rows: NDArray[np.intp]) -> Iterator[Fragment]:
    """Yield the positions of NaN, Inf and NegInf among ``rows``, as a JSON object of arrays."""
    numbers = values[rows]
    rows_by_name = {b"NaN": rows[np.isnan(numbers)], b"Inf": rows[numbers == np.inf], b"NegInf": rows[numbers == -np.inf]}
    non_empty = [(name, rows_of_name) for name, rows_of_name in rows_by_name.items() if len(rows_of_name)]
    for index, (name, rows_of_name) in enumerate(non_empty):
        yield b'%s"%s":' % (b"," if index else b"{", name), 0
        yield from _array(rows_of_name)
    yield b"}", 0
