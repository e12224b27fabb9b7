"""Conversion of a child's results to frames. The child is not trusted, so that results are validated."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import check_depth
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.values import Mask
from dashwright.expressions.sql.sandbox import ChildResponse

_TYPES = {field_type.value: field_type for field_type in FieldType if field_type is not FieldType.ENUM}
_STRING_TYPES = {FieldType.STRING, FieldType.JSON}


class MalformedResult(Exception):
    """The result violates the protocol of the child."""


def frame_of(response: ChildResponse) -> Frame:
    """Return the frame of a response. A field is nullable if it has a null. Raises MalformedResult."""
    try:
        row_count = int(response.header["rows"])
        fields = []
        start = 0
        for column in response.header["columns"]:
            buffers = {}
            for name, length in column["buffers"].items():
                buffers[name] = response.body[start : start + length]
                start += length
            fields.append(_field(column, buffers, row_count))
    except (AttributeError, KeyError, TypeError, ValueError, Invalid) as error:
        raise MalformedResult(str(error)) from error
    return Frame(fields)


def _field(column: Mapping[str, Any], buffers: Mapping[str, memoryview], row_count: int) -> Field:
    """Return a column of the result from its buffers. Raises KeyError, TypeError, ValueError or Invalid if they do not fit."""
    field_type = _TYPES[column["type"]]
    nulls = _array(buffers["nulls"], np.bool_, row_count) if "nulls" in buffers else None
    values = _strings(buffers, row_count) if field_type in _STRING_TYPES else _array(buffers["values"], field_type.dtype, row_count)
    if field_type is FieldType.JSON:
        values = _documents(values, nulls)
    elif nulls is not None:
        values = _without_null_content(values, nulls, field_type)
    return Field(str(column["name"]), field_type, values, nulls, nullable=nulls is not None)


def _array(buffer: memoryview, dtype: Any, row_count: int) -> NDArray[Any]:
    """Return the values in a buffer. Raises ValueError if it has not one value for each row."""
    if len(buffer) != row_count * np.dtype(dtype).itemsize:
        raise ValueError(f"a buffer has {len(buffer)} bytes for {row_count} rows of {dtype}")
    # Converted, because the child may have sent bytes other than 0 and 1.
    return np.frombuffer(buffer, np.uint8).astype(np.bool_) if dtype == np.bool_ else np.frombuffer(buffer, dtype)


def _without_null_content(values: NDArray[Any], nulls: Mask, field_type: FieldType) -> NDArray[Any]:
    """Return the values with a constant in the slots of nulls, whose content is undefined."""
    values = values.copy()
    if field_type is FieldType.STRING:
        values[nulls] = None
    else:
        values[nulls] = np.nan if field_type.is_float else 0
    return values


def _strings(buffers: Mapping[str, memoryview], row_count: int) -> NDArray[Any]:
    """Return the strings from their lengths in bytes and their concatenated bytes."""
    lengths = _array(buffers["lengths"], np.int32, row_count)
    if row_count and int(lengths.min()) < 0:
        raise ValueError("a string has a negative length")
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    if (ends[-1] if ends else 0) != len(buffers["values"]):
        raise ValueError("the lengths of the strings do not match their bytes")
    # Without strings there is one more start than ends, so the pairs are not strict.
    starts = [0, *ends[:-1]]
    content = bytes(buffers["values"])
    strings = np.empty(row_count, object)
    if content.isascii():
        # Positions of bytes are positions of characters, so that all strings are decoded in one step.
        decoded = content.decode("ascii")
        strings[:] = [decoded[start:end] for start, end in zip(starts, ends, strict=False)]
    else:
        strings[:] = [content[start:end].decode() for start, end in zip(starts, ends, strict=False)]
    return strings


def _documents(strings: NDArray[Any], nulls: Mask | None) -> NDArray[Any]:
    """Return the JSON documents in the strings. Raises ValueError or Invalid."""
    null_mask = np.zeros(len(strings), np.bool_) if nulls is None else nulls
    documents = np.empty(len(strings), object)
    # One by one, because numpy would turn a list of lists into an array of more dimensions.
    for row, (string, is_null) in enumerate(zip(strings.tolist(), null_mask.tolist(), strict=True)):
        documents[row] = None if is_null else _check_document_depth(orjson.loads(string))
    return documents


def _check_document_depth(document: Any) -> Any:
    """Return the document. Raises Invalid if it is nested too deeply."""
    check_depth(document)
    return document
