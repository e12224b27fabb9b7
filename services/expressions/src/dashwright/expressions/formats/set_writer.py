"""Encoding of the frames of a set as JSON, the same bytes as ``codec`` writes for each frame, by columns of many frames."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.values import Cells, Series
from dashwright.expressions.formats.codec import (
    CHUNK_VALUES,
    FRAME_COST,
    NANOS_PER_MILLISECOND,
    Fragment,
    JsonFrameWriter,
    encode_entities,
    encode_field_schema,
    encode_labels,
    encode_schema_start,
    encode_strings,
)

#: The cost of encoding a frame of a set, as a number of values.
SET_FRAME_COST: Final = 30

#: A series with more points is written in several fragments.
_MAX_ROW_LENGTH: Final = CHUNK_VALUES // 4

_EMPTY: Final = np.empty(0)


def cost_of(frames: FrameSet) -> int:
    """Return the cost of encoding all frames of a set, as a number of values."""
    if frames.is_wide:
        return FRAME_COST + frames.max_row_count * (1 + len(frames.values))
    return len(frames) * (SET_FRAME_COST + frames.max_row_count)


def set_fragments(frames: FrameSet) -> Iterator[Fragment]:
    """Yield the frames, separated by commas, in fragments of many frames each."""
    if not len(frames):
        return
    length = frames.max_row_count
    # ``_SetWriter`` writes only whole frames, so a large frame would be one huge fragment.
    if frames.is_wide or length > _MAX_ROW_LENGTH:
        yield from _large_frames(frames)
        return
    writer = _SetWriter(frames)
    step = max(1, CHUNK_VALUES // (SET_FRAME_COST + length))
    for start in range(0, len(frames), step):
        indexes = range(start, min(start + step, len(frames)))
        yield (b"," if start else b"") + b",".join(writer.encode(indexes)), len(indexes) * (SET_FRAME_COST + length)


def _large_frames(frames: FrameSet) -> Iterator[Fragment]:
    writer = JsonFrameWriter()
    for index, frame in enumerate(frames):
        if index:
            yield b",", 0
        yield from writer.write(frame)


class _SetWriter:
    """Encoder of the frames of one set. Everything that its frames share is encoded once."""

    def __init__(self, frames: FrameSet) -> None:
        self._frames = frames
        #: The JSON from the beginning of a frame to its value column. Only the first frame may have a meta of its own.
        self._first_start = self._encode_start(0)
        self._start = self._encode_start(1)
        self._labels = self._encode_labels()
        self._configs = self._encode_configs()
        names = frames.value_names or (frames.value_name,)
        fields = {name: encode_field_schema(self._value_field(name))[:-1] for name in set(names)}
        #: The JSON of the value columns without labels, configuration and end; one entry if all are equal.
        self._value_schemas = [fields[name] for name in names]
        #: The JSON of the times of each axis, as ``_encode_times`` returns it.
        self._axes = [_encode_times(block.axis.times) for block in frames.values.blocks] if isinstance(frames.values, Series) else []

    def encode(self, indexes: range) -> list[bytes]:
        """Return the JSON of some consecutive frames."""
        count = len(indexes)
        starts = [self._start] * count
        if indexes.start == 0:
            starts[0] = self._first_start
        chosen = slice(indexes.start, indexes.stop)
        schemas = self._value_schemas[chosen] if len(self._value_schemas) > 1 else self._value_schemas * count
        labels = self._labels[chosen] if self._labels else [b""] * count
        configs = self._configs[chosen] if self._configs else [b""] * count
        return [b"".join(parts) for parts in zip(starts, schemas, labels, configs, *self._data(indexes), strict=True)]

    def _data(self, indexes: range) -> Sequence[Sequence[bytes]]:
        """Return the member ``data`` of frames in three parts: the times, the values, and the end with ``entities`` and ``nanos``."""
        values = self._frames.values
        if not isinstance(values, Series):
            return self._data_of_numbers(values.cells, indexes)
        times, rows, tails = [b""] * len(indexes), [b""] * len(indexes), [b""] * len(indexes)
        block_of = values.block_of[indexes.start : indexes.stop]
        row_of = values.row_of[indexes.start : indexes.stop]
        for block in np.unique(block_of).tolist():
            positions = np.flatnonzero(block_of == block)
            encoded_times, nanos = self._axes[block]
            encoded_rows, entities = _encode_rows(_rows_at(values.blocks[block].cells, row_of[positions]), has_times=True)
            for position, encoded, entity in zip(positions.tolist(), encoded_rows, entities, strict=True):
                times[position], rows[position], tails[position] = encoded_times, encoded, entity + nanos + b"}}"
        return times, rows, tails

    def _data_of_numbers(self, cells: Cells, indexes: range) -> Sequence[Sequence[bytes]]:
        """Return the same parts for numbers, each of which is a row of one value."""
        times = self._frames.times
        rows, entities = _encode_rows(cells.at((slice(indexes.start, indexes.stop), np.newaxis)), has_times=times is not None)
        if times is None:
            return [b'}]},"data":{"values":[['] * len(indexes), rows, [entity + b"}}" for entity in entities]
        # The samples of a query have the same time, or few different ones.
        distinct, index_of = np.unique(times[indexes.start : indexes.stop], return_inverse=True)
        axes = [_encode_times(distinct[index : index + 1]) for index in range(len(distinct))]
        encoded_times = [axes[index] for index in index_of.tolist()]
        tails = [entity + nanos + b"}}" for entity, (_, nanos) in zip(entities, encoded_times, strict=True)]
        return [time for time, _ in encoded_times], rows, tails

    def _encode_start(self, index: int) -> bytes:
        frames = self._frames
        start = b'{"schema":' + encode_schema_start("", frames.ref_id, frames.meta_of(index))
        if not frames.has_times:
            return start
        return start + encode_field_schema(Field(frames.time_name, FieldType.TIME, _EMPTY, config=frames.time_config)) + b","

    def _encode_labels(self) -> Sequence[bytes]:
        """Return the member ``labels`` of each value column, or nothing if no column has labels."""
        labels = self._frames.values.labels
        if self._frames.has_empty_labels:
            return [b',"labels":' + encoded for encoded in encode_labels(labels)]
        if not labels.max_count:
            return ()
        return [b"" if encoded == b"{}" else b',"labels":' + encoded for encoded in encode_labels(labels)]

    def _encode_configs(self) -> Sequence[bytes]:
        """Return the member ``config`` of each value column, or nothing if no column has a configuration."""
        if self._frames.display_names is None:
            return ()
        names = encode_strings(self._frames.display_names(self._frames.values.labels))
        return [b',"config":{"displayNameFromDS":"%s"}' % name if name else b"" for name in names]

    def _value_field(self, name: str) -> Field:
        return Field(name, FieldType.FLOAT64, _EMPTY, nullable=self._frames.is_nullable)


def _rows_at(cells: Cells, rows: NDArray[Any]) -> Cells:
    """Return rows, without a copy if they are consecutive."""
    first = int(rows[0])
    if int(rows[-1]) - first == len(rows) - 1 and bool((np.diff(rows) == 1).all()):
        return cells.at(slice(first, first + len(rows)))
    return cells.at(rows)


def _encode_times(times: NDArray[np.int64]) -> tuple[bytes, bytes]:
    """Return the JSON from the end of the schema to the beginning of the values, and the member ``nanos``."""
    milliseconds = times // NANOS_PER_MILLISECOND
    encoded = b'}]},"data":{"values":[' + orjson.dumps(milliseconds, option=orjson.OPT_SERIALIZE_NUMPY) + b",["
    nanos = times - milliseconds * NANOS_PER_MILLISECOND
    if not nanos.any():
        return encoded, b""
    return encoded, b',"nanos":[' + orjson.dumps(nanos, option=orjson.OPT_SERIALIZE_NUMPY) + b",null]"


def _encode_rows(cells: Cells, *, has_times: bool) -> tuple[list[bytes], list[bytes]]:
    """Return the values of each row without brackets, and the end of its values with the member ``entities``."""
    values = np.ascontiguousarray(cells.values)
    # orjson writes NaN and infinities as null. Cells that are null contain NaN.
    rows = orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].split(b"],[")
    ends = [b"]]"] * len(rows)
    is_special = ~np.isfinite(values)
    if cells.nulls is not None:
        is_special &= ~cells.nulls
    prefix = b']],"entities":[null,' if has_times else b']],"entities":['
    for row in np.flatnonzero(is_special.any(axis=1)).tolist():
        ends[row] = prefix + encode_entities(values[row], np.flatnonzero(is_special[row])) + b"]"
    return rows, ends
