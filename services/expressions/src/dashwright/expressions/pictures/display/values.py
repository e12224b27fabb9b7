"""Single values of columns, as displays, mappings and calculations read them."""

from typing import Any, Final

import numpy as np
import orjson

from dashwright.expressions.engine.frame import Field, FieldType
from dashwright.expressions.javascript import values as javascript
from dashwright.expressions.transformations.data import Trend

#: A value of a column: null, a number (times in milliseconds), a boolean or text. NaN is a number.
Value = float | bool | str | None
_NANOS_PER_MILLISECOND: Final = 1e6
#: From this number on, a float may not be the whole number that was stored.
_MAX_WHOLE: Final = 2**53
#: Numbers that are nested more deeply in a document are written as they are.
_MAX_DEPTH: Final = 100


def text_of(value: Value) -> str:
    """Return a value as JavaScript converts it to text; empty for null."""
    return "" if value is None else javascript.text_of(value)


def values_of(field: Field, limit: int | None = None) -> list[Value]:
    """Return the values of a column, or the first ones: times in milliseconds since 1970, and JSON as text."""
    values = field.values[:limit]
    if field.type is FieldType.TIME:
        scalars: list[Value] = (values / _NANOS_PER_MILLISECOND).tolist()
    elif field.type.is_numeric or field.type is FieldType.ENUM:
        scalars = values.astype(np.float64).tolist()
    else:
        scalars = [_scalar(value) for value in values.tolist()]
    if field.nulls is not None:
        scalars = [None if is_null else value for value, is_null in zip(scalars, field.nulls[:limit].tolist(), strict=True)]
    return scalars


def document_text(value: Any) -> str:
    """Return a document as JSON, with whole numbers as JavaScript writes them: without a decimal point."""
    return orjson.dumps(_with_whole_numbers(value), default=str).decode()


def _with_whole_numbers(value: Any, depth: int = 0) -> Any:
    """Return a document with integers in place of floats that are whole numbers."""
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_WHOLE:
        return int(value)
    if depth < _MAX_DEPTH and isinstance(value, list):
        return [_with_whole_numbers(item, depth + 1) for item in value]
    if depth < _MAX_DEPTH and isinstance(value, dict):
        return {key: _with_whole_numbers(item, depth + 1) for key, item in value.items()}
    return value


def _scalar(value: Any) -> Value:
    """Return a cell as a single value: a trend as its calculation, bytes as text, and a document as JSON."""
    if isinstance(value, Trend):
        return _scalar(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return document_text(value)
