"""Colours of the light and the dark theme, and the named colours of dashboards. Colours that users wrote are validated."""

import re
from dataclasses import dataclass
from typing import Any, Final

from dashwright.expressions.pictures.css_colours import CSS_COLOURS
from dashwright.expressions.pictures.css_functions import functional_colour
from dashwright.expressions.pictures.display.colour_math import mixed

#: The process that makes PNGs has the first font of each list. A browser has one of the next fonts, whose letters have the same widths.
FONT: Final = "Arimo, Liberation Sans, Arial, sans-serif"
CODE_FONT: Final = "Roboto Mono, Liberation Mono, DejaVu Sans Mono, monospace"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a theme, as ``#rrggbb``."""

    canvas: str  #: The background behind the panels.
    panel: str  #: The background of panels.
    border: str  #: The border of panels.
    text: str
    muted: str  #: Less important text, such as labels of axes.
    grid: str  #: The lines behind charts, and the empty parts of gauges.
    link: str  #: Links, and the titles of tables in legends.
    is_light: bool = False


THEMES: Final = {
    "dark": Theme(canvas="#111217", panel="#181b1f", border="#2d3035", text="#ccccdc", muted="#8d8e9a", grid="#2e3138", link="#6e9fff"),
    "light": Theme(
        canvas="#f4f5f5",
        panel="#ffffff",
        border="#e4e5e6",
        text="#24292e",
        muted="#5b5f62",
        grid="#e7e9ec",
        link="#1f62e0",
        is_light=True,
    ),
}

#: The prefixes of the named colours, in the order of the colours of each hue, for the dark theme. The light theme uses the
#: next darker colour of each.
_SHADES: Final = ("super-light-", "light-", "", "semi-dark-", "dark-")
#: The colours of each hue, from light to dark.
_HUES: Final = {
    "red": ("#ffa6b0", "#ff7383", "#f2495c", "#e02f44", "#c4162a", "#ad0317"),
    "orange": ("#ffcb7d", "#ffb357", "#ff9830", "#ff780a", "#fa6400", "#e55400"),
    "yellow": ("#fff899", "#ffee52", "#fade2a", "#f2cc0c", "#e0b400", "#cc9d00"),
    "green": ("#c8f2c2", "#96d98d", "#73bf69", "#56a64b", "#37872d", "#19730e"),
    "blue": ("#c0d8ff", "#8ab8ff", "#5794f2", "#3274d9", "#1f60c4", "#1250b0"),
    "purple": ("#deb6f2", "#ca95e5", "#b877d9", "#a352cc", "#8f3bb8", "#7c2ea3"),
}
#: The named colours of the dark and of the light theme.
_NAMED_COLOURS: Final = tuple(
    {**CSS_COLOURS} | {f"{shade}{hue}": codes[index + is_light] for hue, codes in _HUES.items() for index, shade in enumerate(_SHADES)}
    for is_light in (0, 1)
)
#: The maximum number of digits of the notation with one digit for each component.
_SHORT_LENGTH: Final = 4
_HEX: Final = re.compile(r"#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})")


def colour_of(value: Any, theme: Theme) -> str | None:
    """Return the ``#rrggbb`` of a colour in a dashboard, or None if it is unknown.

    A translucent colour is blended with the background of panels.
    """
    if not isinstance(value, str):
        return None
    if value == "text":
        return theme.text
    if value == "panel-bg":
        return theme.panel
    if _HEX.fullmatch(value):
        digits = value[1:].lower()
        if len(digits) <= _SHORT_LENGTH:
            digits = "".join(digit * 2 for digit in digits)
        return mixed(f"#{digits[:6]}", theme.panel, int(digits[6:] or "ff", 16) / 255)
    if colour_and_opacity := functional_colour(value):
        colour, opacity = colour_and_opacity
        return mixed(colour, theme.panel, opacity)
    return _NAMED_COLOURS[theme.is_light].get(value)
