"""Colours of the items of charts that have one value for each item, such as slices and bars."""

from collections.abc import Sequence
from typing import Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.style import Style, series_colours

_DARK_TEXT: Final = "#111217"
_LIGHT_TEXT: Final = "#ffffff"
#: The brightness, up to 255, of backgrounds that need dark text.
_BRIGHT: Final = 150
_CODE_LENGTH: Final = 7


def is_by_value(style: Style) -> bool:
    """Return whether the colour mode of a style depends on the value rather than on the series."""
    mode = string_of(object_of(style.config.get("color")).get("mode"))
    return mode == "thresholds" or mode.startswith("continuous")


def item_colours(styles: Sequence[Style], values: Sequence[float | None]) -> list[str]:
    """Return the colour of each item: by its value, if its colour mode demands it or a mapping has a colour, else by its position."""
    return [
        style.colour(value) if is_by_value(style) else mapped_colour(style, value) or series_colour
        for style, value, series_colour in zip(styles, values, series_colours(styles), strict=True)
    ]


def mapped_colour(style: Style, value: float | None) -> str | None:
    """Return the colour that a value mapping gives to a value, or None."""
    # A style without thresholds has the same colour for all values that no mapping matches.
    unmapped = Style({**style.config, "mappings": []}, style.theme).colour(value)
    colour = style.colour(value)
    return colour if style.config.get("mappings") and colour != unmapped else None


def contrast_colour(background: str) -> str:
    """Return the colour of text that is readable on a background, given as ``#rrggbb``."""
    red, green, blue = (int(background[start : start + 2], 16) for start in (1, 3, 5)) if len(background) == _CODE_LENGTH else (0, 0, 0)
    # The weights of the brightness of colours on screens (ITU-R BT.601).
    return _DARK_TEXT if 0.299 * red + 0.587 * green + 0.114 * blue > _BRIGHT else _LIGHT_TEXT


def blended(colour: str, background: str, opacity: float) -> str:
    """Return the colour that is visible if a colour covers a background with an opacity, all as ``#rrggbb``."""
    pairs = [(int(colour[start : start + 2], 16), int(background[start : start + 2], 16)) for start in (1, 3, 5)]
    return "#" + "".join(f"{round(upper * opacity + lower * (1 - opacity)):02x}" for upper, lower in pairs)
