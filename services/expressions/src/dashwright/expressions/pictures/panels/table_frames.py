"""The frame that a table panel shows."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dashwright.expressions.engine.frame import Field, FieldType, Frame


def shown_frame(frames: Sequence[Frame], index: Any) -> Frame:
    """Return the frame that the panel selects, by default the first one; series become a frame with a row for each of them."""
    if isinstance(index, int) and 0 <= index < len(frames):
        return frames[index]
    are_series = len(frames) > 1 and all(_is_series(frame) for frame in frames)
    return _joined(frames) if are_series else frames[0]


def _is_series(frame: Frame) -> bool:
    """Return whether a frame is one series: a column of times and one of numbers."""
    return [field.type is FieldType.TIME for field in frame.fields] == [True, False] and frame.fields[1].type.is_numeric


def _joined(frames: Sequence[Frame]) -> Frame:
    """Return a frame with a row for each series: its last time, its labels and its last value."""
    filled_frames = [frame for frame in frames if frame.row_count]
    fields = [frame.fields[1] for frame in filled_frames]
    label_names = sorted({label_name for field in fields if field.labels for label_name in field.labels.keys})
    times = np.array([frame.fields[0].values[-1] for frame in filled_frames], dtype=np.int64)
    columns = [Field(filled_frames[0].fields[0].name if filled_frames else "Time", FieldType.TIME, times)]
    for label_name in label_names:
        values = np.array([dict(field.labels.pairs).get(label_name) if field.labels else None for field in fields], dtype=object)
        columns.append(Field(label_name, FieldType.STRING, values))
    last_numbers = np.array([_last_number(field) for field in fields], dtype=np.float64)
    config = fields[0].config if fields else None
    columns.append(Field("Value", FieldType.FLOAT64, last_numbers, np.isnan(last_numbers), config=config))
    return Frame(columns, ref_id=frames[0].ref_id)


def _last_number(field: Field) -> float:
    """Return the last value of a column; NaN if it is null."""
    is_null = field.nulls is not None and field.nulls[-1]
    return math.nan if is_null else float(field.values[-1])
