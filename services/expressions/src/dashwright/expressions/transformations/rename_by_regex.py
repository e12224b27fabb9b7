"""Renaming of columns by a regular expression."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.patterns import TextPattern
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Column, DataFrame, Frames
from dashwright.expressions.transformations.names import DisplayNames


def rename_by_regex(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the columns with the first match of ``regex`` in their display names replaced by ``renamePattern``."""
    pattern, replacement = TextPattern.of(string_of(options.get("regex"))), string_of(options.get("renamePattern"))
    names = DisplayNames(frames, are_related=False)

    def renamed(column: Column, frame: DataFrame) -> Column:
        context.step()
        name = names.of(column, frame)
        return column.with_display_name(pattern.replaced(name, replacement)) if pattern.search(name) else column

    return [frame.with_columns([renamed(column, frame) for column in frame.columns]) for frame in frames]
