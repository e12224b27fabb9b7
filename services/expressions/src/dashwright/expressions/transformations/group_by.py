"""Grouping of rows by the values of columns, and calculations on the groups."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.common.json_shapes import list_of, object_of
from dashwright.expressions.calculations.table import known_calculations
from dashwright.expressions.javascript.values import UNDEFINED, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames, bare_display_name

#: Calculations whose results are numbers (``_COUNTS``) or booleans (``_FLAGS``) for columns of any type.
_COUNTS: Final = frozenset({"count", "distinctCount", "changeCount", "countAll"})
_FLAGS: Final = frozenset({"allIsNull", "allIsZero"})


def group_by(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a row for each group of rows with equal values in the columns whose ``operation`` is ``groupby``.

    A column with ``aggregations`` becomes several columns, one for each aggregation. Frames without a column to group by are left out.
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
        namesakes = columns_by_name(frame)
        columns = key_columns(keys, groups, namesakes)
        for column in frame.columns:
            name = bare_display_name(column)
            columns += [aggregated(column, namesakes, id_, groups) for id_ in aggregations_of(settings.get(name, {}))]
        result.append(DataFrame(columns, len(groups), ref_id=frame.ref_id))
    return result


def grouped_rows(keys: Sequence[Column], row_count: int, context: Context) -> list[list[int]]:
    """Return the rows of each group, in the order of the first rows. As in Grafana, keys are compared as text: null equals empty text."""
    groups: dict[str, list[int]] = {}
    for row in range(row_count):
        context.step()
        groups.setdefault(text_of([column.values[row] for column in keys]), []).append(row)
    return list(groups.values())


def columns_by_name(frame: DataFrame) -> dict[str, list[Column]]:
    """Return the columns by display name. Grafana groups the values of columns with one name together."""
    columns: dict[str, list[Column]] = {}
    for column in frame.columns:
        columns.setdefault(bare_display_name(column), []).append(column)
    return columns


def key_columns(keys: Sequence[Column], groups: Sequence[Sequence[int]], namesakes: Mapping[str, Sequence[Column]]) -> list[Column]:
    """Return the columns to group by, with the value of each group."""
    return [
        Column(column.name, column.type, [namesakes[bare_display_name(column)][0].values[rows[0]] for rows in groups], config=column.config)
        for column in keys
    ]


def aggregations_of(setting: Mapping[str, Any]) -> list[str]:
    """Return the ids of the calculations of a column. Columns to group by can only be counted."""
    names = [name for name in list_of(setting.get("aggregations")) if isinstance(name, str)]
    if setting.get("operation") == "aggregate":
        return names
    return names if setting.get("operation") == "groupby" and names == ["count"] else []


def aggregated(column: Column, namesakes: Mapping[str, Sequence[Column]], aggregation: str, groups: Sequence[Sequence[int]]) -> Column:
    """Return the results of a calculation for the values of each group in a column and its namesakes, named ``name (id)``."""
    name = bare_display_name(column)
    columns = namesakes[name]
    calculations = known_calculations([aggregation])

    def result_of(rows: Sequence[int]) -> Any:
        # As in Grafana, the result of an unknown calculation is undefined.
        if not calculations:
            return UNDEFINED
        values = [namesake.values[row] for row in rows for namesake in columns]
        return columns[0].with_values(values).reduced(calculations[0])

    return Column(f"{name} ({aggregation})", _type_of_results(aggregation, column), [result_of(rows) for rows in groups])


def _type_of_results(aggregation: str, column: Column) -> CellType:
    if aggregation in _COUNTS:
        return CellType.NUMBER
    return CellType.BOOLEAN if aggregation in _FLAGS else column.type
