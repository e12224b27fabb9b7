"""Sorting of rows by a column."""

from collections.abc import Callable, Mapping
from typing import Any

from dashwright.common.json_shapes import objects_of
from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.sorting import collation_key, sorted_by
from dashwright.expressions.javascript.values import is_number, is_true, text_of
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
    compare = _comparison(column)
    if is_descending:
        return frame.with_rows(sorted_by(range(frame.row_count), lambda left, right: compare(right, left)))
    return frame.with_rows(sorted_by(range(frame.row_count), compare))


def _comparison(column: Column) -> Callable[[int, int], float]:
    """Return the comparison of two rows by a column, which depends on the type of the column, as in Grafana."""
    values = column.values
    if column.type in (CellType.NUMBER, CellType.TIME):
        return lambda left, right: difference(values[left], values[right])
    if column.type is CellType.STRING:
        keys = [collation_key(text_of(value)) if is_true(value) else None for value in values]
        return lambda left, right: _compare_keys(keys[left], keys[right])
    if column.type is CellType.BOOLEAN:
        return lambda left, right: is_true(values[right]) - is_true(values[left])
    return lambda left, right: left - right


def _compare_keys(left: list[tuple[int, Any]] | None, right: list[tuple[int, Any]] | None) -> int:
    """Return -1, 0 or 1. Empty text is last."""
    if left is None or right is None:
        return (left is None) - (right is None)
    return (left > right) - (left < right)
