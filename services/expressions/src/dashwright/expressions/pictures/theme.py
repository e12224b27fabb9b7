"""Colours of the light and the dark theme, and those that dashboards name. Colours of users are validated."""

import re
from dataclasses import dataclass
from typing import Any, Final

#: The first font is part of the drawing library, so that text is drawn on machines without fonts.
FONT: Final = "Liberation Sans, Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a theme."""

    canvas: str
    panel: str
    border: str
    text: str
    muted: str
    grid: str


THEMES: Final = {
    "dark": Theme("#111217", "#181b1f", "#2a2d33", "#d5d6db", "#9a9ba3", "#2e3138"),
    "light": Theme("#f4f5f5", "#ffffff", "#dfe1e4", "#24292e", "#62676e", "#e7e9ec"),
}

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

_SHADES: Final = ("dark-", "semi-dark-", "", "light-", "super-light-")
_HUES: Final = {
    "red": ("#c4162a", "#e02f44", "#f2495c", "#ff7383", "#ffa6b0"),
    "orange": ("#fa6400", "#ff780a", "#ff9830", "#ffb357", "#ffcb7d"),
    "yellow": ("#e0b400", "#f2cc0c", "#fade2a", "#ffee52", "#fff899"),
    "green": ("#37872d", "#56a64b", "#73bf69", "#96d98d", "#c8f2c2"),
    "blue": ("#1f60c4", "#3274d9", "#5794f2", "#8ab8ff", "#c0d8ff"),
    "purple": ("#8f3bb8", "#a352cc", "#b877d9", "#ca95e5", "#deb6f2"),
}
_NAMED: Final = {f"{shade}{hue}": code for hue, codes in _HUES.items() for shade, code in zip(_SHADES, codes, strict=True)} | {
    "white": "#ffffff",
    "black": "#000000",
    "gray": "#8e8e8e",
    "grey": "#8e8e8e",
}
_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*[\d.]{1,8}\s*)?\)")


def colour_of(given: Any, theme: Theme) -> str | None:
    """Return the ``#rrggbb`` of a colour in a dashboard, or None if it is unknown or transparent."""
    if not isinstance(given, str):
        return None
    if given == "text":
        return theme.text
    if _HEX.fullmatch(given):
        return given.lower()
    if found := _RGB.fullmatch(given):
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in found.groups())
    return _NAMED.get(given)
