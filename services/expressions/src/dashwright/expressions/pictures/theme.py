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

    canvas: str  #: The background behind the panels.
    panel: str  #: The background of panels.
    border: str  #: The border of panels.
    text: str
    muted: str  #: Less important text, such as labels of axes.
    grid: str  #: The lines behind charts, and the empty parts of gauges.
    is_light: bool = False


THEMES: Final = {
    "dark": Theme("#111217", "#181b1f", "#2d3035", "#ccccdc", "#8d8e9a", "#2e3138"),
    "light": Theme("#f4f5f5", "#ffffff", "#e4e5e6", "#24292e", "#5b5f62", "#e7e9ec", is_light=True),
}

#: The prefixes of the named colours, in the order of the colours of each hue, for the dark theme. The light theme uses the
#: next darker colour of each.
_SHADES: Final = ("super-light-", "light-", "", "semi-dark-", "dark-")
_HUES: Final = {
    "red": ("#ffa6b0", "#ff7383", "#f2495c", "#e02f44", "#c4162a", "#ad0317"),
    "orange": ("#ffcb7d", "#ffb357", "#ff9830", "#ff780a", "#fa6400", "#e55400"),
    "yellow": ("#fff899", "#ffee52", "#fade2a", "#f2cc0c", "#e0b400", "#cc9d00"),
    "green": ("#c8f2c2", "#96d98d", "#73bf69", "#56a64b", "#37872d", "#19730e"),
    "blue": ("#c0d8ff", "#8ab8ff", "#5794f2", "#3274d9", "#1f60c4", "#1250b0"),
    "purple": ("#deb6f2", "#ca95e5", "#b877d9", "#a352cc", "#8f3bb8", "#7c2ea3"),
}
#: Names of colours in CSS that dashboards use, which are equal in both themes.
_CSS_COLOURS: Final = {
    "white": "#ffffff",
    "black": "#000000",
    "gray": "#808080",
    "grey": "#808080",
    "silver": "#c0c0c0",
    "lightgray": "#d3d3d3",
    "lightgrey": "#d3d3d3",
    "darkgray": "#a9a9a9",
    "darkgrey": "#a9a9a9",
    "maroon": "#800000",
    "olive": "#808000",
    "lime": "#00ff00",
    "aqua": "#00ffff",
    "cyan": "#00ffff",
    "teal": "#008080",
    "navy": "#000080",
    "fuchsia": "#ff00ff",
    "magenta": "#ff00ff",
    "pink": "#ffc0cb",
    "brown": "#a52a2a",
    "gold": "#ffd700",
    "violet": "#ee82ee",
    "indigo": "#4b0082",
    "lightblue": "#add8e6",
    "lightgreen": "#90ee90",
    "darkblue": "#00008b",
    "darkgreen": "#006400",
    "darkred": "#8b0000",
    "darkorange": "#ff8c00",
}
_NAMED_COLOURS: Final = tuple(
    _CSS_COLOURS | {f"{shade}{hue}": codes[index + is_light] for hue, codes in _HUES.items() for index, shade in enumerate(_SHADES)}
    for is_light in (0, 1)
)
_HEX: Final = re.compile(r"#[0-9a-fA-F]{6}(?:[0-9a-fA-F]{2})?")
_SHORT_HEX: Final = re.compile(r"#[0-9a-fA-F]{3,4}")
_RGB: Final = re.compile(r"rgba?\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*(?:,\s*[\d.]{1,8}\s*)?\)")


def colour_of(value: Any, theme: Theme) -> str | None:
    """Return the ``#rrggbb`` of a colour in a dashboard, or None if it is unknown or transparent."""
    if not isinstance(value, str):
        return None
    if value == "text":
        return theme.text
    if value == "panel-bg":
        return theme.panel
    if _HEX.fullmatch(value):
        return value[:7].lower()
    if _SHORT_HEX.fullmatch(value):
        return "#" + "".join(digit * 2 for digit in value[1:4].lower())
    if match := _RGB.fullmatch(value):
        return "#" + "".join(f"{min(int(component), 255):02x}" for component in match.groups())
    return _NAMED_COLOURS[theme.is_light].get(value)
