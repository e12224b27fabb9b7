"""Conversion of labels to columns or rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import list_of
from dashwright.expressions.javascript.values import UNDEFINED, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames


def labels_to_fields(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the labels of columns as columns of their own, or a frame of labels for each column if ``mode`` is ``rows``."""
    kept_labels = [text_of(name) for name in list_of(options.get("keepLabels"))]
    if options.get("mode") == "rows":
        return _label_rows(frames, kept_labels if isinstance(options.get("keepLabels"), list) else None)
    return [_with_label_columns(frame, kept_labels, options.get("valueLabel"), context) for frame in frames]


def _with_label_columns(frame: DataFrame, kept_labels: Sequence[str], value_label: Any, context: Context) -> DataFrame:
    """Return the columns without labels, followed by a column for each distinct value of each label."""
    columns: list[Column] = []
    values_by_label: dict[str, dict[Any, None]] = {}
    for column in frame.columns:
        if column.labels is None:
            columns.append(column)
            continue
        name = column.name
        for label, value in column.labels.items():
            if kept_labels and label not in kept_labels:
                continue
            if label == value_label:
                name = text_of(value)
            else:
                values_by_label.setdefault(label, {})[value] = None
        columns.append(replace(column.with_config(displayName=None, displayNameFromDS=None), name=name, labels=None))
    context.check_cells(frame.row_count, len(columns) + sum(map(len, values_by_label.values())))
    columns += [Column(label, CellType.STRING, [value] * frame.row_count) for label, values in values_by_label.items() for value in values]
    return frame.with_columns(columns)


def _label_rows(frames: Frames, kept_labels: Sequence[str] | None) -> Frames:
    """Return for each column with labels a frame with a row for each label."""
    names = DisplayNames(frames)
    result = []
    for frame in frames:
        for column in frame.columns:
            labels = column.labels
            if labels is None:
                continue
            keys = list(labels) if kept_labels is None else list(kept_labels)
            columns = [
                Column("label", CellType.STRING, keys),
                Column("value", CellType.STRING, [labels.get(key, UNDEFINED) for key in keys]),
            ]
            if keys:
                result.append(replace(frame, name=names.of(column, frame), columns=columns, row_count=len(keys)))
    return result
