"""Gradients of lines and areas from the bottom to the top of a plot, by Grafana's gradient modes."""

import colorsys
from itertools import pairwise
from typing import Final

import numpy as np

from dashwright.expressions.pictures.plots.plotted import PlottedSeries
from dashwright.expressions.pictures.plots.scales import ValueScale
from dashwright.expressions.pictures.style import TRANSPARENT

#: The number of colours of a continuous scheme that a gradient is made of.
_STOPS: Final = 16
#: The change of the hue of a gradient at its ends, as a share of the circle of colours.
_HUE_CHANGE: Final = 15 / 360
_CODE_LENGTH: Final = 7


def gradient_element(plotted: PlottedSeries, scale: ValueScale) -> str | None:
    """Return the ``<linearGradient>`` of a series with the id ``{id}``; None if its mode needs no gradient."""
    mode = plotted.look.gradient
    if mode == "opacity":
        stops = [_stop(0, plotted.colour), _stop(1, plotted.colour, 0)]
    elif mode == "hue":
        stops = [_stop(0, _turned(plotted.colour, -_HUE_CHANGE)), _stop(1, _turned(plotted.colour, _HUE_CHANGE))]
    elif plotted.colours.is_by_value:
        stops = _stops_of_scheme(plotted, scale)
    else:
        return None
    return (
        f'<linearGradient id="{{id}}" gradientUnits="userSpaceOnUse" x1="0" y1="0" x2="0" y2="{scale.height:.1f}">'
        f"{''.join(stops)}</linearGradient>"
    )


def _stops_of_scheme(plotted: PlottedSeries, scale: ValueScale) -> list[str]:
    """Return the colours of values from the top of a scale to its bottom: steps for thresholds, otherwise continuous ones."""
    if not plotted.colours.is_stepped:
        return [_stop(share, plotted.colours.at(_value_at(scale, share))) for share in np.linspace(0, 1, _STOPS).tolist()]
    steps = plotted.style.thresholds(minimum=plotted.colours.low, maximum=plotted.colours.high)
    positions = sorted({scale.position(step.value) / scale.height for step in steps if step.value is not None})
    stops = []
    for start, end in pairwise([0.0, *(position for position in positions if 0 < position < 1), 1.0]):
        colour = plotted.colours.at(_value_at(scale, (start + end) / 2))
        stops += [_stop(start, colour), _stop(end, colour)]
    return stops


def _value_at(scale: ValueScale, share: float) -> float:
    """Return the value at a share of the height below the top."""
    values = np.linspace(scale.low, scale.high, 400)
    return float(values[int(np.argmin(np.abs(scale.positions(values) - share * scale.height)))])


def _stop(offset: float, colour: str, opacity: float = 1) -> str:
    is_visible = colour != TRANSPARENT
    return (
        f'<stop offset="{offset:.4f}" stop-color="{colour if is_visible else "#000000"}" stop-opacity="{opacity if is_visible else 0:g}"/>'
    )


def _turned(colour: str, change: float) -> str:
    """Return a colour with another hue."""
    if len(colour) != _CODE_LENGTH:
        return colour
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = colorsys.hls_to_rgb((hue + change) % 1, lightness, saturation)
    return "#" + "".join(f"{round(part * 255):02x}" for part in turned)
