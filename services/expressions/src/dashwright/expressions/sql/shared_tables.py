"""Tables in memory shared with a child, which reads them in place.

Columns have Arrow's layout, so that the child need not convert them: contiguous values, nulls as bits, and labels as
indexes into a dictionary.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import FieldType
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.sql.relation import Relation, RelationColumn

#: Buffers start at multiples of this, as Arrow recommends.
_ALIGNMENT_BYTES = 64
#: The largest offset into the concatenated strings of a column, an int32 of ``_OFFSET_BYTES``.
_MAX_STRING_BYTES = 2**31 - 1
_OFFSET_BYTES = 4
#: Number of strings whose sizes are added in one step.
_CHUNK_LENGTH = 10_000


class StringsTooLong(Exception):
    """The strings of one column take more bytes than Arrow's offsets can address."""


class SharedMemory:
    """An anonymous file in memory. Children inherit ``descriptor``, which is read-only."""

    def __init__(self) -> None:
        self._writable, self.descriptor = _anonymous_file()
        self._size = 0

    def write(self, buffers: Sequence[tuple[int, memoryview]], size: int) -> None:
        """Replace the content by ``buffers`` with their offsets. ``size`` is in bytes. Raises OSError if there is no memory."""
        self.clear()
        os.ftruncate(self._writable, size)
        self._size = size
        for offset, buffer in buffers:
            remainder = buffer
            while len(remainder):
                written = os.pwrite(self._writable, remainder, offset)
                remainder, offset = remainder[written:], offset + written

    def clear(self) -> None:
        """Release the memory and its content."""
        if self._size:
            os.ftruncate(self._writable, 0)
            self._size = 0

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self._writable)
        os.close(self.descriptor)


def _anonymous_file() -> tuple[int, int]:
    """Return a writable and a read-only descriptor of a new file."""
    if hasattr(os, "memfd_create"):
        writable = os.memfd_create("tables", os.MFD_CLOEXEC)
        return writable, os.open(f"/proc/self/fd/{writable}", os.O_RDONLY | os.O_CLOEXEC)
    # macOS has no ``memfd_create``. A file without a name takes its place.
    writable, path = tempfile.mkstemp(prefix="dashwright-tables-")
    try:
        return writable, os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        Path(path).unlink()


def buffer_sizes(relation: Relation) -> Iterator[int]:
    """Yield approximate sizes in bytes, whose sum is the size of the relation in shared memory. The caller can stop early."""
    for column in relation.columns:
        yield 0 if column.nulls is None else column.nulls.nbytes
        if column.dictionary is not None:
            yield column.values.nbytes
            yield from _string_sizes(column.dictionary)
        elif column.type is FieldType.STRING:
            yield from _string_sizes(column.values)
        elif column.type is FieldType.JSON:
            for document in column.values:
                yield _OFFSET_BYTES + len(orjson.dumps(document))
        else:
            yield column.values.nbytes


def _string_sizes(strings: Sequence[str | None] | NDArray[Any]) -> Iterator[int]:
    """Yield sizes in bytes, whose sum is the size of the strings with their offsets."""
    for start in range(0, len(strings), _CHUNK_LENGTH):
        chunk = strings[start : start + _CHUNK_LENGTH]
        non_empty = [string for string in chunk if string]
        yield _OFFSET_BYTES * len(chunk) + sum(map(len, non_empty))
        # UTF-8 takes more than one byte for characters outside of ASCII.
        for string in non_empty:
            if not string.isascii():
                yield len(string.encode(errors="replace")) - len(string)


class BufferLayout:
    """The layout of the buffers of several tables in shared memory."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self.buffers: list[tuple[int, memoryview]] = []  #: Each buffer after its offset in bytes.
        self.size = 0  #: The size of all buffers in bytes.
        #: The description of the tables for the child.
        self.tables = [self._table(name, relation) for name, relation in relations.items()]

    def _table(self, name: str, relation: Relation) -> dict[str, Any]:
        return {"name": name, "rows": relation.row_count, "columns": [self._column(column) for column in relation.columns]}

    def _column(self, column: RelationColumn) -> dict[str, Any]:
        """Add the buffers of a column, and return its description for the child."""
        layout: dict[str, Any] = {"name": column.name, "type": column.type.value}
        if column.nulls is not None:
            layout["valid"] = self._add_buffer(np.packbits(~column.nulls, bitorder="little").data)
        match column.type:
            case FieldType.BOOL:
                return layout | {"values": self._add_buffer(np.packbits(column.values, bitorder="little").data)}
            case FieldType.STRING:
                return layout | self._strings(column)
            case FieldType.JSON:
                documents = _without_nulls(column.values.tolist(), column.nulls, None)
                return layout | self._string_buffers([orjson.dumps(document).decode() for document in documents])
        return layout | {"values": self._add_buffer(np.ascontiguousarray(column.values).data)}

    def _strings(self, column: RelationColumn) -> dict[str, Any]:
        """Add the buffers of strings, or of a dictionary and its codes, and return their description."""
        if column.dictionary is None:
            return self._string_buffers(_without_nulls(column.values.tolist(), column.nulls, ""))
        dictionary = {"rows": len(column.dictionary)} | self._string_buffers(column.dictionary)
        codes = np.ascontiguousarray(column.values)
        return {"codes": codes.dtype.name, "values": self._add_buffer(codes.data), "dictionary": dictionary}

    def _string_buffers(self, strings: Sequence[str]) -> dict[str, Any]:
        offsets, content = _encode_strings(strings)
        return {"offsets": self._add_buffer(offsets.data), "values": self._add_buffer(content)}

    def _add_buffer(self, buffer: memoryview) -> list[int]:
        """Add a buffer, and return its offset and length in bytes."""
        offset, length = self.size, buffer.nbytes
        if length:
            self.buffers.append((offset, buffer.cast("B")))
        padding = -length % _ALIGNMENT_BYTES
        self.size += length + padding
        return [offset, length]


def _encode_strings(strings: Sequence[str]) -> tuple[NDArray[np.int32], memoryview]:
    """Return the offsets of the strings and their concatenated bytes. Raises StringsTooLong.

    It is faster to join the strings by null characters and encode them in one step, unless one of them contains a null character.
    """
    # Half of a surrogate pair cannot be encoded, so it is replaced.
    joined = np.frombuffer("\0".join([*strings, ""]).encode(errors="replace"), np.uint8)
    ends = np.flatnonzero(joined == 0)
    if len(ends) == len(strings):
        # The end of a string moves by the number of separators before it, which are removed.
        ends -= np.arange(len(ends))
        content = joined[joined != 0].data
    else:
        encoded = [string.encode(errors="replace") for string in strings]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        content = memoryview(b"".join(encoded))
    if content.nbytes > _MAX_STRING_BYTES:
        raise StringsTooLong
    # The cast is safe, because the last end is at most ``_MAX_STRING_BYTES``.
    return np.concatenate(([0], ends), dtype=np.int32, casting="unsafe"), content


def _without_nulls(values: list[Any], nulls: Mask | None, replacement: Any) -> list[Any]:
    """Return the values with ``replacement`` in place of nulls."""
    if nulls is None:
        return values
    return [replacement if is_null else value for value, is_null in zip(values, nulls.tolist(), strict=True)]
