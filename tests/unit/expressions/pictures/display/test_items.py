"""Laws of the items of panels with single values: calculations, rows, titles, ranges and panels without data."""

from typing import Any

import numpy as np
import pytest
from tests.unit.expressions.pictures.panel_samples import numbers, series, texts, times

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.display.columns import FieldSettings, columns_of
from dashwright.expressions.pictures.display.items import DisplayItem, items_of
from dashwright.expressions.pictures.theme import THEMES

#: A table with two columns of texts and one of numbers, and one with two columns of numbers.
QUEUES = Frame([texts("queue", "mail", "print", "sms"), texts("site", "north", None, ""), numbers("waiting", 4, 8, 12)])
TWO_NUMBERS = Frame([texts("queue", "mail", "print"), numbers("waiting", 4, 8), numbers("failed", 1, None)])


def items(
    *frames: Frame, overrides: Any = (), calcs: tuple[str, ...] = ("lastNotNull",), options: Any = None, **defaults: Any
) -> list[DisplayItem]:
    """Return the items of a panel. ``options`` are those of its calculation, and ``defaults`` is its field configuration."""
    settings = FieldSettings(defaults, overrides, THEMES["dark"])
    return items_of(frames, {"calcs": list(calcs), **(options or {})}, settings)


def titles_and_texts(display_items: list[DisplayItem]) -> list[tuple[str, str]]:
    """Return the title and the text of each item."""
    return [(item.title, str(item.display)) for item in display_items]


def test_each_calculation_of_each_column_is_an_item() -> None:
    """The items are ordered by column, then by calculation."""
    display_items = items(series(2, 6, site="a"), series(1, None, site="b"), calcs=("max", "mean"), unit="short")
    assert titles_and_texts(display_items) == [("a", "6"), ("a", "4"), ("b", "1"), ("b", "1")]
    assert [item.calculation for item in display_items] == ["max", "mean", "max", "mean"]


def test_without_calculations_the_last_value_is_shown() -> None:
    """A panel without calculations shows the last value of a column, also if it is null."""
    assert titles_and_texts(items(series(2, None, site="a"), calcs=(), noValue="-")) == [("a", "-")]


def test_title_contains_the_calculation() -> None:
    """References to the calculation in a display name become its name."""
    display_items = items(series(2, 6), calcs=("min", "max"), displayName="$__calc of ${__calc}")
    assert [item.title for item in display_items] == ["min of min", "max of max"]


@pytest.mark.parametrize(
    ("pattern", "titles"),
    [("", ["waiting"]), ("/.*/", ["queue", "site", "waiting"]), ("site", ["site"]), ("/^wait/", ["waiting"]), ("/x/", [""])],
)
def test_columns_are_selected_by_a_pattern(pattern: str, titles: list[str]) -> None:
    """The option ``fields`` is a name or a pattern of names. If it is empty, all columns of numbers are selected."""
    assert [item.title for item in items(QUEUES, options={"fields": pattern})] == titles


def test_rows_are_named_by_their_texts() -> None:
    """If each row is an item, the title of an item has the texts of the row that are not empty."""
    assert titles_and_texts(items(QUEUES, options={"values": True})) == [("mail north", "4"), ("print", "8"), ("sms", "12")]


def test_rows_of_several_columns_are_named_by_the_column_too() -> None:
    """If several columns have numbers, the title of an item ends with the name of its column."""
    display_items = items(TWO_NUMBERS, options={"values": True})
    assert titles_and_texts(display_items) == [("mail waiting", "4"), ("print waiting", "8"), ("mail failed", "1"), ("print failed", "")]


@pytest.mark.parametrize(
    ("template", "title"),
    [
        ("${__data.fields.queue}!", "mail!"),
        ('${__data.fields["site"]}', "north"),
        ("${__data.fields[0]}", "mail"),
        ("${__cell_1}/$__cell_2", "north/4"),
        ("${__cell_9}", "${__cell_9}"),
        ("${__data.fields.absent}", "${__data.fields.absent}"),
    ],
)
def test_title_of_a_row_contains_cells(template: str, title: str) -> None:
    """References to cells of the row, by name or index of their column, become their texts. Unknown references are unchanged."""
    assert items(QUEUES, options={"values": True}, displayName=template)[0].title == title


@pytest.mark.parametrize(("limit", "count"), [(None, 25), (7, 7), (0, 25), (1e9, 40), ("x", 25)])
def test_number_of_rows_is_limited(limit: Any, count: int) -> None:
    """If a frame has 40 rows, as many rows as the limit are items. Without a valid limit, 25 rows are items."""
    rows = Frame([numbers("n", *range(40))])
    assert len(items(rows, options={"values": True, "limit": limit})) == count


def test_rows_have_the_colours_of_the_palette_and_of_overrides() -> None:
    """Each row has the next colour of the palette, or the colour of the override that matches its title."""
    red = {
        "matcher": {"id": "byName", "options": "print"},
        "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}],
    }
    display_items = items(QUEUES, overrides=[red], options={"values": True}, color={"mode": "palette-classic"})
    # The colours are green and blue of the palette, with the red of the override between them.
    assert [item.display.colour for item in display_items] == ["#73bf69", "#f2495c", "#5794f2"]


@pytest.mark.parametrize(
    ("values", "change"), [((4, 5), 25.0), ((-4, 5), -225.0), ((0, 5), 0.0), ((None, None), 0.0), ((2, None, 1), -50.0)]
)
def test_change_is_that_of_the_first_and_last_number(values: tuple[float | None, ...], change: float) -> None:
    """The change is the last number in percent of the first one, minus 100. It is 0 if it cannot be calculated."""
    assert items(series(*values))[0].percent_change == change


def test_range_is_that_of_all_columns_unless_the_column_has_its_own() -> None:
    """Columns share the range of all numbers, unless ``fieldMinMax`` asks for a range of each column or the panel sets both bounds."""
    frames = [series(2, 6, site="a"), series(10, 20, site="b")]
    assert [item.processor.range for item in items(*frames)] == [(2, 20), (2, 20)]
    assert [item.processor.range for item in items(*frames, fieldMinMax=True)] == [(2, 6), (10, 20)]
    assert [item.processor.range for item in items(*frames, min=0, max=50)] == [(0, 50), (0, 50)]


@pytest.mark.parametrize(("config", "text"), [({}, "No data"), ({"noValue": "quiet"}, "quiet")])
def test_panel_without_columns_has_a_text(config: dict[str, Any], text: str) -> None:
    """A panel without columns has one item with the configured text for no value."""
    (item,) = items(**config)
    assert str(item.display) == text
    assert item.title == ""
    assert item.column is None


def test_values_of_columns_are_plain() -> None:
    """Times are in milliseconds, and values that are neither numbers nor text are JSON."""
    time_column = times(2)
    objects = Field("o", FieldType.JSON, np.array([{"a": 1}, None], dtype=object))
    flags = Field("b", FieldType.BOOL, np.array([True, False]), nulls=np.array([False, True]))
    (columns,) = columns_of([Frame([time_column, objects, flags])], FieldSettings({}, (), THEMES["dark"]))
    assert [column.values() for column in columns] == [[0.0, 60_000.0], ['{"a":1}', None], [True, None]]


@pytest.mark.parametrize(
    ("count", "step_ms", "has_milliseconds"), [(2, 59_999, True), (2, 60_000, False), (2, -5, True), (2, 0, True), (1, 5, False)]
)
def test_times_that_cover_less_than_a_minute_have_milliseconds(count: int, step_ms: int, has_milliseconds: bool) -> None:
    """Times have milliseconds if the first and the last one are less than a minute apart, in either order. A single time has none."""
    ((column,),) = columns_of([Frame([times(count, step_ms)])], FieldSettings({}, (), THEMES["dark"]))
    assert column.processor.traits.dates.with_milliseconds is has_milliseconds


def test_titles_of_rows_have_texts_without_units() -> None:
    """The title of a row has its texts without units, or nothing for a null, followed by the column's own name."""
    mapping = {"type": "special", "options": {"match": "null", "result": {"text": "gone"}}}
    load = numbers("load", 1, 2)
    web = Frame([texts("host", "7", None), load, numbers("rate", 3, 4)], "web")
    display_items = items(web, Frame([numbers("x")], "db"), options={"values": True, "fields": "/load/"}, unit="bytes", mappings=[mapping])
    assert [item.title for item in display_items] == ["7 load", "load"]


def test_equal_rows_have_one_colour() -> None:
    """Rows of a column with equal values have the colour of the first one, in the modes that colour by position."""
    for mode in ("palette-classic", "shades"):
        display_items = items(Frame([numbers("n", 5, 6, 5)]), options={"values": True}, color={"mode": mode, "fixedColor": "#806040"})
        colours = [item.display.colour for item in display_items]
        assert colours[0] == colours[2] != colours[1]


def test_titles_are_configured_names_without_a_suffix() -> None:
    """In a frame of another time range, a column's name has a suffix, but a configured display name has none."""
    frame = Frame([numbers("n", 5)], meta={"timeCompare": {"isTimeShiftQuery": True}})
    assert [item.title for item in items(frame, displayName="D") + items(frame)] == ["D", "n (comparison)"]
