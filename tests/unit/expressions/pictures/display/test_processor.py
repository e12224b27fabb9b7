"""Laws of the display of values: texts, mappings, colours by mode, ranges and types of columns."""

import math
from typing import Any

import pytest

from dashwright.expressions.pictures.display.colour_math import contrast, gradient_colour, mixed, text_colour_on
from dashwright.expressions.pictures.display.palettes import classic_palette, readable_palette
from dashwright.expressions.pictures.display.processor import ColumnTraits, DisplayProcessor
from dashwright.expressions.pictures.display.values import Value, document_text
from dashwright.expressions.pictures.theme import THEMES, colour_of
from dashwright.expressions.value_formats.formatted import DateContext

DARK, LIGHT = THEMES["dark"], THEMES["light"]
#: Thresholds at 10 and 20. A value below them is blue, a value that reaches the first one yellow, and the second one dark red.
STEPS = [{"value": None, "color": "blue"}, {"value": 10, "color": "yellow"}, {"value": 20, "color": "dark-red"}]
BLUE, YELLOW, DARK_RED, GREY = "#5794f2", "#fade2a", "#c4162a", "#808080"


def processor(column_type: str = "number", span: tuple[float | None, float | None] = (0, 50), **config: Any) -> DisplayProcessor:
    """Return a processor in the dark theme for a column whose numbers are in a range."""
    return DisplayProcessor(config, DARK, ColumnTraits(column_type, span))


def mappings_of(type_: str, **options: Any) -> list[dict[str, Any]]:
    """Return a list with one mapping."""
    return [{"type": type_, "options": options}]


@pytest.mark.parametrize(("value", "colour"), [(-5, BLUE), (9.9, BLUE), (10, YELLOW), (1e9, DARK_RED), (None, BLUE), (math.nan, BLUE)])
def test_value_has_the_colour_of_the_threshold_that_it_reaches(value: Value, colour: str) -> None:
    """A value has the colour of the highest threshold that it reaches. A value that is not a number reaches only the first step."""
    assert processor(thresholds={"mode": "absolute", "steps": STEPS}).display(value).colour == colour


@pytest.mark.parametrize(("value", "colour"), [(19, BLUE), (20, YELLOW), (40, DARK_RED)])
def test_percentages_of_thresholds_are_those_of_the_range(value: Value, colour: str) -> None:
    """In a range from 0 to 200, values reach the threshold of 10 percent at 20, and that of 20 percent at 40."""
    assert processor(span=(0, 200), thresholds={"mode": "percentage", "steps": STEPS}).display(value).colour == colour


@pytest.mark.parametrize(("value", "colour"), [(-1, BLUE), (0, YELLOW), (30, YELLOW)])
def test_a_later_threshold_of_null_is_zero_and_one_without_value_is_never_reached(value: Value, colour: str) -> None:
    """In the first step, null is minus infinity. In a later step, null is 0, and a missing value is never reached."""
    steps = [STEPS[0], {"value": None, "color": "yellow"}, {"color": "dark-red"}]
    assert processor(thresholds={"mode": "absolute", "steps": steps}).display(value).colour == colour


def test_a_mapping_can_make_a_value_transparent() -> None:
    """The transparent colour of a mapping has precedence over the colour of thresholds."""
    assert processor(mappings=mappings_of("value", **{"3": {"color": "transparent"}})).display(3).colour == "transparent"


def test_infinity_below_the_range_is_at_its_start() -> None:
    """Minus infinity has the position of the start of the range."""
    assert processor().display(-math.inf).share == 0


def test_thresholds_end_at_the_first_step_that_is_not_reached() -> None:
    """If thresholds are not sorted, those after a step that a value does not reach have no effect."""
    blue_step, yellow_step, dark_red_step = STEPS
    steps = [blue_step, dark_red_step, yellow_step]
    # The value does not reach 20, so its colour is not that of 10.
    assert processor(thresholds={"mode": "absolute", "steps": steps}).display(15).colour == BLUE


@pytest.mark.parametrize(
    ("colour", "value", "expected"),
    [
        ({"mode": "fixed", "fixedColor": "purple"}, 3, "#b877d9"),
        ({"mode": "fixed"}, 3, GREY),
        ({"mode": "palette-classic"}, 3, "#5794f2"),
        ({"mode": "palette-classic-by-name"}, 3, "#629e51"),
        ({"mode": "shades", "fixedColor": "blue"}, 3, "#3b87f0"),
        ({"mode": "continuous-BlPu"}, 0, "#5794f2"),
        ({"mode": "continuous-BlPu"}, 25, "#8886e6"),
        ({"mode": "continuous-BlPu"}, 99, "#b877d9"),
        ({"mode": "continuous-greens"}, 0, "#181b1f"),
        ({"mode": "no such mode"}, 3, GREY),
        (None, 3, GREY),
    ],
)
def test_colour_mode_colours_the_value(colour: Any, value: float, expected: str) -> None:
    """The mode colours by a fixed colour, by the position or name of the series, or by the value. Without a known mode, it is grey."""
    traits = ColumnTraits("number", (0, 50), series_index=2, name="requests")
    assert DisplayProcessor({"color": colour}, DARK, traits).display(value).colour == expected


@pytest.mark.parametrize(
    ("mappings", "value", "text"),
    [
        # Single values.
        (mappings_of("value", **{"3": {"text": "three"}}), 3.0, "three"),
        (mappings_of("value", **{"3": {"text": "three"}}), "3", "three"),
        (mappings_of("value", true={"text": "on"}), True, "on"),
        (mappings_of("value", null={"text": "none"}), None, ""),
        # Ranges, which include their bounds. Null leaves a side open, and a text counts as the number at its start.
        (mappings_of("range", **{"from": 1, "to": 5, "result": {"text": "few"}}), 5, "few"),
        (mappings_of("range", **{"from": None, "to": 5, "result": {"text": "few"}}), -99, "few"),
        (mappings_of("range", **{"from": 1, "to": 5, "result": {"text": "few"}}), "2 of 3", "few"),
        (mappings_of("range", **{"from": 1, "to": 5, "result": {"text": "few"}}), 6, "6"),
        (mappings_of("range", **{"from": "1", "to": "5", "result": {"text": "few"}}), 6, "6"),
        (mappings_of("range", **{"from": 50, "to": None, "result": {"text": "many"}}), math.inf, "many"),
        (mappings_of("value", **{"3": {"text": 0}}), 3, "0"),
        # Patterns. A pattern without slashes must match the whole text.
        (mappings_of("regex", pattern="/node-(\\d+)/", result={"text": "n$1"}), "node-17.local", "n17.local"),
        (mappings_of("regex", pattern="node", result={"text": "n"}), "node-17", "node-17"),
        (mappings_of("regex", pattern="(", result={"text": "n"}), "(", "("),
        (mappings_of("special", match="null", result={"text": "absent"}), None, "absent"),
        (mappings_of("special", match="nan", result={"text": "odd"}), math.nan, "odd"),
        (mappings_of("special", match="null+nan", result={"text": "absent"}), math.nan, "absent"),
        (mappings_of("special", match="empty", result={"text": "blank"}), "", "blank"),
        (mappings_of("special", match="false", result={"text": "no"}), False, "no"),
        (mappings_of("special", match="false", result={"text": "no"}), 0, "0"),
        # Mappings of an old schema, and invalid ones.
        ([{"type": 1, "value": "3", "text": "old"}], 3, "3"),
        (["junk", {"type": ["value"]}, {"type": "range"}], 3, "3"),
    ],
)
def test_mapping_replaces_the_text(mappings: Any, value: Value, text: str) -> None:
    """A mapping that matches a value replaces its text, or the matching part of it. Invalid mappings have no effect."""
    assert str(processor(mappings=mappings).display(value)) == text


def test_the_first_mapping_applies_and_may_have_only_a_colour() -> None:
    """The first mapping that matches applies. Without a text, it changes only the colour."""
    mappings = [
        *mappings_of("value", **{"1024": {"color": "purple"}}),
        *mappings_of("range", **{"from": 0, "to": 2000, "result": {"text": "in"}}),
    ]
    display = processor(unit="bytes", mappings=mappings).display(1024)
    assert str(display) == "1 KiB"
    assert display.colour == "#b877d9"  # purple
    assert display.share is None


@pytest.mark.parametrize(
    ("column_type", "config", "value", "text"),
    [
        ("number", {"unit": "s", "decimals": 1}, 90, "1.5 mins"),
        ("number", {"unit": "s"}, "90", "1.50 mins"),
        ("number", {}, "several", "several"),
        ("number", {}, math.nan, "NaN"),
        ("number", {"noValue": "n/a"}, None, "n/a"),
        ("number", {"noValue": "n/a"}, math.nan, "NaN"),
        ("number", {"noValue": "n/a"}, "", "n/a"),
        ("string", {}, "12", "12"),
        ("string", {"unit": "short"}, "1200", "1.20 K"),
        ("boolean", {"unit": "bool_on_off"}, True, "true"),
        ("boolean", {"unit": "bool_on_off"}, 1, "On"),
        ("boolean", {"unit": "short"}, 0, "False"),
        ("number", {"unit": "reqps"}, " ", "0 req/s"),
        ("number", {"noValue": "n/a", "mappings": mappings_of("value", **{"3": {"text": ""}})}, 3, ""),
        ("time", {}, 86_400_000, "1970-01-02 00:00:00"),
        ("time", {"unit": "time:YYYY"}, 86_400_000, "1970"),
        ("time", {"unit": "bytes"}, 86_400_000, "1970-01-02 00:00:00"),
        ("number", {"unit": "dateTimeAsIso"}, "1970-01-02T00:00:00Z", "1970-01-02 00:00:00"),
        ("string", {"unit": "dateTimeAsIso"}, "soon", "NaN"),
        ("enum", {"type": {"enum": {"text": ["off", "on"]}}}, 1, "on"),
        ("enum", {"type": {"enum": {"text": ["off", "on"]}}}, 7, "7"),
        ("enum", {"type": {"enum": {"text": ["off", "on"]}}, "mappings": mappings_of("value", **{"1": {"text": "up"}})}, 1, "up"),
        ("other", {}, "[1]", "[1]"),
    ],
)
def test_text_depends_on_the_type_of_the_column(column_type: str, config: dict[str, Any], value: Value, text: str) -> None:
    """The text of a value depends on the type of its column, then on the unit, and on the text for no value."""
    assert str(processor(column_type, **config).display(value)) == text


def test_milliseconds_of_times_follow_the_context() -> None:
    """A time has milliseconds if the context of its column asks for them."""
    traits = ColumnTraits("time", dates=DateContext(with_milliseconds=True))
    assert str(DisplayProcessor({}, DARK, traits).display(1_250)) == "1970-01-01 00:00:01.250"


@pytest.mark.parametrize(("value", "colour"), [(True, "#73bf69"), (False, "#f2495c"), (None, "#73bf69")])
def test_booleans_are_green_and_red(value: Value, colour: str) -> None:
    """Without thresholds, true and null are green, and false is red."""
    assert processor("boolean").display(value).colour == colour


@pytest.mark.parametrize(
    ("config", "span", "share"),
    [
        ({}, (0, 50), 0.5),
        ({"min": 20}, (0, 30), 0.5),
        ({"min": 5, "max": 45}, (0, 50), 0.5),
        ({}, (25, 25), 0.0),
        ({}, (None, None), 0.25),
    ],
)
def test_share_is_the_position_in_the_range(config: dict[str, Any], span: Any, share: float) -> None:
    """The share of a value is its position between the bounds, which are configured, or those of the column, or 0 and 100."""
    assert processor(span=span, **config).display(25).share == share


def test_a_pattern_that_takes_too_long_matches_nothing() -> None:
    """If the pattern of a mapping takes too long, each value has its own text."""
    mappings = mappings_of("regex", pattern="/^(a+)+$/", result={"text": "long"})
    processor_with_slow_pattern = processor("string", mappings=mappings)
    # Backtracking over this text never ends, because its last letter does not match.
    text = "a" * 40 + "b"
    for _ in range(3):
        assert str(processor_with_slow_pattern.display(text)) == text


def test_light_theme_has_darker_named_colours() -> None:
    """A named colour is darker in the light theme, so that it is visible on a light panel."""
    assert colour_of("green", DARK) == "#73bf69"
    assert colour_of("green", LIGHT) == "#56a64b"
    assert colour_of("dark-green", LIGHT) == "#19730e"


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_palettes_have_64_colours_and_a_readable_part(theme: Any) -> None:
    """A palette has 64 colours. Each colour of its readable part has a contrast of at least 3 to the panel."""
    assert len(classic_palette(theme)) == 64
    assert all(contrast(colour, theme.panel) >= 3 for colour in readable_palette(theme))


def test_colours_are_mixed_in_proportion() -> None:
    """A mixed colour is between the two colours, and one of a gradient at its position between the stops."""
    assert mixed("#ff0000", "#0000ff", 0.25) == "#4000bf"
    assert gradient_colour(["#000000", "#ffffff"], 0.5) == "#808080"


@pytest.mark.parametrize(
    ("background", "text_colour"),
    [("#1f60c4", "#f7f8fa"), ("#73bf69", "#f7f8fa"), ("#ff9830", "#f7f8fa"), ("#fade2a", "#202226")],
    ids=["blue", "green", "orange", "bright yellow"],
)
def test_text_is_light_unless_its_background_is_bright(background: str, text_colour: str) -> None:
    """Text on a coloured background is light, and text on a bright background dark."""
    assert text_colour_on(background) == text_colour


def test_whole_numbers_in_documents_have_no_decimal_point() -> None:
    """The text of a document has no decimal point in whole numbers, as in JavaScript. Strings are unchanged."""
    assert document_text([50.0, 0.5, {"a": [1e3], "b": "1.0"}]) == '[50,0.5,{"a":[1000],"b":"1.0"}]'
