"""Grouping of rows, with the rows of each group as a table in a cell."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import object_of
from dashwright.expressions.calculations.table import known_calculations
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, guessed_type
from dashwright.expressions.transformations.group_by import aggregations_of, grouped_rows, key_columns
from dashwright.expressions.transformations.names import bare_display_name

_NESTED_NAME: Final = "__nestedFrames"
_CHOICES: Final = frozenset({"first", "firstNotNull", "last", "lastNotNull"})


def group_to_nested_table(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a row for each group of rows with equal values, with calculations and a table of the other columns of the group."""
    settings = {name: object_of(setting) for name, setting in object_of(options.get("fields")).items()}
    if not any(setting.get("operation") == "groupby" for setting in settings.values()):
        return frames
    show_headers = options.get("showSubframeHeaders", True)
    result = []
    for frame in frames:
        names = [bare_display_name(column) for column in frame.columns]
        setting_of = [settings.get(name, {}) for name in names]
        keys = [column for column, setting in zip(frame.columns, setting_of, strict=True) if setting.get("operation") == "groupby"]
        if not keys:
            continue
        groups = grouped_rows(keys, frame.row_count, context)
        columns = key_columns(keys, groups)
        nested = []
        for column, name, setting in zip(frame.columns, names, setting_of, strict=True):
            if setting.get("operation") == "aggregate":
                columns += [_aggregated(column, name, aggregation, groups) for aggregation in aggregations_of(setting)]
            if name not in settings or "aggregations" not in setting or _has_no_operation(setting):
                nested.append(Column(name, column.type, column.values, config=column.config))
        whole = DataFrame(nested, frame.row_count, meta={"custom": {"noHeader": not show_headers}})
        tables = [[whole.with_rows(rows if nested else ())] for rows in groups]
        columns.append(Column(_NESTED_NAME, CellType.FRAMES, tables))
        result.append(DataFrame(columns, len(groups)))
    return result


def _has_no_operation(setting: Mapping[str, Any]) -> bool:
    operation = setting.get("operation")
    return operation is None or (operation == "aggregate" and setting.get("aggregations") == [])


def _aggregated(column: Column, name: str, aggregation: str, groups: Sequence[Sequence[int]]) -> Column:
    calculations = known_calculations([aggregation])
    values = [
        column.with_values([column.values[row] for row in rows]).reduced(calculations[0]) if calculations else UNDEFINED for rows in groups
    ]
    title = f"{name} ({aggregation})"
    if aggregation == "allIsNull":
        return Column(title, CellType.BOOLEAN, values)
    type_ = column.type if aggregation in _CHOICES else guessed_type(title, values) or CellType.STRING
    return Column(title, type_, values)
