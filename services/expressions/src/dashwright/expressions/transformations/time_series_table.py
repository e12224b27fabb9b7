"""Tables of time series: a row for each series, with its labels and the series itself in a cell."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.calculations.table import CALCULATIONS
from dashwright.expressions.javascript.comparisons import compare
from dashwright.expressions.javascript.values import is_missing
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, Trend

_MAX_COMPARED_TIMES: Final = 100
_DEFAULT_CALCULATION: Final = "lastNotNull"


def time_series_table(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return a table for each query: a row for each series, with a column for each label and one of trends, named ``Trend #A``.

    The option with the refId of a query contains ``stat``, the calculation of the value of a trend, and ``timeField``, the name of the
    column of times. Frames that are not time series come first, unchanged.
    """
    by_query: dict[str, list[DataFrame]] = {}
    for frame in frames:
        by_query.setdefault(frame.ref_id, []).append(frame)
    other_frames = [frame for query_frames in by_query.values() for frame in query_frames if not _is_series(frame)]
    tables = []
    for ref_id, query_frames in by_query.items():
        series = [frame for frame in query_frames if _is_series(frame)]
        label_names = list(dict.fromkeys(name for frame in query_frames for column in _values_of(frame) for name in column.labels or ()))
        table = _table(ref_id, series, label_names, object_of(options.get(ref_id)), context)
        if table.columns:
            tables.append(table)
    return [*other_frames, *tables]


def _table(
    ref_id: str, series: Sequence[DataFrame], label_names: Sequence[str], settings: Mapping[str, Any], context: Context
) -> DataFrame:
    calculation = CALCULATIONS.get(string_of(settings.get("stat"))) or CALCULATIONS[_DEFAULT_CALCULATION]
    pairs = [(frame, column) for frame in series for column in _values_of(frame)]
    context.check_cells(len(pairs), 1 + len(label_names))
    trends, labels = [], []
    for frame, column in pairs:
        times = _times_of(frame, settings)
        if times is not None:
            trends.append(Trend(DataFrame([times, column], frame.row_count), column.reduced(calculation)))
        labels.append(column.labels or {})
        context.step(len(column.values))
    columns = [Column(name, CellType.STRING, [label_set.get(name, "") for label_set in labels]) for name in label_names]
    if trends:
        columns.append(Column(f"Trend #{ref_id}", CellType.FRAME, trends))
    return DataFrame.of(columns, ref_id)


def _times_of(frame: DataFrame, settings: Mapping[str, Any]) -> Column | None:
    """Return the column of times that the settings name, or else the first ascending one; None without one."""
    if name := string_of(settings.get("timeField")):
        return next((column for column in frame.columns if column.name == name), None)
    return next(filter(_are_ascending, frame.columns), None)


def _values_of(frame: DataFrame) -> list[Column]:
    return [column for column in frame.columns if column.type is CellType.NUMBER]


def _is_series(frame: DataFrame) -> bool:
    return any(map(_are_ascending, frame.columns)) and bool(_values_of(frame))


def _are_ascending(column: Column) -> bool:
    """Return whether a column has ascending times. As in Grafana, only the first ``_MAX_COMPARED_TIMES`` are compared."""
    if column.type is not CellType.TIME:
        return False
    times = column.values[:_MAX_COMPARED_TIMES]
    return all(not is_missing(after) and (is_missing(before) or compare(before, after) < 0) for before, after in pairwise(times))
