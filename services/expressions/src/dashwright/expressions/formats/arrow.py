"""Data frames as Arrow IPC streams, for clients that accept them. Columns are sent as they are in memory.

Every frame is one complete stream, and the body is all streams in sequence; a refId that failed has a stream without
fields. What Arrow has no place for is metadata of the schema (``refId``, ``name``, ``meta``; ``status``, ``error``,
``errorSource``) and of the fields (``labels``, ``config``), each JSON unless it is plain text. Null is Arrow null and
NaN is NaN; times are timestamp[ns, UTC]; an enum is its uint16 with the texts in ``config``; JSON is text of the
extension type ``arrow.json``.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from dashwright.expressions.formats.codec import PIECE, Fragment, meta_of
from dashwright.expressions.formats.response import Result

#: Rows of a record batch, however many columns there are: a batch has a fixed cost for each column.
_LEAST_ROWS = 1000

#: The fixed cost of a frame, in values: encoding values is cheap here.
_FRAME = 2000

#: Most streams kept as templates, one for each number of nulls and length of labels.
_TEMPLATES = 1000

#: The last bytes of a stream.
_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"

_EXTENSIONS = {FieldType.JSON: {b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""}}


def fragments(results: Mapping[str, Result]) -> Iterator[Fragment]:
    """Yield the body: the frames of every refId in the order of ``results``, then its error."""
    writer = ArrowFrameWriter()
    for ref_id, result in results.items():
        for frame in result.frames:
            yield from writer.write(frame)
        if result.error is not None:
            members = {key: str(value) for key, value in response.error_members(result.error).items()}
            yield _whole(_schema({"refId": ref_id, **members}, []), []), 0


class ArrowFrameWriter:
    """Encodes frames one after the other.

    Creating schema and batch header costs as much as encoding a thousand points as JSON. The series of one query mostly
    differ in labels and values only, so the first stream serves as a template for the others.
    """

    def __init__(self) -> None:
        self._meta: Mapping[str, Any] | None = None
        self._meta_text = ""
        self._templates: dict[tuple[Any, ...], tuple[bytes, bytes]] = {}

    def write(self, frame: Frame) -> Iterator[Fragment]:
        """Yield one stream, a batch of rows at a time."""
        count = frame.rows
        height = max(_LEAST_ROWS, PIECE // max(1, len(frame.fields)))
        if count <= height:
            yield self._series(frame) if _is_series(frame) else self._whole(frame), _FRAME + count * len(frame.fields)
            return
        types = [_type(item) for item in frame.fields]
        schema = _schema(self._metadata(frame), types)
        sink = _Sink()
        writer = StreamWriter.from_writable(sink)
        for start in range(0, count, height):
            rows = slice(start, min(count, start + height))
            writer.write_array(
                _batch(schema, rows.stop - start, [_column(*column, rows) for column in zip(frame.fields, types, strict=True)])
            )
            yield sink.taken(), (rows.stop - start) * len(frame.fields)
        writer.close()
        yield sink.taken(), 0

    def _whole(self, frame: Frame) -> bytes:
        """Return all rows of a frame as one batch."""
        types = [_type(item) for item in frame.fields]
        schema = _schema(self._metadata(frame), types)
        return _whole(schema, [_batch(schema, frame.rows, [_column(*column) for column in zip(frame.fields, types, strict=True)])])

    def _series(self, frame: Frame) -> bytes:
        """Return the bytes of ``_whole``, made from a template if there is one."""
        times, values = frame.fields
        labels = b"" if values.labels is None else orjson.dumps(dict(values.labels.pairs))
        validity, null_count = b"", -1
        if values.nulls is not None:
            validity, null_count = _validity(values.nulls).tobytes(), int(np.count_nonzero(values.nulls))
            validity += bytes(-len(validity) % 8)
        body = (np.ascontiguousarray(times.values).data, validity, np.ascontiguousarray(values.values).data, _END)
        # Everything else that a stream depends on, and the length of the labels, because offsets in the header depend on it.
        shape = len(times.values), null_count, len(labels), values.nullable, times.nullable
        key = *shape, values.name, times.name, frame.name, frame.ref_id, self._meta_of(frame)
        if key in self._templates:
            before, behind = self._templates[key]
            return b"".join((before, labels, behind, *body))
        whole = self._whole(frame)
        if len(self._templates) < _TEMPLATES:
            # Labels whose text also occurs elsewhere in the stream cannot be replaced by position.
            end = b"".join(body)
            around = whole.removesuffix(end).split(labels) if labels else [whole.removesuffix(end), b""]
            if whole.endswith(end) and len(around) == 2:
                self._templates[key] = around[0], around[1]
        return whole

    def _metadata(self, frame: Frame) -> dict[str, str]:
        return {"refId": frame.ref_id, "name": frame.name, "meta": self._meta_of(frame)}

    def _meta_of(self, frame: Frame) -> str:
        if frame.meta is not self._meta:
            self._meta, self._meta_text = frame.meta, "" if frame.meta is None else orjson.dumps(meta_of(frame)).decode()
        return self._meta_text


def _is_series(frame: Frame) -> bool:
    """Return whether the frame is times and float64 values without nulled times or configuration."""
    if len(frame.fields) != 2:
        return False
    times, values = frame.fields
    return (
        times.type is FieldType.TIME
        and times.nulls is None
        and times.labels is None
        and times.config is None
        and values.type is FieldType.FLOAT64
        and values.config is None
    )


def _schema(metadata: Mapping[str, str], types: Sequence[Any]) -> Any:
    """Return the schema of a frame; metadata without a text is left out."""
    return _RECORD.modify(metadata={key.encode(): value.encode() for key, value in metadata.items() if value}, children=types)


def _batch(schema: Any, count: int, columns: Sequence[Any]) -> Any:
    return nanoarrow.c_array_from_buffers(schema, count, [None], children=columns, null_count=0)


def _whole(schema: Any, batches: Sequence[Any]) -> bytes:
    """Return a stream written in one call, which takes the writer half the time."""
    sink = _Sink()
    StreamWriter.from_writable(sink).serialize_stream(CArrayStream.from_c_arrays(list(batches), schema))
    return sink.taken()


class _Sink:
    """The bytes that a writer wrote since they were last taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: Any) -> int:
        # The writer reuses its buffer after the call, so the bytes are copied.
        self._parts.append(bytes(part))
        return len(self._parts[-1])

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _bare(kind: FieldType) -> Any:
    """Return the Arrow type of columns of this type."""
    match kind:
        case FieldType.TIME:
            return nanoarrow.c_schema(nanoarrow.timestamp("ns", "UTC"))
        case FieldType.STRING | FieldType.JSON:
            return nanoarrow.c_schema(nanoarrow.string())
        case FieldType.BOOL:
            return nanoarrow.c_schema(nanoarrow.bool_())
        case _:
            return nanoarrow.c_schema(getattr(nanoarrow, kind.dtype.name)())


_BARE = {kind: _bare(kind) for kind in FieldType}
_RECORD = nanoarrow.c_schema(nanoarrow.struct([], nullable=False))


def _type(item: Field) -> Any:
    """Return the Arrow type of a column, with its name and metadata."""
    metadata = dict(_EXTENSIONS.get(item.type, {}))
    if item.labels is not None:
        metadata[b"labels"] = orjson.dumps(dict(item.labels.pairs))
    if item.config is not None:
        metadata[b"config"] = orjson.dumps(item.config)
    return _BARE[item.type].modify(name=item.name, nullable=item.nullable or item.nulls is not None, metadata=metadata)


def _column(item: Field, kind: Any, rows: slice = slice(None)) -> Any:
    values = item.values[rows]
    nulls = None if item.nulls is None else item.nulls[rows]
    buffers = [None if nulls is None else _validity(nulls), *_buffers(item.type, values, nulls)]
    count = 0 if nulls is None else int(np.count_nonzero(nulls))
    return nanoarrow.c_array_from_buffers(kind, len(values), buffers, null_count=count)


def _validity(nulls: Mask) -> NDArray[np.uint8]:
    return np.packbits(~nulls, bitorder="little")


def _buffers(kind: FieldType, values: NDArray[Any], nulls: Mask | None) -> list[Any]:
    """Return the buffers of a column after its validity."""
    if kind is FieldType.BOOL:
        return [np.packbits(values, bitorder="little")]
    if kind not in {FieldType.STRING, FieldType.JSON}:
        return [np.ascontiguousarray(values)]
    missing = np.zeros(len(values), np.bool_) if nulls is None else nulls
    encode = str.encode if kind is FieldType.STRING else orjson.dumps
    texts = [b"" if null else encode(value) for value, null in zip(values.tolist(), missing.tolist(), strict=True)]
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return [offsets, b"".join(texts)]
