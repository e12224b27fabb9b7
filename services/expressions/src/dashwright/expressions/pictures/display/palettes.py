"""The classic palette, from which series without a configured colour take their colours in order, as in Grafana."""

from functools import cache
from typing import Final

from dashwright.expressions.pictures.display.colour_math import contrast
from dashwright.expressions.pictures.theme import Theme, colour_of

_CLASSIC: Final = (
    *("green", "semi-dark-yellow", "blue", "orange", "red", "purple"),
    *("dark-green", "dark-yellow", "dark-blue", "dark-orange", "dark-red", "dark-purple"),
    *("super-light-green", "super-light-yellow", "super-light-blue", "super-light-orange", "super-light-red", "super-light-purple"),
    *("#447ebc", "#c15c17", "#890f02", "#0a437c", "#6d1f62", "#584477", "#b7dbab", "#f4d598", "#70dbed", "#f9ba8f"),
    *("#f29191", "#82b5d8", "#e5a8e2", "#aea2e0", "#629e51", "#e5ac0e", "#64b0c8", "#e0752d", "#bf1b00", "#0a50a1"),
    *("#962d82", "#614d93", "#9ac48a", "#f2c96d", "#65c5db", "#f9934e", "#ea6460", "#5195ce", "#d683ce", "#806eb7"),
    *("#3f6833", "#967302", "#2f575e", "#99440a", "#58140c", "#052b51", "#511749", "#3f2b5b", "#e0f9d7", "#fceaca"),
    *("#cffaff", "#f9e2d2", "#fce2de", "#badff4", "#f9d9f9", "#dedaf7"),
)
#: The first colours of the palette in old versions; named colours replace them now.
_OLD: Final = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642", "#cca300")
#: The index of the first colour that is the same in old versions.
_FIRST_UNCHANGED: Final = 18
#: The minimum contrast between the panel and a colour that is chosen by a name.
_MIN_CONTRAST: Final = 3.0


@cache
def classic_palette(theme: Theme) -> tuple[str, ...]:
    """Return the colours of the palette in a theme."""
    return tuple(colour_of(name, theme) or theme.text for name in _CLASSIC)


def palette_colour(index: int, theme: Theme) -> str:
    """Return the colour of the palette at an index, which may exceed the number of colours."""
    palette = classic_palette(theme)
    return palette[index % len(palette)]


def old_palette() -> tuple[str, ...]:
    """Return the palette of the first versions of Grafana, which colours texts. It is the same in both themes."""
    return _OLD + _CLASSIC[_FIRST_UNCHANGED:]


@cache
def readable_palette(theme: Theme) -> tuple[str, ...]:
    """Return the colours of the palette with enough contrast to the background of panels."""
    return tuple(colour for colour in classic_palette(theme) if contrast(colour, theme.panel) >= _MIN_CONTRAST)
