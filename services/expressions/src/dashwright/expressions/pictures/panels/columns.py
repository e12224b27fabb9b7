"""Columns of panels that draw series of numbers."""

from collections.abc import Sequence

import numpy as np

from dashwright.common.json_shapes import member_at
from dashwright.expressions.pictures.display.colour_modes import is_by_value
from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.series import float_values
from dashwright.expressions.pictures.theme import Theme


def is_hidden(column: DisplayColumn) -> bool:
    """Return whether the panel does not draw a column."""
    return member_at(column.config, "custom", "hideFrom", "viz") is True


def as_series(columns: Sequence[DisplayColumn], theme: Theme) -> list[DisplayColumn]:
    """Return the columns numbered from 0: the numbers select the colours of their series from the palette."""
    return [column.with_series_index(index, theme) for index, column in enumerate(columns)]


def series_colour(column: DisplayColumn) -> str:
    """Return the colour of a series in a legend: that of its last value, if colours depend on values."""
    if not is_by_value(column.config):
        return column.processor.display(None).colour
    values = float_values(column.field)
    numbers = values[~np.isnan(values)]
    return column.processor.display(float(numbers[-1]) if len(numbers) else None).colour
