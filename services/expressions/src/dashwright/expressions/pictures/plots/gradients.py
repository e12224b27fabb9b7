"""Gradients of lines and areas from the bottom to the top of a plot, by Grafana's gradient modes."""

from itertools import pairwise
from typing import Final

import numpy as np

from dashwright.expressions.pictures.display.colour_math import spun
from dashwright.expressions.pictures.plots.plotted import PlottedSeries
from dashwright.expressions.pictures.plots.scales import ValueScale
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient

#: The number of colours of a continuous scheme that a gradient is made of.
_STOPS: Final = 16
#: The number of values among which the value at a position is searched: more than the distinct colours of most plots.
_SEARCHED_VALUES: Final = 400
#: The change of the hue of a gradient at its ends.
_HUE_CHANGE_DEGREES: Final = 15


def series_gradient(plotted: PlottedSeries, scale: ValueScale) -> tuple[str, str] | None:
    """Return the element of the gradient of a series, and the paint that refers to it; None if its mode needs no gradient."""
    mode, colour = plotted.look.gradient, plotted.colour
    if mode == "opacity":
        stops = [Stop(0, colour), Stop(1, colour, 0)]
    elif mode == "hue" and colour.startswith("#"):
        stops = [Stop(0, spun(colour, -_HUE_CHANGE_DEGREES)), Stop(1, spun(colour, _HUE_CHANGE_DEGREES))]
    elif mode == "scheme" and plotted.colours.is_by_value:
        stops = _stops_of_scheme(plotted, scale)
    else:
        return None
    return linear_gradient(stops, (0, 0), (0, scale.height), is_in_pixels=True)


def _stops_of_scheme(plotted: PlottedSeries, scale: ValueScale) -> list[Stop]:
    """Return the colours of a scale from top to bottom: in steps for thresholds, otherwise continuous."""
    if not plotted.colours.is_stepped:
        return [Stop(share, plotted.colours.at(_value_at(scale, share))) for share in np.linspace(0, 1, _STOPS).tolist()]
    steps = plotted.style.thresholds(minimum=plotted.colours.low, maximum=plotted.colours.high)
    positions = sorted({scale.position(step.value) / scale.height for step in steps if step.value is not None})
    stops: list[Stop] = []
    for start, end in pairwise([0.0, *(position for position in positions if 0 < position < 1), 1.0]):
        colour = plotted.colours.at(_value_at(scale, (start + end) / 2))
        stops += [Stop(start, colour), Stop(end, colour)]
    return stops


def _value_at(scale: ValueScale, share: float) -> float:
    """Return the value at a share of the height below the top."""
    # Scales do not compute values from positions, so the nearest of many values is searched.
    values = np.linspace(scale.low, scale.high, _SEARCHED_VALUES)
    return float(values[int(np.argmin(np.abs(scale.positions(values) - share * scale.height)))])
