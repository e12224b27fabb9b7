"""Conversion of rows to fields with configurations of their own."""

from collections.abc import Mapping
from typing import Any

from dashwright.expressions.javascript.values import is_missing, text_of
from dashwright.expressions.transformations.config_mapping import LABEL_KEY, ColumnMapping, config_of, map_columns
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames


def rows_to_fields(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return each frame with a field for each row. Frames without a name or value column are unchanged."""
    return [_fields(frame, options.get("mappings"), context) for frame in frames]


def _fields(frame: DataFrame, options: Any, context: Context) -> DataFrame:
    """Return a frame of one row, with a field for each row of the given frame."""
    mapping = map_columns(frame, options, rows_are_fields=True)
    names, values = mapping.name_column, mapping.value_column
    if names is None or values is None:
        return frame
    context.check_cells(1, frame.row_count)
    columns = []
    for row in range(frame.row_count):

        def cell(mapped: ColumnMapping, row: int = row) -> Any:
            return mapped.column.values[row]

        labels = dict(names.labels or {})
        labels |= {mapped.name: cell(mapped) for mapped in mapping.columns if mapped.key == LABEL_KEY and not is_missing(cell(mapped))}
        columns.append(Column(text_of(names.values[row]), values.type, [values.values[row]], labels, config_of(mapping, cell)))
        context.step(len(mapping.columns))
    return DataFrame(columns, 1)
