"""Organization of columns: selection, order and names."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.javascript.sorting import compare_texts
from dashwright.expressions.javascript.values import is_number, is_true, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames
from dashwright.expressions.transformations.filters import filtered_columns
from dashwright.expressions.transformations.names import DisplayNames

#: The position of columns that ``indexByName`` does not have.
_LAST: Final = 2**53 - 1


def organize(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the columns filtered by ``includeByName`` and ``excludeByName``, then ordered and renamed."""
    include, exclude = (_chosen(options.get(key)) for key in ("includeByName", "excludeByName"))
    filtered = filtered_columns(frames, _by_names(include), _by_names(exclude))
    return rename(order(filtered, options, context), options, context)


def _chosen(choices: Any) -> list[str]:
    """Return the names whose value in an object of names counts as true."""
    return [name for name, is_chosen in object_of(choices).items() if is_true(is_chosen)]


def _by_names(names: Sequence[str]) -> Mapping[str, Any] | None:
    return {"id": "byNames", "options": {"names": names}} if names else None


def order(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the columns ordered by ``indexByName``, or by names and labels if ``orderByMode`` is ``auto``."""
    names = DisplayNames(frames)
    names.remember()
    if options.get("orderByMode", "manual") != "manual":
        rules = objects_of(options.get("orderBy"))
        return [frame.with_columns(_sorted_automatically(frame, names, rules)) for frame in frames]
    indexes = object_of(options.get("indexByName"))

    def index_of(column: Column, frame: DataFrame) -> float:
        index = indexes.get(names.of(column, frame))
        return index if is_number(index) and float(index).is_integer() else _LAST

    return [frame.with_columns(sorted(frame.columns, key=lambda column: index_of(column, frame))) for frame in frames]


def _sorted_automatically(frame: DataFrame, names: DisplayNames, rules: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Return the columns with the first time column first, the others by the rules in ``orderBy``."""

    def text(column: Column, rule: Mapping[str, Any]) -> str:
        if rule.get("type") == "name":
            return names.of(column, frame)
        return text_of((column.labels or {}).get(string_of(rule.get("name")), ""))

    def compare(left: Column, right: Column) -> int:
        for rule in rules:
            if result := compare_texts(text(left, rule), text(right, rule), is_numeric=True):
                return -result if rule.get("desc") else result
        return 0

    time_column = frame.time_column
    value_columns = sorted((column for column in frame.columns if column is not time_column), key=cmp_to_key(compare))
    return [*([time_column] if time_column else []), *value_columns]


def rename(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the columns with the display names of ``renameByName``, whose keys are display names."""
    new_names = object_of(options.get("renameByName"))
    if not new_names:
        return frames
    names = DisplayNames(frames, are_related=False)

    def renamed(column: Column, frame: DataFrame) -> Column:
        new_name = string_of(new_names.get(names.of(column, frame)))
        return column.with_display_name(new_name) if new_name else column

    return [frame.with_columns([renamed(column, frame) for column in frame.columns]) for frame in frames]
