"""Grouping of rows by the values of columns, and calculations on the groups."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of
from dashwright.expressions.calculations.table import known_calculations
from dashwright.expressions.javascript.values import UNDEFINED, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames, bare_display_name

_COUNTS: Final = frozenset({"count", "distinctCount", "changeCount", "countAll"})
_FLAGS: Final = frozenset({"allIsNull", "allIsZero"})


def group_by(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a row for each group of rows with equal values in the columns whose ``operation`` is ``groupby``.

    The columns with ``aggregations`` become one column for each of them. Frames without a column to group by are left out.
    """
    settings = {name: object_of(setting) for name, setting in object_of(options.get("fields")).items()}
    key_names = {name for name, setting in settings.items() if setting.get("operation") == "groupby"}
    if not key_names:
        return frames
    names = DisplayNames(frames)
    result = []
    for frame in frames:
        keys = [column for column in frame.columns if column.name in key_names or names.of(column, frame) in key_names]
        if not keys:
            continue
        groups = grouped_rows(keys, frame.row_count, context)
        columns = key_columns(keys, groups)
        for column in frame.columns:
            name = bare_display_name(column)
            columns += _aggregated(column, name, settings.get(name, {}), groups)
        result.append(DataFrame(columns, len(groups), ref_id=frame.ref_id))
    return result


def grouped_rows(keys: Sequence[Column], row_count: int, context: Context) -> list[list[int]]:
    """Return the rows of each group, in the order of the first rows. Null and empty text are equal."""
    groups: dict[str, list[int]] = {}
    for row in range(row_count):
        context.step()
        groups.setdefault(text_of([column.values[row] for column in keys]), []).append(row)
    return list(groups.values())


def key_columns(keys: Sequence[Column], groups: Sequence[Sequence[int]]) -> list[Column]:
    """Return the columns to group by, with the value of each group."""
    return [Column(column.name, column.type, [column.values[rows[0]] for rows in groups], config=column.config) for column in keys]


def aggregations_of(setting: Mapping[str, Any]) -> list[str]:
    """Return the ids of the calculations of a column. Columns to group by can only be counted."""
    names = [name for name in list_of(setting.get("aggregations")) if isinstance(name, str)]
    if setting.get("operation") == "aggregate":
        return names
    return names if setting.get("operation") == "groupby" and names == ["count"] else []


def _aggregated(column: Column, name: str, setting: Mapping[str, Any], groups: Sequence[Sequence[int]]) -> list[Column]:
    """Return a column for each calculation of a column, named ``name (id)``."""
    columns = []
    for aggregation in aggregations_of(setting):
        calculations = known_calculations([aggregation])
        values = [
            column.with_values([column.values[row] for row in rows]).reduced(calculations[0]) if calculations else UNDEFINED
            for rows in groups
        ]
        type_ = CellType.NUMBER if aggregation in _COUNTS else CellType.BOOLEAN if aggregation in _FLAGS else column.type
        columns.append(Column(f"{name} ({aggregation})", type_, values))
    return columns
