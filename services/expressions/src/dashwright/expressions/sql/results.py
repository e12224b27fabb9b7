"""Results of a child as frames. The child is not trusted: an inconsistent result is an error of its own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.document import check_depth
from dashwright.common.errors import Invalid
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.sql.sandbox import ChildResponse

_TYPES = {kind.value: kind for kind in FieldType if kind is not FieldType.ENUM}
_TEXTS = {FieldType.STRING, FieldType.JSON}


class MalformedResult(Exception):
    """The result is not one that the child program sends."""


def frame_of(response: ChildResponse) -> Frame:
    """Return the columns, nullable if they have a null. Raises MalformedResult."""
    try:
        rows = int(response.head["rows"])
        fields = []
        start = 0
        for column in response.head["columns"]:
            buffers = {}
            for name, length in column["buffers"].items():
                buffers[name] = response.body[start : start + length]
                start += length
            fields.append(_field(column, buffers, rows))
    except (AttributeError, KeyError, TypeError, ValueError, Invalid) as error:
        raise MalformedResult(str(error)) from error
    return Frame(fields)


def _field(column: Mapping[str, Any], buffers: Mapping[str, memoryview], rows: int) -> Field:
    kind = _TYPES[column["type"]]
    nulls = _array(buffers["nulls"], np.bool_, rows) if "nulls" in buffers else None
    values = _texts(buffers, rows) if kind in _TEXTS else _array(buffers["values"], kind.dtype, rows)
    if kind is FieldType.JSON:
        values = _documents(values, nulls)
    elif nulls is not None:
        values = _emptied(values, nulls, kind)
    return Field(str(column["name"]), kind, values, nulls, nulls is not None)


def _array(buffer: memoryview, dtype: Any, rows: int) -> NDArray[Any]:
    if len(buffer) != rows * np.dtype(dtype).itemsize:
        raise ValueError(f"a buffer has {len(buffer)} bytes for {rows} rows of {dtype}")
    return np.frombuffer(buffer, np.uint8).astype(np.bool_) if dtype == np.bool_ else np.frombuffer(buffer, dtype)


def _emptied(values: NDArray[Any], nulls: Mask, kind: FieldType) -> NDArray[Any]:
    """Return the values with defined content in the slots of nulls, which may hold anything."""
    values = values.copy()
    values[nulls] = None if kind is FieldType.STRING else np.nan if kind.is_float else 0
    return values


def _texts(buffers: Mapping[str, memoryview], rows: int) -> NDArray[Any]:
    lengths = _array(buffers["lengths"], np.int32, rows)
    if rows and int(lengths.min()) < 0:
        raise ValueError("a text has a negative length")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(buffers["values"]):
        raise ValueError("the lengths of the texts do not match their bytes")
    starts = [0, *ends[:-1]]
    whole = bytes(buffers["values"])
    found = np.empty(rows, object)
    if whole.isascii():
        text = whole.decode("ascii")
        found[:] = [text[start:end] for start, end in zip(starts, ends, strict=False)]
    else:
        found[:] = [whole[start:end].decode() for start, end in zip(starts, ends, strict=False)]
    return found


def _documents(texts: NDArray[Any], nulls: Mask | None) -> NDArray[Any]:
    missing = np.zeros(len(texts), np.bool_) if nulls is None else nulls
    found = np.empty(len(texts), object)
    # One by one: assigning a whole list would make numpy spread documents that are lists over dimensions.
    for row, (text, null) in enumerate(zip(texts.tolist(), missing.tolist(), strict=True)):
        found[row] = None if null else _shallow(orjson.loads(text))
    return found


def _shallow(document: Any) -> Any:
    check_depth(document)
    return document
