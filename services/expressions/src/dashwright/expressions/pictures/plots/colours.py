"""Colours of series and of their values, by the colour modes of field configurations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import object_of
from dashwright.expressions.pictures.display.colour_modes import ColourContext, Colouring, colouring_of, is_by_value, mode_of
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.series import reduced_value
from dashwright.expressions.pictures.style import Style


@dataclass(frozen=True, slots=True)
class SeriesColours:
    """The colours of a series."""

    line: str  #: The colour of the line, ``none`` if it is transparent.
    is_by_value: bool  #: True if values have colours of their own.
    is_stepped: bool  #: True if these are the colours of thresholds.
    colouring: Colouring
    low: float  #: The start of the range of values.
    high: float  #: The end of the range of values.

    def at(self, value: float) -> str:
        """Return the colour of a value."""
        return self.colouring(value, _share(value, self.low, self.high))


def colours_of(styles: Sequence[Style], names: Sequence[str], values: Sequence[NDArray[np.float64]]) -> list[SeriesColours]:
    """Return the colours of the series of a panel. In modes by value, a line has the colour of its last, lowest or highest value."""
    ends = [number_range for numbers in values if (number_range := _ends(numbers))]
    common_range = min((low for low, _ in ends), default=0.0), max((high for _, high in ends), default=0.0)
    result = []
    for index, (style, name, numbers) in enumerate(zip(styles, names, values, strict=True)):
        colouring = colouring_of(ColourContext(style.config, style.theme, index, name))
        low, high = _range_of(style, numbers, common_range)
        line_colour = colouring(0, 0)
        if is_by_value(style.config):
            choice = object_of(style.config.get("color")).get("seriesBy")
            value = reduced_value(numbers, choice if choice in ("min", "max") else "lastNotNull") or 0.0
            line_colour = colouring(value, _share(value, low, high))
        is_stepped = mode_of(style.config) == "thresholds"
        result.append(
            SeriesColours(
                "none" if line_colour == TRANSPARENT else line_colour, is_by_value(style.config), is_stepped, colouring, low, high
            )
        )
    return result


def _range_of(style: Style, values: NDArray[np.float64], common_range: tuple[float, float]) -> tuple[float, float]:
    """Return the range of a series: the configured limits, or else those of its values (``fieldMinMax``) or of all series."""
    low, high = (_ends(values) if style.config.get("fieldMinMax") is True else None) or common_range
    return low if style.minimum is None else style.minimum, high if style.maximum is None else style.maximum


def _ends(values: NDArray[np.float64]) -> tuple[float, float] | None:
    """Return the lowest and the highest value; None without values."""
    numbers = values[~np.isnan(values)]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else None


def _share(value: float, low: float, high: float) -> float:
    """Return the place of a value in a range, 0 at its start and 1 at its end; 0 if the range is empty."""
    share = (value - low) / (high - low) if high != low else 0.0
    return share if math.isfinite(share) else 0.0
