"""Sorting of rows by a column."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.json_shapes import objects_of
from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.sorting import collation_key, sorted_by
from dashwright.expressions.javascript.values import is_nan, is_number, is_true, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames


def sort_by(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the rows of each frame sorted by the first entry of ``sort``. Frames without its column are unchanged."""
    rules = objects_of(options.get("sort"))
    return [_sorted(frame, rules[0]) for frame in frames] if rules else frames


def _sorted(frame: DataFrame, rule: Mapping[str, Any]) -> DataFrame:
    index = rule.get("index")
    if index is None:
        names = DisplayNames([frame], are_related=False)
        index = next((i for i, column in enumerate(frame.columns) if names.of(column, frame) == rule.get("field")), -1)
    if not is_number(index) or not 0 <= index < len(frame.columns):
        return frame
    return sorted_frame(frame, frame.columns[int(index)], is_descending=is_true(rule.get("desc")))


def sorted_frame(frame: DataFrame, column: Column, *, is_descending: bool = False) -> DataFrame:
    """Return the frame with its rows sorted by a column. Rows with equal values keep their order."""
    keys = _keys(column)
    if keys is not None:
        return frame.with_rows(sorted(range(frame.row_count), key=keys.__getitem__, reverse=is_descending))
    values, sign = column.values, -1 if is_descending else 1
    return frame.with_rows(sorted_by(range(frame.row_count), lambda left, right: sign * difference(values[left], values[right])))


def _keys(column: Column) -> list[Any] | None:
    """Return a key of each row for sorting, which depends on the type of the column, as in Grafana.

    Return ``None`` for a column of numbers with values that have no order among them, such as NaN.
    """
    values = column.values
    if column.type is CellType.TIME and values and values[0] is None and all(map(_has_order, values)):
        # Nulls are last if the first value is one.
        return [(not value, value or 0) for value in values]
    if column.type in (CellType.NUMBER, CellType.TIME):
        return [value or 0 for value in values] if all(map(_has_order, values)) else None
    if column.type is CellType.STRING:
        collated = {text: collation_key(text) for text in set(map(_text_or_empty, values))}
        # Empty text is last.
        return [(False, collated[value]) if value else (True, []) for value in map(_text_or_empty, values)]
    if column.type is CellType.BOOLEAN:
        return [not is_true(value) for value in values]
    return list(range(len(values)))


def _text_or_empty(value: Any) -> str:
    return text_of(value) if is_true(value) else ""


def _has_order(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not is_nan(value))
