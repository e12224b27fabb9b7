"""Combination of series into rows with the name of the series."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import compare
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, joined_ref_id
from dashwright.expressions.transformations.merge import appended
from dashwright.expressions.transformations.names import TIME_NAME, VALUE_NAME, frame_display_name
from dashwright.expressions.transformations.sort_by import sorted_frame

_METRIC_NAME: Final = "Metric"
#: The number of times that are compared to recognize a time column, whose times increase.
_COMPARED_TIMES: Final = 100


def series_to_rows(frames: Frames, _options: Mapping[str, Any], context: Context) -> Frames:
    """Return one frame with the times, names and values of all series, newest first. Frames without rows are left out.

    If one of the frames is not a series, all are unchanged.
    """
    if not frames:
        return frames
    filled = [frame for frame in frames if frame.row_count]
    if not all(map(_is_series, filled)):
        return filled
    context.check_cells(sum(frame.row_count for frame in filled), 3)
    times: list[Any] = []
    metrics: list[str] = []
    values: list[Any] = []
    for frame in filled:
        # As in Grafana, the last column of times has the times. The values are in the first column, or if it has the times in the second.
        time_index = next((i for i, column in reversed(list(enumerate(frame.columns))) if column.type is CellType.TIME), 0)
        times += frame.columns[time_index].values
        metrics += [frame_display_name(frame)] * frame.row_count
        values += frame.columns[1 if time_index == 0 else 0].values
    columns = [column for frame in filled for column in frame.columns]
    time_column = next((column for column in columns if column.type is CellType.TIME), None)
    value_column = next((column for column in columns if column.type is not CellType.TIME), None)
    ref_id = joined_ref_id("seriesToRows", filled)
    if time_column is None or value_column is None:
        return [DataFrame(ref_id=ref_id)]
    value = appended(_empty_column(value_column, VALUE_NAME), values)
    structure = [appended(_empty_column(time_column, TIME_NAME), times), Column(_METRIC_NAME, CellType.STRING, metrics)]
    # If the first column has no times, values precede them, and the rows are sorted by the values, as in Grafana.
    structure = [value, *structure] if columns[0] is value_column else [*structure, value]
    rows = DataFrame(structure, len(times), ref_id=ref_id)
    return [sorted_frame(rows, rows.columns[0], is_descending=True)]


def _empty_column(column: Column, name: str) -> Column:
    """Return the column without cells and display names, under another name."""
    config = {key: value for key, value in column.config.items() if key not in ("displayName", "displayNameFromDS")}
    return Column(name, column.type, (), config=config)


def _is_series(frame: DataFrame) -> bool:
    has_numbers = any(column.type is CellType.NUMBER for column in frame.columns)
    return has_numbers and any(column.type is CellType.TIME and _is_ascending(column) for column in frame.columns)


def _is_ascending(column: Column) -> bool:
    """Return whether the first times increase strictly."""
    greatest: Any = None
    for time in column.values[:_COMPARED_TIMES]:
        if greatest is not None and (time is None or time is UNDEFINED or not compare(time, greatest) > 0):
            return False
        greatest = time
    return True
