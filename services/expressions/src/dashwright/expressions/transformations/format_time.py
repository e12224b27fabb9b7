"""Times as text."""

from collections.abc import Mapping
from typing import Any

from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.convert_field_type import text_column
from dashwright.expressions.transformations.data import Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames


def format_time(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames with the column ``timeField`` as text in the format ``outputFormat``."""
    names = DisplayNames(frames)
    names.remember()

    def formatted(column: Column, frame: DataFrame) -> Column:
        if names.of(column, frame) != options.get("timeField"):
            return column
        return text_column(column, options.get("outputFormat"), options.get("timezone"), context.zone)

    return [frame.with_columns([formatted(column, frame) for column in frame.columns]) for frame in frames]
