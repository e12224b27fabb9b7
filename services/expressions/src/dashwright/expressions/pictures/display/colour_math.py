"""Computations with colours, which are ``#rrggbb``: mixtures, shades, contrast and gradients."""

import colorsys
import math
from collections.abc import Sequence
from typing import Final

_LIGHT_TEXT: Final = "#f7f8fa"
_DARK_TEXT: Final = "#202226"
#: The brightness, from 0 to 255, above which Grafana draws dark text.
_BRIGHT: Final = 180


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of a colour, from 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def hexadecimal(components: Sequence[float]) -> str:
    """Return the colour with these components, which are rounded and limited to 0 to 255."""
    return "#" + "".join(f"{min(max(math.floor(component + 0.5), 0), 255):02x}" for component in components)


def mixed(colour: str, background: str, opacity: float) -> str:
    """Return the colour that is visible if a colour covers a background with an opacity from 0 to 1."""
    pairs = zip(rgb(colour), rgb(background), strict=True)
    return hexadecimal([upper * opacity + lower * (1 - opacity) for upper, lower in pairs])


def brightened(colour: str, percent: float) -> str:
    """Return the colour with each component raised by percent of the maximum."""
    # As in tinycolor, which Grafana uses: the negative change is rounded, and a half up.
    return hexadecimal([component - math.floor(0.5 - 255 * percent / 100) for component in rgb(colour)])


def darkened(colour: str, percent: float) -> str:
    """Return the colour with its lightness lowered by percent, or raised by a negative number."""
    hue, lightness, saturation = _hls(colour)
    return _from_hls(hue, min(max(lightness - percent / 100, 0), 1), saturation)


def spun(colour: str, degrees: float) -> str:
    """Return the colour with its hue turned."""
    hue, lightness, saturation = _hls(colour)
    return _from_hls((hue + degrees / 360) % 1, lightness, saturation)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour from 0 to 1, as WCAG defines it."""
    red, green, blue = (_linear(component / 255) for component in rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours from 1 to 21, as WCAG defines it."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def text_colour_on(background: str) -> str:
    """Return a light or a dark colour of text, depending on the brightness of the background, as in Grafana."""
    red, green, blue = rgb(background)
    brightness = 0.299 * red + 0.587 * green + 0.114 * blue
    return _DARK_TEXT if brightness > _BRIGHT else _LIGHT_TEXT


def gradient_colour(colours: Sequence[str], share: float) -> str:
    """Return the colour at a share from 0 to 1 of a gradient: a uniform B-spline through the colours, as in D3."""
    components = list(zip(*(rgb(colour) for colour in colours), strict=True))
    return hexadecimal([_spline(values, share) for values in components])


def _spline(values: Sequence[float], share: float) -> float:
    """Return the value of a uniform B-spline at a share from 0 to 1."""
    intervals = len(values) - 1
    position = min(max(share, 0.0), 1.0)
    index = min(int(position * intervals), intervals - 1)
    first, second = values[index], values[index + 1]
    # Reflected values beyond the ends make the curve begin and end exactly at the first and the last value.
    before = values[index - 1] if index > 0 else 2 * first - second
    after = values[index + 2] if index < intervals - 1 else 2 * second - first
    t = (position - index / intervals) * intervals
    weights = ((1 - t) ** 3, 4 - 6 * t**2 + 3 * t**3, 1 + 3 * t + 3 * t**2 - 3 * t**3, t**3)
    return sum(weight * value for weight, value in zip(weights, (before, first, second, after), strict=True)) / 6


def _linear(component: float) -> float:
    """Return a component of sRGB from 0 to 1 as light intensity, with the numbers of WCAG."""
    return component / 12.92 if component <= 0.03928 else ((component + 0.055) / 1.055) ** 2.4


def _hls(colour: str) -> tuple[float, float, float]:
    red, green, blue = (component / 255 for component in rgb(colour))
    return colorsys.rgb_to_hls(red, green, blue)


def _from_hls(hue: float, lightness: float, saturation: float) -> str:
    return hexadecimal([component * 255 for component in colorsys.hls_to_rgb(hue, lightness, saturation)])
