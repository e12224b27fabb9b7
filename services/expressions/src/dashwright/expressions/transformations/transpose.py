"""Exchange of rows and columns."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_at, object_of, string_of
from dashwright.expressions.javascript.values import is_missing, is_number, json_text, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells, CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.special_values import special_value

_HEADER_TYPES: Final = frozenset({CellType.STRING, CellType.TIME, CellType.ENUM})
_PLAIN_TYPES: Final = frozenset({CellType.STRING, CellType.TIME, CellType.NUMBER, CellType.BOOLEAN})


def transpose(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return each frame with a column for each row. A first column of text, times or enums becomes a label of the columns."""
    names = DisplayNames(frames)
    return [_transposed(frame, names.of_frame(frame), options, context) if frame.columns else frame for frame in frames]


def _transposed(frame: DataFrame, titles: list[str], options: Mapping[str, Any], context: Context) -> DataFrame:
    empty = special_value(options.get("emptyValue"))
    first_name, rest_name = string_of(options.get("firstFieldName")) or "Field", string_of(options.get("restFieldsName")) or "Value"
    first = frame.columns[0]
    has_headers = first.type in _HEADER_TYPES
    body = frame.columns[1:] if has_headers else frame.columns
    context.check_cells(len(body), frame.row_count + 1)
    headers = _texts(first, first.values, empty) if has_headers else list(range(1, frame.row_count + 1))
    label = first.name if has_headers else "row"
    types = {column.type for column in body}
    type_ = types.pop() if len(types) == 1 else CellType.STRING
    cells = [_texts(column, column.values, empty) if type_ is CellType.STRING else column.values for column in body]
    columns = [Column(first_name, CellType.STRING, titles[1:] if has_headers else titles)]
    columns += [Column(rest_name, type_, [values[row] for values in cells], {label: header}) for row, header in enumerate(headers)]
    return replace(frame, columns=columns, row_count=len(body), ref_id=f"transpose-{frame.ref_id}")


def _texts(column: Column, values: Cells, empty: Any) -> list[Any]:
    """Return cells as text. Empty cells become ``empty``."""
    if column.type is CellType.ENUM:
        texts = list_of(object_at(object_of(column.config.get("type")), "enum").get("text"))
        return [texts[int(value)] if is_number(value) and 0 <= value < len(texts) else empty for value in values]
    if column.type in _PLAIN_TYPES:
        return [empty if is_missing(value) else text_of(value) for value in values]
    return [empty if is_missing(value) else json_text(value) for value in values]
