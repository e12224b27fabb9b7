"""Colours in the functional notations of CSS Color Module Level 4: ``rgb()``, ``hsl()``, ``oklab()`` and ``oklch()``."""

import colorsys
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dashwright.expressions.pictures.display.colour_math import hexadecimal

#: A function with its arguments. No notation of a colour needs more than 80 characters of arguments.
NOTATION: Final = r"(?:rgba?|hsla?|oklab|oklch)\(\s*[\w\s.,%/+-]{5,80}\)"
_FUNCTION: Final = re.compile(r"(rgb|hsl|oklab|oklch)a?\(\s*([^()]{5,80}?)\s*\)", re.IGNORECASE)
_SEPARATOR: Final = re.compile(r"\s*[,/]\s*|\s+")
_COMPONENT: Final = re.compile(r"([+-]?(?:\d{1,8}\.?\d{0,16}|\.\d{1,16}))(%|deg|rad|grad|turn)?", re.IGNORECASE)
#: The degrees of one unit of an angle, other than ``deg``.
_DEGREES: Final = {"rad": 180 / math.pi, "grad": 0.9, "turn": 360.0}
#: The number of components without the opacity.
_COMPONENTS: Final = 3
#: The chroma of 100 %, which is also the distance from grey of 100 % on each axis of Oklab.
_FULL_CHROMA: Final = 0.4

#: The number of a component, and its unit in lower case.
_Component = tuple[float, str]


def functional_colour(text: str) -> tuple[str, float] | None:
    """Return the ``#rrggbb`` and the opacity, from 0 to 1, of a colour in a functional notation; None for other text."""
    matched = _FUNCTION.fullmatch(text)
    if matched is None:
        return None
    parsed_components = [_component(part) for part in _SEPARATOR.split(matched[2])]
    components = [component for component in parsed_components if component is not None]
    if len(components) != len(parsed_components) or len(parsed_components) not in (_COMPONENTS, _COMPONENTS + 1):
        return None
    opacity = _scaled(components[_COMPONENTS], 1.0) if len(parsed_components) > _COMPONENTS else 1.0
    return hexadecimal(_CONVERSIONS[matched[1].lower()](components)), min(max(opacity, 0.0), 1.0)


def _component(text: str) -> _Component | None:
    """Return a component; None for other text. The keyword ``none`` is 0, as in CSS."""
    if text.lower() == "none":
        return 0.0, ""
    matched = _COMPONENT.fullmatch(text)
    return (float(matched[1]), (matched[2] or "").lower()) if matched else None


def _scaled(component: _Component, full_scale: float) -> float:
    """Return the number of a component, of which 100 % is ``full_scale``."""
    number, unit = component
    return number * full_scale / 100 if unit == "%" else number


def _turns(component: _Component) -> float:
    """Return the angle of a hue in turns."""
    number, unit = component
    return number * _DEGREES.get(unit, 1.0) / 360 % 1


def _rgb(components: Sequence[_Component]) -> list[float]:
    return [_scaled(component, 255) for component in components[:_COMPONENTS]]


def _hsl(components: Sequence[_Component]) -> list[float]:
    saturation, lightness = (min(max(number / 100, 0.0), 1.0) for number, _ in components[1:_COMPONENTS])
    return [share * 255 for share in colorsys.hls_to_rgb(_turns(components[0]), lightness, saturation)]


def _oklab(components: Sequence[_Component]) -> list[float]:
    lightness, green_red, blue_yellow = components[:_COMPONENTS]
    return _of_oklab(_scaled(lightness, 1), _scaled(green_red, _FULL_CHROMA), _scaled(blue_yellow, _FULL_CHROMA))


def _oklch(components: Sequence[_Component]) -> list[float]:
    lightness, chroma, hue = components[:_COMPONENTS]
    distance, angle = max(_scaled(chroma, _FULL_CHROMA), 0.0), 2 * math.pi * _turns(hue)
    return _of_oklab(_scaled(lightness, 1), distance * math.cos(angle), distance * math.sin(angle))


def _of_oklab(lightness: float, green_red: float, blue_yellow: float) -> list[float]:
    """Return the red, green and blue from 0 to 255 of a colour in Oklab, with the matrices of CSS Color Module Level 4."""
    lightness = min(max(lightness, 0.0), 1.0)
    long = (lightness + 0.3963377774 * green_red + 0.2158037573 * blue_yellow) ** 3
    medium = (lightness - 0.1055613458 * green_red - 0.0638541728 * blue_yellow) ** 3
    short = (lightness - 0.0894841775 * green_red - 1.2914855480 * blue_yellow) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return [255 * _encoded(min(max(share, 0.0), 1.0)) for share in linear]


def _encoded(share: float) -> float:
    """Return a linear component of a colour as sRGB encodes it."""
    return 12.92 * share if share <= 0.0031308 else 1.055 * share ** (1 / 2.4) - 0.055


#: The functions that return red, green and blue, from 0 to 255, by the name of the notation.
_CONVERSIONS: Final[Mapping[str, Callable[[Sequence[_Component]], list[float]]]] = {
    "rgb": _rgb,
    "hsl": _hsl,
    "oklab": _oklab,
    "oklch": _oklch,
}
