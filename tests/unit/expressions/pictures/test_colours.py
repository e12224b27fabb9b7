"""Laws of the colours that users write in dashboards."""

import pytest

from dashwright.expressions.pictures.theme import THEMES, colour_of

DARK, LIGHT = THEMES["dark"], THEMES["light"]


@pytest.mark.parametrize(
    ("colour", "dark_colour", "light_colour"),
    [
        ("red", "#f2495c", "#e02f44"),
        ("super-light-green", "#c8f2c2", "#96d98d"),
        ("rebeccapurple", "#663399", "#663399"),
        ("text", DARK.text, LIGHT.text),
        ("#ABCDEF", "#abcdef", "#abcdef"),
        ("#f00", "#ff0000", "#ff0000"),
        ("rgb(255, 300, 0)", "#ffff00", "#ffff00"),
        ("rgba(255, 0, 0, 1)", "#ff0000", "#ff0000"),
        ("rgba(0, 0, 0, 0)", DARK.panel, LIGHT.panel),
        ("rgba(255,255,255,.5)", "#8c8d8f", "#ffffff"),
        ("rgb(100% 0% 0% / 50%)", "#8c0e10", "#ff8080"),
        ("#ff000080", "#8c0d0f", "#ff7f7f"),
        ("hsl(120, 100%, 25%)", "#008000", "#008000"),
        ("hsl(0.5turn 100% 50%)", "#00ffff", "#00ffff"),
        ("hsla(-120deg 100% 50% / 0)", DARK.panel, LIGHT.panel),
        ("oklch(44.3% 0.11 240.79)", "#00598a", "#00598a"),
        ("OKLCH(0.6279554 0.2576833 29.2338807)", "#ff0000", "#ff0000"),
        ("oklch(100% none none)", "#ffffff", "#ffffff"),
        ("oklab(51.975% -0.1403 0.1077)", "#008000", "#008000"),
        ("#f008", "#930d0e", "#ff7777"),
    ],
)
def test_a_colour_is_the_one_visible_on_a_panel(colour: str, dark_colour: str, light_colour: str) -> None:
    """Every notation of CSS and every named colour becomes an opaque colour. A transparent colour is mixed with that of the panel."""
    assert colour_of(colour, DARK) == dark_colour
    assert colour_of(colour, LIGHT) == light_colour


@pytest.mark.parametrize(
    "colour",
    [
        None,
        7,
        "",
        "#12",
        "#12345",
        "rgba(1,2,3,)",
        "rgba(1,2,3,4",
        "rgb(1,2)",
        "no colour",
        "transparent",
        "hsl(a b c)",
        "oklch(1 2 3 4 5)",
    ],
)
def test_other_values_are_not_colours(colour: object) -> None:
    """An incomplete notation of a colour, another value, and the word ``transparent`` have no colour."""
    assert colour_of(colour, DARK) is None
