"""Encoding of frames as Arrow IPC streams, for clients that accept them. Columns are sent as they are in memory.

Every frame is one stream, and the body is all streams in sequence. The error of a refId is a stream without fields.
Metadata of the schema is ``refId``, ``name``, ``meta``, ``status``, ``error`` and ``errorSource``; metadata of the
fields is ``labels`` and ``config``. Metadata that is not a string is JSON. Null is an Arrow null; times are
timestamp[ns, UTC]; an enum is its uint16, with its names in ``config``; JSON has the extension type ``arrow.json``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nanoarrow
import numpy as np
import orjson
from nanoarrow.c_array_stream import CArrayStream
from nanoarrow.ipc import StreamWriter
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.formats import response
from dashwright.expressions.formats.codec import CHUNK_VALUES, Fragment, with_type_version
from dashwright.expressions.formats.response import Result

#: The minimum number of rows of a record batch, because a batch has a fixed cost for each column.
_MIN_BATCH_ROWS = 1000

#: The fixed cost of encoding a frame, as a number of values.
_FRAME_COST = 2000

#: The maximum number of templates. Series that differ in the number of nulls or the length of labels need different ones.
_MAX_TEMPLATES = 1000

#: The lengths of buffers in a stream are multiples of this.
_ALIGNMENT_BYTES = 8

#: The end marker of a stream.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"

_EXTENSIONS = {FieldType.JSON: {b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""}}


def fragments(results: Mapping[str, Result]) -> Iterator[Fragment]:
    """Yield the body: for each refId, in the order of ``results``, its frames and then its error."""
    writer = ArrowFrameWriter()
    for ref_id, result in results.items():
        for frame in result.frames:
            yield from writer.write(frame)
        if result.error is not None:
            members = {key: str(value) for key, value in response.error_members(result.error).items()}
            yield _encode_stream(_schema({"refId": ref_id, **members}, []), []), 0


class ArrowFrameWriter:
    """Encoder of frames.

    Encoding a schema and a batch header costs as much as a thousand points of JSON. The series of a query mostly differ
    in labels and values only, so the stream of one series is the template of similar ones.
    """

    def __init__(self) -> None:
        self._meta: Mapping[str, Any] | None = None
        self._meta_json = ""
        self._templates: dict[tuple[Any, ...], _Template] = {}
        self._time_config: Mapping[str, Any] | None = None
        self._time_config_json = b""

    def write(self, frame: Frame) -> Iterator[Fragment]:
        """Yield the stream of a frame in fragments of one batch of rows."""
        row_count, column_count = frame.row_count, len(frame.fields)
        batch_rows = max(_MIN_BATCH_ROWS, CHUNK_VALUES // max(1, column_count))
        if row_count <= batch_rows:
            stream = self._encode_series(frame) if _is_series(frame) else self._encode_frame(frame)
            yield stream, _FRAME_COST + row_count * column_count
            return
        field_schemas = [_arrow_field(field) for field in frame.fields]
        schema = _schema(self._metadata(frame), field_schemas)
        sink = _Sink()
        writer = StreamWriter.from_writable(sink)
        for start in range(0, row_count, batch_rows):
            rows = slice(start, min(row_count, start + batch_rows))
            columns = [_column(field, field_schema, rows) for field, field_schema in zip(frame.fields, field_schemas, strict=True)]
            writer.write_array(_batch(schema, rows.stop - start, columns))
            yield sink.take(), (rows.stop - start) * column_count
        writer.close()
        yield sink.take(), 0

    def _encode_frame(self, frame: Frame) -> bytes:
        """Return the stream of a frame, with all rows in one batch."""
        field_schemas = [_arrow_field(field) for field in frame.fields]
        schema = _schema(self._metadata(frame), field_schemas)
        columns = [_column(field, field_schema) for field, field_schema in zip(frame.fields, field_schemas, strict=True)]
        return _encode_stream(schema, [_batch(schema, frame.row_count, columns)])

    def _encode_series(self, frame: Frame) -> bytes:
        """Return the stream of a series, the same bytes as ``_encode_frame``, from a template if there is one."""
        times, values = frame.fields
        metadata = [_json_of(None if values.labels is None else dict(values.labels.pairs)), _json_of(values.config)]
        # -1 is a series without a null mask: its stream differs from that of a mask without nulls.
        validity, null_count = b"", -1
        if values.nulls is not None:
            validity, null_count = _validity(values.nulls).tobytes(), int(np.count_nonzero(values.nulls))
            # Zeros up to the next multiple of the alignment.
            validity += bytes(-len(validity) % _ALIGNMENT_BYTES)
        body = (np.ascontiguousarray(times.values).data, validity, np.ascontiguousarray(values.values).data, _END)
        # Everything else that the stream depends on; the lengths of the metadata change offsets in the header.
        shape = len(times.values), null_count, *map(len, metadata), values.nullable, times.nullable, self._time_config_of(times)
        key = *shape, values.name, times.name, frame.name, frame.ref_id, self._meta_of(frame)
        if key in self._templates:
            return b"".join((*self._templates[key].header(metadata), *body))
        stream = self._encode_frame(frame)
        end = b"".join(body)
        if len(self._templates) < _MAX_TEMPLATES and stream.endswith(end):
            template = _Template.of(stream.removesuffix(end), metadata)
            if template is not None:
                self._templates[key] = template
        return stream

    def _time_config_of(self, times: Field) -> bytes:
        if times.config is not self._time_config:
            self._time_config, self._time_config_json = times.config, _json_of(times.config)
        return self._time_config_json

    def _metadata(self, frame: Frame) -> dict[str, str]:
        return {"refId": frame.ref_id, "name": frame.name, "meta": self._meta_of(frame)}

    def _meta_of(self, frame: Frame) -> str:
        if frame.meta is not self._meta:
            self._meta = frame.meta
            self._meta_json = "" if frame.meta is None else orjson.dumps(with_type_version(frame.meta)).decode()
        return self._meta_json


def _is_series(frame: Frame) -> bool:
    """Return whether the frame is one series: times without nulls and float64 values."""
    if len(frame.fields) != 2:
        return False
    times, values = frame.fields
    return times.type is FieldType.TIME and times.nulls is None and times.labels is None and values.type is FieldType.FLOAT64


@dataclass(frozen=True, slots=True)
class _Template:
    """The header of a stream without the metadata in which the series of a query differ."""

    parts: Sequence[bytes]  #: The bytes before, between and after the metadata.
    order: Sequence[int]  #: The positions of the metadata, in the order in which the header has them.

    @staticmethod
    def of(header: bytes, metadata: Sequence[bytes]) -> "_Template | None":
        """Return the template of a header, or None if an item of ``metadata`` occurs twice, so that its position is ambiguous."""
        non_empty = [index for index, encoded in enumerate(metadata) if encoded]
        if any(header.count(metadata[index]) != 1 for index in non_empty):
            return None
        order = sorted(non_empty, key=lambda index: header.index(metadata[index]))
        parts, position = [], 0
        for index in order:
            start = header.index(metadata[index])
            parts.append(header[position:start])
            position = start + len(metadata[index])
        return _Template([*parts, header[position:]], order)

    def header(self, metadata: Sequence[bytes]) -> Iterator[bytes]:
        """Yield the parts of the header with the metadata of another series."""
        for part, index in zip(self.parts, self.order, strict=False):
            yield part
            yield metadata[index]
        yield self.parts[-1]


def _json_of(document: Mapping[str, Any] | None) -> bytes:
    return b"" if document is None else orjson.dumps(document)


def _schema(metadata: Mapping[str, str], field_schemas: Sequence[Any]) -> Any:
    """Return the schema of a frame. Empty metadata is omitted."""
    return _RECORD.modify(metadata={key.encode(): value.encode() for key, value in metadata.items() if value}, children=field_schemas)


def _batch(schema: Any, row_count: int, columns: Sequence[Any]) -> Any:
    return nanoarrow.c_array_from_buffers(schema, row_count, [None], children=columns, null_count=0)


def _encode_stream(schema: Any, batches: Sequence[Any]) -> bytes:
    """Return a stream that is written in one call, which takes half the time of several calls."""
    sink = _Sink()
    StreamWriter.from_writable(sink).serialize_stream(CArrayStream.from_c_arrays(list(batches), schema))
    return sink.take()


class _Sink:
    """A buffer for the bytes that a stream writer writes."""

    def __init__(self) -> None:
        self._writes: list[bytes] = []

    def write(self, buffer: Any) -> int:
        # The writer reuses its buffer after the call, so the bytes are copied.
        self._writes.append(bytes(buffer))
        return len(self._writes[-1])

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        writes, self._writes = self._writes, []
        return b"".join(writes)


def _arrow_type(field_type: FieldType) -> Any:
    """Return the Arrow type for a type of column."""
    match field_type:
        case FieldType.TIME:
            return nanoarrow.c_schema(nanoarrow.timestamp("ns", "UTC"))
        case FieldType.STRING | FieldType.JSON:
            return nanoarrow.c_schema(nanoarrow.string())
        case FieldType.BOOL:
            return nanoarrow.c_schema(nanoarrow.bool_())
        case _:
            return nanoarrow.c_schema(getattr(nanoarrow, field_type.dtype.name)())


_ARROW_TYPES = {field_type: _arrow_type(field_type) for field_type in FieldType}
#: The schema of a record batch, without its columns.
_RECORD = nanoarrow.c_schema(nanoarrow.struct([], nullable=False))


def _arrow_field(field: Field) -> Any:
    """Return the Arrow schema of a column: its type, name and metadata."""
    metadata = dict(_EXTENSIONS.get(field.type, {}))
    if field.labels is not None:
        metadata[b"labels"] = orjson.dumps(dict(field.labels.pairs))
    if field.config is not None:
        metadata[b"config"] = orjson.dumps(field.config)
    return _ARROW_TYPES[field.type].modify(name=field.name, nullable=field.nullable or field.nulls is not None, metadata=metadata)


def _column(field: Field, schema: Any, rows: slice = slice(None)) -> Any:
    """Return some rows of a column, by default all, as an Arrow array."""
    values = field.values[rows]
    nulls = None if field.nulls is None else field.nulls[rows]
    buffers = [None if nulls is None else _validity(nulls), *_buffers(field.type, values, nulls)]
    null_count = 0 if nulls is None else int(np.count_nonzero(nulls))
    return nanoarrow.c_array_from_buffers(schema, len(values), buffers, null_count=null_count)


def _validity(nulls: Mask) -> NDArray[np.uint8]:
    """Return the validity bitmap: a bit per value, 0 for null."""
    return np.packbits(~nulls, bitorder="little")


def _buffers(field_type: FieldType, values: NDArray[Any], nulls: Mask | None) -> list[Any]:
    """Return the buffers of a column that follow its validity bitmap."""
    if field_type is FieldType.BOOL:
        return [np.packbits(values, bitorder="little")]
    if field_type not in {FieldType.STRING, FieldType.JSON}:
        return [np.ascontiguousarray(values)]
    null_mask = np.zeros(len(values), np.bool_) if nulls is None else nulls
    encode = str.encode if field_type is FieldType.STRING else orjson.dumps
    encoded = [b"" if is_null else encode(value) for value, is_null in zip(values.tolist(), null_mask.tolist(), strict=True)]
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(value) for value in encoded], out=offsets[1:])
    return [offsets, b"".join(encoded)]
