"""Tables in memory that a child can read: written here once, read there in place.

Columns have Arrow's layout, so that the child need not convert them: contiguous values, nulls as bits, labels as
positions in a dictionary.
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

_ALIGNED = 64
_LARGEST_TEXT = 2**31 - 1
_OFFSET_BYTES = 4
_COUNTED_AT_ONCE = 10_000


class TextTooLong(Exception):
    """The texts of one column take more bytes than Arrow's offsets can count."""


class SharedMemory:
    """An unnamed file in memory. A child inherits ``descriptor``, which is read-only."""

    def __init__(self) -> None:
        self._own, self.descriptor = _nameless()
        self._size = 0

    def write(self, parts: Sequence[tuple[int, memoryview]], size: int) -> None:
        """Replace the content by buffers at their offsets. Raises OSError if there is no room for them."""
        self.clear()
        os.ftruncate(self._own, size)
        self._size = size
        for offset, part in parts:
            rest = part
            while len(rest):
                written = os.pwrite(self._own, rest, offset)
                rest, offset = rest[written:], offset + written

    def clear(self) -> None:
        """Release the memory and its content."""
        if self._size:
            os.ftruncate(self._own, 0)
            self._size = 0

    def close(self) -> None:
        """Close both descriptors."""
        os.close(self._own)
        os.close(self.descriptor)


def _nameless() -> tuple[int, int]:
    """Return two descriptors of one file: a writable and a read-only one."""
    if hasattr(os, "memfd_create"):
        own = os.memfd_create("tables", os.MFD_CLOEXEC)
        return own, os.open(f"/proc/self/fd/{own}", os.O_RDONLY | os.O_CLOEXEC)
    own, name = tempfile.mkstemp(prefix="dashwright-tables-")
    try:
        return own, os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        Path(name).unlink()


def sizes(relation: Relation) -> Iterator[int]:
    """Yield the approximate bytes of a relation in shared memory, part by part, so that the caller can stop early."""
    for column in relation.columns:
        yield 0 if column.nulls is None else column.nulls.nbytes
        if column.texts is not None:
            yield column.values.nbytes
            yield from _text_sizes(column.texts)
        elif column.type is FieldType.STRING:
            yield from _text_sizes(column.values)
        elif column.type is FieldType.JSON:
            for document in column.values:
                yield _OFFSET_BYTES + len(orjson.dumps(document))
        else:
            yield column.values.nbytes


def _text_sizes(texts: Sequence[str | None] | NDArray[Any]) -> Iterator[int]:
    for start in range(0, len(texts), _COUNTED_AT_ONCE):
        part = texts[start : start + _COUNTED_AT_ONCE]
        filled = [text for text in part if text]
        yield _OFFSET_BYTES * len(part) + sum(map(len, filled))
        # Bytes of UTF-8 in addition to one for each character.
        for text in filled:
            if not text.isascii():
                yield len(text.encode(errors="replace")) - len(text)


class BufferLayout:
    """The places of the buffers of some tables."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self.parts: list[tuple[int, memoryview]] = []  #: Offsets and buffers to write.
        self.size = 0  #: Bytes in total.
        #: The description for the child.
        self.tables = [self._table(name, relation) for name, relation in relations.items()]

    def _table(self, name: str, relation: Relation) -> dict[str, Any]:
        return {"name": name, "rows": relation.rows, "columns": [self._column(column) for column in relation.columns]}

    def _column(self, column: RelationColumn) -> dict[str, Any]:
        described: dict[str, Any] = {"name": column.name, "type": column.type.value}
        if column.nulls is not None:
            described["valid"] = self._placed(np.packbits(~column.nulls, bitorder="little").data)
        match column.type:
            case FieldType.BOOL:
                return described | {"values": self._placed(np.packbits(column.values, bitorder="little").data)}
            case FieldType.STRING:
                return described | self._texts(column)
            case FieldType.JSON:
                documents = _without_nulls(column.values.tolist(), column.nulls, None)
                return described | self._plain_texts([orjson.dumps(document).decode() for document in documents])
        return described | {"values": self._placed(np.ascontiguousarray(column.values).data)}

    def _texts(self, column: RelationColumn) -> dict[str, Any]:
        if column.texts is None:
            return self._plain_texts(_without_nulls(column.values.tolist(), column.nulls, ""))
        dictionary = {"rows": len(column.texts)} | self._plain_texts(column.texts)
        codes = np.ascontiguousarray(column.values)
        return {"codes": codes.dtype.name, "values": self._placed(codes.data), "dictionary": dictionary}

    def _plain_texts(self, texts: Sequence[str]) -> dict[str, Any]:
        offsets, whole = _encoded(texts)
        return {"offsets": self._placed(offsets.data), "values": self._placed(whole)}

    def _placed(self, part: memoryview) -> list[int]:
        """Add a buffer, and return its offset and length."""
        offset, length = self.size, part.nbytes
        if length:
            self.parts.append((offset, part.cast("B")))
        self.size += length + -length % _ALIGNED
        return [offset, length]


def _encoded(texts: Sequence[str]) -> tuple[NDArray[np.int32], memoryview]:
    """Return the offsets of the texts and their joined bytes. Raises TextTooLong.

    Texts joined by a character that none of them contains are encoded in one step, and split by searching for it.
    """
    whole = np.frombuffer("\0".join([*texts, ""]).encode(errors="replace"), np.uint8)
    ends = np.flatnonzero(whole == 0)
    if len(ends) == len(texts):
        ends -= np.arange(len(ends))
        content = whole[whole != 0].data
    else:
        parts = [text.encode(errors="replace") for text in texts]
        ends = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)))
        content = memoryview(b"".join(parts))
    if content.nbytes > _LARGEST_TEXT:
        raise TextTooLong
    return np.concatenate(([0], ends), dtype=np.int32, casting="unsafe"), content


def _without_nulls(values: list[Any], nulls: Mask | None, instead: Any) -> list[Any]:
    if nulls is None:
        return values
    return [instead if null else value for value, null in zip(values, nulls.tolist(), strict=True)]
