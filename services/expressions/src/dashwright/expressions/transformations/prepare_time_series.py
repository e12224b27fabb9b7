"""Time series in one of three formats: wide, many frames, or long."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import difference
from dashwright.expressions.javascript.sorting import sorted_by
from dashwright.expressions.javascript.values import UNDEFINED, is_missing, json_text, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.joins import join_frames
from dashwright.expressions.transformations.matchers.fields import field_matcher
from dashwright.expressions.transformations.merge import appended

#: The types of columns whose values become labels of series.
_FACTOR_TYPES: Final = frozenset({CellType.STRING, CellType.BOOLEAN})


def prepare_time_series(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames joined by time, or in the format ``many`` (also ``multi``) or ``long``."""
    format_ = options.get("format")
    if format_ in ("many", "multi"):
        return _multiple_series(frames, context)
    if format_ == "long":
        return [long for frame in frames if (long := _long(frame, context))]
    joined_frame = join_frames(frames, context, field_matcher({"id": "firstTimeField"}))
    return [] if joined_frame is None else [joined_frame]


def _multiple_series(frames: Frames, context: Context) -> Frames:
    """Return a frame of times and values for each series: each column of numbers, for each group of rows with equal text."""
    result: list[DataFrame] = []
    for frame in frames:
        long = _long(frame, context)
        if long is None:
            continue
        times, *value_columns = long.columns
        labels = [column for column in value_columns if column.type is CellType.STRING]
        for column in value_columns:
            if column.type in (CellType.NUMBER, CellType.BOOLEAN):
                result += _series(long, times, column, labels)
                context.check(result)
    return result


def _series(frame: DataFrame, times: Column, column: Column, labels: Sequence[Column]) -> list[DataFrame]:
    """Return a frame with times and one value column for each group of rows with equal labels."""
    meta = {**(frame.meta or {}), "type": "timeseries-multi"}
    if not labels:
        return [DataFrame([times, column], frame.row_count, frame.name, frame.ref_id, meta)]
    groups: dict[str, list[int]] = {}
    for row in range(frame.row_count):
        # Undefined values come from rows that only other series have.
        if column.values[row] is not UNDEFINED and not is_missing(times.values[row]):
            key = "/".join("" if is_missing(label.values[row]) else text_of(label.values[row]) for label in labels)
            groups.setdefault(key, []).append(row)
    result = []
    for rows in groups.values():
        series = DataFrame([times, column], frame.row_count, frame.name, frame.ref_id, meta).with_rows(rows)
        label_values = {label.name: label.values[rows[0]] for label in labels}
        values = Column(column.name, column.type, series.columns[1].values, label_values, column.config)
        result.append(series.with_columns([series.columns[0], values]))
    return result


def _long(frame: DataFrame, context: Context) -> DataFrame | None:
    """Return a row for each time and each set of labels, with the labels as columns; None without times."""
    times = frame.time_column
    if times is None:
        return None
    factors: dict[str, Column] = {}
    value_types: dict[str, CellType] = {}
    columns_by_labels: dict[str, list[Column]] = {}
    for column in frame.columns:
        if column.type in _FACTOR_TYPES:
            factors.setdefault(column.name, column)
        # Of columns with one name, only those with the type of the first one are values.
        elif column is not times and value_types.setdefault(column.name, column.type) is column.type:
            key = "undefined" if column.labels is None else str(json_text(dict(column.labels)))
            columns_by_labels.setdefault(key, []).append(column)
    # The columns of each label set. As in Grafana, label sets are sorted by their JSON.
    label_sets = [columns_by_labels[key] for key in sorted(columns_by_labels)]
    label_names = {name for columns in label_sets for column in columns for name in column.labels or ()}
    context.check_cells(frame.row_count * len(label_sets), 1 + len(value_types) + len(factors) + len(label_names))
    rows: list[dict[str, Any]] = []
    for row in sorted_by(range(frame.row_count), lambda left, right: difference(times.values[left], times.values[right])):
        for columns in label_sets:
            cells = {name: column.values[row] for name, column in factors.items()}
            cells |= columns[0].labels or {}
            cells |= {column.name: column.values[row] for column in columns}
            rows.append({**cells, times.name: times.values[row]})
    structure = [
        Column(times.name, times.type, ()),
        *(Column(name, value_types[name], ()) for name in sorted(value_types)),
        *(Column(name, CellType.STRING, ()) for name in sorted(label_names | set(factors))),
    ]
    filled = [appended(column, [cells.get(column.name, UNDEFINED) for cells in rows]) for column in structure]
    return DataFrame(filled, len(rows), frame.name, frame.ref_id, {**(frame.meta or {}), "type": "timeseries-long"})
