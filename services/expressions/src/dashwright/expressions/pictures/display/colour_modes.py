"""Colour modes of field configurations: how a column's values get their colours. ``COLOUR_MODES`` at the end has all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.display.colour_math import brightened, darkened, gradient_colour, spun
from dashwright.expressions.pictures.display.palettes import classic_palette, old_palette, palette_colour, readable_palette
from dashwright.expressions.pictures.display.thresholds import FALLBACK_COLOUR, step_colour, thresholds_of
from dashwright.expressions.pictures.theme import Theme, colour_of

#: The colours of each continuous scheme, from the lowest value to the highest.
_SCHEMES: Final[Mapping[str, tuple[str, ...]]] = {
    "continuous-GrYlRd": ("green", "yellow", "red"),
    "continuous-RdYlGr": ("red", "yellow", "green"),
    "continuous-BlYlRd": ("dark-blue", "super-light-yellow", "dark-red"),
    "continuous-YlRd": ("super-light-yellow", "dark-red"),
    "continuous-BlPu": ("blue", "purple"),
    "continuous-YlBl": ("super-light-yellow", "dark-blue"),
    "continuous-blues": ("panel-bg", "dark-blue"),
    "continuous-reds": ("panel-bg", "dark-red"),
    "continuous-greens": ("panel-bg", "dark-green"),
    "continuous-purples": ("panel-bg", "dark-purple"),
}
#: The differences in lightness (percent) and hue (degrees) between two shades, and the number of shades.
_SHADE_PERCENT: Final = 70 / 12
_SHADE_DEGREES: Final = 20 / 12
_SHADES: Final = 11

#: A function that returns the colour of a value. Its arguments are the value and its share of the range of the column.
Colouring = Callable[[float, float], str]


@dataclass(frozen=True, slots=True)
class ColourContext:
    """The inputs of a colour mode."""

    config: Mapping[str, Any]  #: The field configuration of the column.
    theme: Theme
    series_index: int  #: The position of the column among all columns of a panel.
    name: str  #: The display name of the column.


def colouring_of(context: ColourContext) -> Colouring:
    """Return the function that colours the values of a column; by thresholds if the configuration has no known mode."""
    return COLOUR_MODES.get(mode_of(context.config), _by_thresholds)(context)


def mode_of(config: Mapping[str, Any]) -> str:
    """Return the colour mode of a field configuration."""
    return string_of(object_of(config.get("color")).get("mode")) or "thresholds"


def is_by_value(config: Mapping[str, Any]) -> bool:
    """Return whether the colours of a column depend on its values."""
    mode = mode_of(config)
    return mode in _SCHEMES or mode not in COLOUR_MODES or mode == "thresholds"


def scheme_colours(config: Mapping[str, Any], theme: Theme) -> list[str]:
    """Return the colours of a continuous mode from the lowest value to the highest; empty for other modes."""
    return [colour_of(name, theme) or FALLBACK_COLOUR for name in _SCHEMES.get(mode_of(config), ())]


def _fixed_colour(context: ColourContext) -> str:
    return step_colour(object_of(context.config.get("color")).get("fixedColor"), context.theme)


def _fixed(context: ColourContext) -> Colouring:
    colour = _fixed_colour(context)
    return lambda _value, _share: colour


def _shades(context: ColourContext) -> Colouring:
    """Return the function for a shade of the fixed colour: the first is unchanged, then lighter and darker ones alternate."""
    base = colour_of(_fixed_colour(context), context.theme) or FALLBACK_COLOUR
    steps = (context.series_index % _SHADES + 1) // 2
    if not steps:
        colour = base
    elif context.series_index % _SHADES % 2:
        colour = brightened(spun(base, steps * _SHADE_DEGREES), steps * _SHADE_PERCENT)
    else:
        colour = darkened(spun(base, -steps * _SHADE_DEGREES), steps * _SHADE_PERCENT)
    return lambda _value, _share: colour


def _by_thresholds(context: ColourContext) -> Colouring:
    return thresholds_of(context.config, context.theme).colour


def _by_palette(context: ColourContext) -> Colouring:
    colour = palette_colour(context.series_index, context.theme)
    return lambda _value, _share: colour


def _by_name(context: ColourContext) -> Colouring:
    palette = readable_palette(context.theme)
    colour = palette[_hash(context.name) % len(palette)]
    return lambda _value, _share: colour


def colour_by_text(config: Mapping[str, Any], text: str, theme: Theme) -> str:
    """Return the colour of a text without a number, such as a label in a table: fixed, or of a palette by the hash of the text."""
    mode = mode_of(config)
    if mode == "fixed":
        return _fixed_colour(ColourContext(config, theme, 0, text))
    if mode == "palette-classic-by-name":
        return _by_name(ColourContext(config, theme, 0, text))(0, 0)
    palette = scheme_colours(config, theme) or (classic_palette(theme) if mode == "palette-classic" else old_palette())
    return palette[_hash(text) % len(palette)]


def _hash(text: str) -> int:
    """Return the hash of a text that Grafana uses: that of D. J. Bernstein with exclusive or, from the last character."""
    units = text.encode("utf-16-le", "surrogatepass")
    result = 5381
    for index in range(len(units) - 2, -1, -2):
        result = (result * 33 ^ int.from_bytes(units[index : index + 2], "little")) & 0xFFFFFFFF
    return result


def _continuous(context: ColourContext) -> Colouring:
    colours = scheme_colours(context.config, context.theme)
    return lambda _value, share: gradient_colour(colours, share)


#: The function of each colour mode, by the mode's name in a field configuration.
COLOUR_MODES: Final[Mapping[str, Callable[[ColourContext], Colouring]]] = {
    "fixed": _fixed,
    "shades": _shades,
    "thresholds": _by_thresholds,
    "palette-classic": _by_palette,
    "palette-classic-by-name": _by_name,
    **dict.fromkeys(_SCHEMES, _continuous),
}
