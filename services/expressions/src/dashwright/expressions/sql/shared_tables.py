"""Hands tables to a child through memory that both see: written here once, read there where it lies.

Columns lie as Arrow has them, so that the child need not touch them: values one behind the other, nulls as bits, labels as positions in
a dictionary.
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
    """The texts of one column take more than Arrow's offsets can count."""


class SharedMemory:
    """A file without a name. ``descriptor`` is for a child to inherit, and reads only."""

    def __init__(self) -> None:
        self._own, self.descriptor = _nameless()
        self._size = 0

    def write(self, parts: Sequence[tuple[int, memoryview]], size: int) -> None:
        """The buffers at their offsets, in place of what was there. Raises OSError where there is no room for them."""
        self.clear()
        os.ftruncate(self._own, size)
        self._size = size
        for offset, part in parts:
            rest = part
            while len(rest):
                written = os.pwrite(self._own, rest, offset)
                rest, offset = rest[written:], offset + written

    def clear(self) -> None:
        """Gives the memory back, and leaves nothing of what was there."""
        if self._size:
            os.ftruncate(self._own, 0)
            self._size = 0

    def close(self) -> None:
        os.close(self._own)
        os.close(self.descriptor)


def _nameless() -> tuple[int, int]:
    """Two descriptors of one file: for writing, and for reading only."""
    if hasattr(os, "memfd_create"):
        own = os.memfd_create("tables", os.MFD_CLOEXEC)
        return own, os.open(f"/proc/self/fd/{own}", os.O_RDONLY | os.O_CLOEXEC)
    own, name = tempfile.mkstemp(prefix="dashwright-tables-")
    try:
        return own, os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    finally:
        Path(name).unlink()


def sizes(relation: Relation) -> Iterator[int]:
    """Bytes that the relation takes where it is handed over, about; part after part, so that who counts can stop early."""
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
        # What UTF-8 takes beyond a byte for each character.
        for text in filled:
            if not text.isascii():
                yield len(text.encode(errors="replace")) - len(text)


class BufferLayout:
    """Where each buffer of some tables will lie: ``tables`` tells the child, ``parts`` are what is written, ``size`` all of it."""

    def __init__(self, relations: Mapping[str, Relation]) -> None:
        self.parts: list[tuple[int, memoryview]] = []
        self.size = 0
        self.tables = [self._table(name, relation) for name, relation in relations.items()]

    def _table(self, name: str, relation: Relation) -> dict[str, Any]:
        return {"name": name, "rows": relation.rows, "columns": [self._column(column) for column in relation.columns]}

    def _column(self, column: RelationColumn) -> dict[str, Any]:
        told: dict[str, Any] = {"name": column.name, "type": column.type.value}
        if column.nulls is not None:
            told["valid"] = self._placed(np.packbits(~column.nulls, bitorder="little").data)
        match column.type:
            case FieldType.BOOL:
                return told | {"values": self._placed(np.packbits(column.values, bitorder="little").data)}
            case FieldType.STRING:
                return told | self._texts(column)
            case FieldType.JSON:
                documents = _without_nulls(column.values.tolist(), column.nulls, None)
                return told | self._plain_texts([orjson.dumps(document).decode() for document in documents])
        return told | {"values": self._placed(np.ascontiguousarray(column.values).data)}

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
        """Offset and length of the buffer."""
        offset, length = self.size, part.nbytes
        if length:
            self.parts.append((offset, part.cast("B")))
        self.size += length + -length % _ALIGNED
        return [offset, length]


def _encoded(texts: Sequence[str]) -> tuple[NDArray[np.int32], memoryview]:
    """Where each text begins and the last ends, and all of them. Raises TextTooLong.

    Joined with a character between that none of them has, they are encoded at once and taken apart by looking for it.
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
