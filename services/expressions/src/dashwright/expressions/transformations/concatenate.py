"""Concatenation of the columns of all frames."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashwright.common.json_shapes import string_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames, padded
from dashwright.expressions.transformations.names import VALUE_NAME


def concatenate(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return one frame with the columns of all frames.

    By ``frameNameMode``, the name of a frame becomes a part of the names of its columns or a label of them, or is dropped.
    """
    if len(frames) < 2:
        return frames
    length = max(frame.row_count for frame in frames)
    context.check_cells(length, sum(len(frame.columns) for frame in frames))
    columns = [_named(column, frame.name, options) for frame in frames for column in frame.columns]
    lengthened = [column if len(column.values) == length else column.with_values(padded(column.values, length)) for column in columns]
    return [DataFrame(lengthened, length)]


def _named(column: Column, frame_name: str, options: Mapping[str, Any]) -> Column:
    """Return the column with the name of its frame, by ``frameNameMode``."""
    mode = options.get("frameNameMode")
    renamed = replace(column, known_name=None)
    if not frame_name or mode == "drop":
        return renamed
    if mode == "label":
        label = options.get("frameNameLabel")
        return replace(renamed, labels={**(column.labels or {}), "frame" if label is None else string_of(label): frame_name})
    return replace(renamed, name=frame_name if column.name in ("", VALUE_NAME) else f"{frame_name} · {column.name}")
