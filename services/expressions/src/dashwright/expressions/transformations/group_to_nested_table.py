"""Grouping of rows, with the rows of each group as a table in a cell."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from dashwright.common.json_shapes import object_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, guessed_type
from dashwright.expressions.transformations.group_by import aggregated, aggregations_of, columns_by_name, grouped_rows, key_columns
from dashwright.expressions.transformations.names import bare_display_name

_NESTED_NAME: Final = "__nestedFrames"
#: Calculations whose results have the type of the column.
_CHOICES: Final = frozenset({"first", "firstNotNull", "last", "lastNotNull"})


def group_to_nested_table(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a row for each group of rows with equal values, with calculations and a table of the other columns of the group."""
    settings = {name: object_of(setting) for name, setting in object_of(options.get("fields")).items()}
    if not any(setting.get("operation") == "groupby" for setting in settings.values()):
        return frames
    meta = {"custom": {"noHeader": not options.get("showSubframeHeaders", True)}}
    grouped = [_grouped(frame, settings, meta, context) for frame in frames]
    return [frame for frame in grouped if frame.columns]


def _grouped(frame: DataFrame, settings: Mapping[str, Mapping[str, Any]], meta: Mapping[str, Any], context: Context) -> DataFrame:
    """Return the groups of a frame, a frame without columns if it has no column to group by."""
    columns_with_names = [(column, bare_display_name(column)) for column in frame.columns]
    keys = [column for column, name in columns_with_names if settings.get(name, {}).get("operation") == "groupby"]
    if not keys:
        return DataFrame()
    groups = grouped_rows(keys, frame.row_count, context)
    namesakes = columns_by_name(frame)
    columns = key_columns(keys, groups, namesakes)
    for column, name in columns_with_names:
        setting = settings.get(name, {})
        if setting.get("operation") == "aggregate":
            columns += [_typed(aggregated(column, namesakes, id_, groups), column, id_) for id_ in aggregations_of(setting)]
    chosen = {name: columns_of_name[0] for name, columns_of_name in namesakes.items() if _is_nested(settings.get(name))}
    nested = [Column(name, column.type, column.values, config=column.config) for name, column in chosen.items()]
    ungrouped_frame = DataFrame(nested, frame.row_count, meta=meta)
    tables = [[ungrouped_frame.with_rows(rows if nested else ())] for rows in groups]
    return DataFrame([*columns, Column(_NESTED_NAME, CellType.FRAMES, tables)], len(groups))


def _is_nested(setting: Mapping[str, Any] | None) -> bool:
    """Return whether a column is in the nested tables. A column with an operation is not, except an aggregation without calculations."""
    if setting is None or "aggregations" not in setting or setting.get("operation") is None:
        return True
    return (setting["operation"], setting["aggregations"]) == ("aggregate", [])


def _typed(result: Column, column: Column, aggregation: str) -> Column:
    """Return the results of a calculation with the type that Grafana guesses."""
    if aggregation == "allIsNull":
        return replace(result, type=CellType.BOOLEAN)
    type_ = column.type if aggregation in _CHOICES else guessed_type(result.name, result.values) or CellType.STRING
    return replace(result, type=type_)
