"""Colours of series: by their position, or by one of their values."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import object_of
from dashwright.expressions.pictures.series import reduced_value
from dashwright.expressions.pictures.style import TRANSPARENT, Style, series_colours


def is_by_value(style: Style) -> bool:
    """Return whether the colours of a style depend on values rather than on the series."""
    return style.colour_mode == "thresholds" or style.colour_mode.startswith("continuous")


def line_colours(styles: Sequence[Style], values: Sequence[NDArray[np.float64]]) -> list[str]:
    """Return the colour of each series. In modes by value it is that of the value ``seriesBy``: the last, lowest or highest one."""
    return [
        _colour_by_value(style, numbers) if is_by_value(style) else colour
        for style, numbers, colour in zip(styles, values, series_colours(styles), strict=True)
    ]


def _colour_by_value(style: Style, values: NDArray[np.float64]) -> str:
    choice = object_of(style.config.get("color")).get("seriesBy")
    colour = style.colour(reduced_value(values, choice if choice in ("min", "max") else "lastNotNull"))
    return "none" if colour == TRANSPARENT else colour
