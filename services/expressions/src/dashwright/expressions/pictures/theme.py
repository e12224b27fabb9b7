"""Colours of the light and the dark theme, and the named colours of dashboards. Colours that users wrote are validated."""

import re
from dataclasses import dataclass
from typing import Any, Final

#: The first font is part of the drawing library, so that text is drawn on machines without fonts.
FONT: Final = "Liberation Sans, Arial, sans-serif"
CODE_FONT: Final = "Liberation Mono, Liberation Sans, monospace"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a theme, as ``#rrggbb``."""

    canvas: str  #: Of the background behind the panels.
    panel: str  #: Of the background of panels.
    border: str  #: Of the border of panels.
    text: str
    muted: str  #: Of less important text, such as labels of axes.
    grid: str  #: Of the lines behind charts, and of the empty parts of gauges.


THEMES: Final = {
    "dark": Theme("#111217", "#181b1f", "#2a2d33", "#d5d6db", "#9a9ba3", "#2e3138"),
    "light": Theme("#f4f5f5", "#ffffff", "#dfe1e4", "#24292e", "#62676e", "#e7e9ec"),
}

#: The colours of series without a configured colour, in order.
PALETTE: Final = (
    "#73bf69",
    "#f2cc0c",
    "#5794f2",
    "#ff780a",
    "#f2495c",
    "#b877d9",
    "#37a2b8",
    "#a16a4e",
    "#8f9ba8",
    "#e377c2",
    "#96d98d",
    "#b58900",
    "#8ab8ff",
    "#fa6400",
    "#c4162a",
    "#8f3bb8",
)

#: The prefixes of the named colours, in the order of the colours of each hue.
_SHADES: Final = ("dark-", "semi-dark-", "", "light-", "super-light-")
_HUES: Final = {
    "red": ("#c4162a", "#e02f44", "#f2495c", "#ff7383", "#ffa6b0"),
    "orange": ("#fa6400", "#ff780a", "#ff9830", "#ffb357", "#ffcb7d"),
    "yellow": ("#e0b400", "#f2cc0c", "#fade2a", "#ffee52", "#fff899"),
    "green": ("#37872d", "#56a64b", "#73bf69", "#96d98d", "#c8f2c2"),
    "blue": ("#1f60c4", "#3274d9", "#5794f2", "#8ab8ff", "#c0d8ff"),
    "purple": ("#8f3bb8", "#a352cc", "#b877d9", "#ca95e5", "#deb6f2"),
}
_COLOURS_BY_NAME: Final = {f"{shade}{hue}": code for hue, codes in _HUES.items() for shade, code in zip(_SHADES, codes, strict=True)} | {
    "white": "#ffffff",
    "black": "#000000",
    "gray": "#8e8e8e",
    "grey": "#8e8e8e",
}
_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*[\d.]{1,8}\s*)?\)")


def colour_of(value: Any, theme: Theme) -> str | None:
    """Return the ``#rrggbb`` of a colour in a dashboard, or None if it is unknown or transparent."""
    if not isinstance(value, str):
        return None
    if value == "text":
        return theme.text
    if _HEX.fullmatch(value):
        return value.lower()
    if match := _RGB.fullmatch(value):
        return "#" + "".join(f"{min(int(component), 255):02x}" for component in match.groups())
    return _COLOURS_BY_NAME.get(value)
