"""Laws of table panels: columns, cells, order, footers and omitted rows."""

import html
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.expressions.pictures.panel_samples import (
    HOSTILE,
    draw_panel,
    numbers,
    panel_of,
    props_of,
    series,
    svg_of,
    texts,
    visible_texts,
)

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.panels.table_columns import table_columns, widths
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.result import transformed_for_drawing

STEPS = {"mode": "absolute", "steps": [{"value": None, "color": "green"}, {"value": 50, "color": "red"}]}
RED = "#f2495c"
#: A table with a null in two of its columns.
DISKS = Frame([texts("disk", "sdb", "sda", None), numbers("used", 30, 80, None), numbers("files", 5, 7, 9)])


def override(name: str, **properties: Any) -> dict[str, Any]:
    """Return a rule for the column with a name. In names of properties, two underscores are a dot."""
    members = [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": members}


def table(*overrides: Any, frames: tuple[Frame, ...] = (DISKS,), options: Any = None, **defaults: Any) -> Any:
    """Return the drawing of a table of 400 by 200 pixels; ``defaults`` are those of the configuration of its columns."""
    return draw_panel("table", *frames, options=options or {}, overrides=overrides, defaults=defaults)


def test_cells_have_the_unit_and_the_mappings_of_their_column() -> None:
    """A cell is written with the unit and mappings of its column. A null without a mapping is empty."""
    mappings = [{"type": "special", "options": {"match": "null", "result": {"text": "-"}}}]
    texts = visible_texts(table(override("used", unit="percent", mappings=mappings), override("disk", displayName="Disk")))
    assert texts == ["Disk", "used", "files", "sdb", "30%", "5", "sda", "80%", "7", "", "-", "9"]


@pytest.mark.parametrize("setting", [{"custom__hidden": True}, {"custom__hideFrom": {"viz": True}}])
def test_hidden_columns_are_omitted(setting: dict[str, Any]) -> None:
    """A column is hidden by ``hidden`` and by ``hideFrom``."""
    assert visible_texts(table(override("used", **setting)))[:2] == ["disk", "files"]


def test_table_without_visible_columns_shows_a_message() -> None:
    """A table whose columns are all hidden, or that has no frames, shows a message."""
    with pytest.raises(NothingToDraw, match="hidden"):
        table(custom={"hidden": True})
    with pytest.raises(NothingToDraw, match="No data"):
        table(frames=())


@pytest.mark.parametrize(
    ("rule", "order"),
    [
        ({"displayName": "used"}, ["", "sdb", "sda"]),
        ({"displayName": "used", "desc": True}, ["sda", "sdb", ""]),
        ({"displayName": "disk"}, ["", "sda", "sdb"]),
        ({"displayName": "absent"}, ["sdb", "sda", ""]),
    ],
)
def test_rows_are_sorted_by_the_named_column(rule: dict[str, Any], order: list[str]) -> None:
    """Rows are in ascending or descending order of a column, with nulls below all values. An unknown column changes nothing."""
    columns = table_columns(props_of(panel_of("table", options={"sortBy": [rule]}), DISKS))
    assert [value or "" for value in columns[0].values] == order


@pytest.mark.parametrize(
    ("custom", "anchor"), [({}, "end"), ({"align": "left"}, "start"), ({"align": "center"}, "middle"), ({"align": "auto"}, "end")]
)
def test_numbers_are_aligned_right_by_default(custom: dict[str, Any], anchor: str) -> None:
    """The heading and the cells of a column of numbers end at its right edge, unless it has another alignment."""
    svg = svg_of(table(frames=(Frame([numbers("n", 1)]),), custom=custom))
    assert set(re.findall(r'text-anchor="(\w+)"', svg)) == {anchor}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([{}, {}], [300, 300]),
        ([{"width": 100}, {}], [100, 500]),
        ([{"width": 100}, {"width": 60}], [100, 60]),
        ([{"width": 10_000}, {"width": 60}], [540, 60]),
        ([{"width": 500}, {}], [500, 100]),
        ([{"width": 560}, {}], [520, 80]),
        ([{"width": 500}, {"minWidth": 90}], [500, 100]),
        ([{"minWidth": 400}, {"minWidth": 400}], [300, 300]),
    ],
)
def test_columns_without_a_width_share_the_remaining_width(settings: list[dict[str, Any]], expected: list[float]) -> None:
    """No column is narrower than its texts need. If the table would be wider than the panel, configured widths are reduced, too."""
    frame = Frame([numbers("a", 1), numbers("b", 2)])
    overrides = [
        override(name, **{f"custom__{key}": value for key, value in custom.items()}) for name, custom in zip("ab", settings, strict=True)
    ]
    columns = table_columns(props_of(panel_of("table", overrides=overrides), frame))
    text_widths, panel_width = [80, 80], 600
    assert widths(columns, text_widths, panel_width) == expected


@pytest.mark.parametrize(
    ("text_widths", "expected"),
    [([70, 70, 70, 900, 900, 900], [70, 70, 70, 130, 130, 130]), ([200] * 8, [80] * 8), ([60] * 12, [60] * 12)],
    ids=["some columns are wide", "the minimum is 80", "narrow texts need less than the minimum"],
)
def test_widest_columns_are_cut_first(text_widths: list[float], expected: list[float]) -> None:
    """If the texts exceed a panel of 600 pixels, the widest columns share the remaining width, but are at least 80 pixels wide."""
    columns = table_columns(props_of(panel_of("table"), Frame([numbers(f"c{index}", 1) for index in range(len(text_widths))])))
    assert widths(columns, text_widths, 600) == expected


def test_columns_that_do_not_fit_are_counted() -> None:
    """Columns that begin beyond the panel are omitted and counted, because a picture cannot scroll. Before that, columns are narrowed."""
    wide_frame = Frame([numbers(f"c{index}", 1) for index in range(9)])
    assert visible_texts(table(frames=(wide_frame,)))[-4:] == ["1", "1", "1", "3 more columns"]
    long_frame = Frame([numbers(f"c{index}", *range(90)) for index in range(7)])
    assert visible_texts(table(frames=(long_frame,)))[-1] == "86 more rows, 1 more column"
    configured = table(frames=(Frame(wide_frame.fields[:6]),), custom={"minWidth": 150})
    # All six columns are visible, although they have a minimum width of 150 in a panel of 400 pixels.
    assert visible_texts(configured)[-6:] == ["1"] * 6


@pytest.mark.parametrize(
    ("custom", "svg_parts"),
    [
        ({"cellOptions": {"type": "color-text"}}, [f'fill="{RED}"']),
        ({"cellOptions": {"type": "color-background", "mode": "basic"}}, [f'fill="{RED}" stroke="none"']),
        ({"cellOptions": {"type": "color-background"}}, ["<linearGradient"]),
        ({"cellOptions": {"type": "gauge", "mode": "basic"}}, ['fill-opacity="0.35"']),
        ({"cellOptions": {"type": "gauge", "mode": "lcd"}}, ['fill-opacity="0.18"']),
        ({"displayMode": "color-background-solid"}, [f'fill="{RED}" stroke="none"']),
        ({"displayMode": "gradient-gauge"}, ["<linearGradient"]),
    ],
)
def test_type_of_cells_colours_them(custom: dict[str, Any], svg_parts: list[str]) -> None:
    """The type of a column's cells, in the current or the old notation, decides which part of a cell has its colour."""
    svg = svg_of(table(override("used", **{f"custom__{name}": value for name, value in custom.items()}), thresholds=STEPS))
    assert all(svg_part in svg for svg_part in svg_parts)


def test_background_may_apply_to_the_row() -> None:
    """With ``applyToRow``, the background of a cell is that of its whole row."""
    options = {"type": "color-background", "mode": "basic", "applyToRow": True}
    svg = svg_of(table(override("used", custom__cellOptions=options), thresholds=STEPS))
    assert re.search(rf'<rect x="0.0" y="[\d.]+" width="400.0" height="36.0" rx="0" fill="{RED}"', svg)


def test_links_and_images_are_texts() -> None:
    """A cell of links has their titles, and a cell of an image has its description."""
    links = [{"title": "Open", "url": "https://example.com"}]
    texts = visible_texts(
        table(
            override("disk", links=links, custom__cellOptions={"type": "data-links"}),
            override("used", custom__cellOptions={"type": "image", "alt": "a disk"}),
        )
    )
    assert {"Open", "a disk"} <= set(texts)


@pytest.mark.parametrize(
    ("options", "overrides", "texts_of_footer"),
    [
        ({"footer": {"show": True, "reducer": ["sum"]}}, [], ["Total", "110", "21"]),
        ({"footer": {"show": True, "reducer": ["max"], "fields": ["files"]}}, [], ["Max", "", "9"]),
        ({"footer": {"show": True, "reducer": ["count"], "countRows": True}}, [], ["Count: 3", "", ""]),
        ({"footer": {"show": True, "reducer": ["distinctCount"], "countRows": True}}, [], ["2", "2", "3"]),
        ({"footer": {"show": True, "reducer": ["diffperc"], "fields": ["files"]}}, [], ["Difference percent", "", "80%"]),
        ({}, [override("used", custom__footer={"reducers": ["min", "max"]})], ["", "Min 30, Max 80", ""]),
    ],
)
def test_footer_has_calculations_on_the_columns(options: Any, overrides: Any, texts_of_footer: list[str]) -> None:
    """A footer has the name of the calculation and its results for all or selected columns. A column can have its own footer."""
    assert visible_texts(table(*overrides, options=options))[-3:] == texts_of_footer


def test_rows_that_do_not_fit_are_counted() -> None:
    """The last text of a table with more rows than fit is their number."""
    texts = visible_texts(table(frames=(Frame([numbers("n", *range(100))]),)))
    # All texts except the heading and the note are rows.
    assert texts[-1] == f"{100 - (len(texts) - 2)} more rows"


@pytest.mark.parametrize("options", [{"enablePagination": True}, {"footer": {"enablePagination": True}}])
def test_a_table_with_pages_shows_the_first_one(options: dict[str, Any]) -> None:
    """A table with pages has the numbers of the visible rows and of all rows, unless all rows are visible."""
    texts = visible_texts(table(frames=(Frame([numbers("n", *range(100))]),), options=options))
    # All texts except the heading and the note are rows.
    assert texts[-1] == f"1 - {len(texts) - 2} of 100 rows"
    assert visible_texts(table(options=options))[-1] == "9"


def table_with_trends(**options: Any) -> Any:
    """Return the drawing of a table with a trend for each of two hosts."""
    panel = panel_of("table", transformations=[{"id": "timeSeriesTable", "options": {"A": {"stat": "max"}}}], **options)
    sources = [replace(series(3, 1, 2, host="a"), ref_id="A"), replace(series(5, host="b"), ref_id="A")]
    frames = transformed_for_drawing([sources], panel.transformations, Context())
    return DRAW_FUNCTIONS["table"](props_of(panel, *frames))


def test_trends_are_lines_with_their_values() -> None:
    """A trend is a line with its last value, which may be hidden. A trend of one value is a text."""
    drawing = table_with_trends(defaults={"unit": "percent"})
    assert visible_texts(drawing) == ["host", "Trend #A", "a", "3%", "b", "5%"]
    assert svg_of(drawing).count("<path") == 2
    hidden = table_with_trends(overrides=[override("Trend #A", custom__cellOptions={"type": "sparkline", "hideValue": True})])
    assert visible_texts(hidden) == ["host", "Trend #A", "a", "b", "5"]


def test_rows_are_sorted_by_the_values_of_trends() -> None:
    """If a table is sorted by a column of trends, its rows are in the order of the last values of the trends."""
    drawing = table_with_trends(options={"sortBy": [{"displayName": "Trend #A", "desc": True}]})
    assert visible_texts(drawing)[2:] == ["b", "5", "a", "3"]


def test_lists_of_numbers_are_lines() -> None:
    """A list of numbers is a line in a cell for trends. A list of one number, and any other value, is a text."""
    lists = Frame([Field("l", FieldType.JSON, object_array([1, 3, 2], [1], "x"))])
    drawing = table(frames=(lists,), custom={"cellOptions": {"type": "sparkline"}})
    # A line consists of its stroke and the area below it.
    assert svg_of(drawing).count("<path") == 2
    assert visible_texts(drawing)[-2:] == ["[1]", "x"]


@pytest.mark.parametrize(
    ("value", "labels"),
    [("a, b,c", ["a", "b", "c"]), ('["x", 1]', ["x", "1"]), ("[broken", ["[broken"]), ("", []), (None, []), ("one", ["one"])],
)
def test_pills_are_the_values_of_a_list(value: str | None, labels: list[str]) -> None:
    """A cell of pills has one for each value that commas separate, or for each element of a JSON array."""
    drawing = table(frames=(Frame([texts("t", value)]),), custom={"cellOptions": {"type": "pill"}})
    assert visible_texts(drawing) == ["t", *labels]
    assert svg_of(drawing).count('rx="3"') == len(labels)


def test_equal_pills_have_one_colour() -> None:
    """Pills with equal texts have the same colour. A mapping or a fixed colour replaces it."""
    pills = Frame([texts("t", "a,b,a")])
    first, second, third = pill_colours(table(frames=(pills,), custom={"cellOptions": {"type": "pill"}}))
    assert first == third
    assert first != second
    fixed = table(frames=(pills,), color={"mode": "fixed", "fixedColor": "red"}, custom={"cellOptions": {"type": "pill"}})
    assert pill_colours(fixed) == [RED] * 3
    mappings = [{"type": "value", "options": {"b": {"color": "red"}}}]
    assert pill_colours(table(frames=(pills,), mappings=mappings, custom={"cellOptions": {"type": "pill"}}))[1] == RED


def pill_colours(drawing: Any) -> list[str]:
    """Return the colours of all pills, which are rectangles with rounded corners."""
    return re.findall(r'rx="3" fill="(#\w+)"', svg_of(drawing))


def test_markdown_and_documents_are_one_line() -> None:
    """Markdown in a cell is text with styles, without addresses. A document is compact JSON."""
    markdown = table(frames=(Frame([texts("t", "**bold** [link](https://example.com)")]),), custom={"cellOptions": {"type": "markdown"}})
    assert 'font-weight="bold">bold</tspan>' in svg_of(markdown)
    assert "https" not in svg_of(markdown)
    document = Frame([Field("d", FieldType.JSON, object_array({"a": [1]})), texts("t", '{"b" : 2}')])
    svg = html.unescape(svg_of(table(frames=(document,), custom={"cellOptions": {"type": "json-view"}})))
    assert re.findall(r"<tspan[^>]*>([^<]*)<", svg) == ['{"a":[1]}', '{"b":2}']


def test_links_have_a_colour_and_titles_of_their_row() -> None:
    """Cells with links have the colour of links. Titles of links contain cells of their row, and actions have titles, too."""
    links = [{"title": "Open ${__data.fields.files} of ${__value.text}", "url": "https://example.com"}]
    table_with_links = table(override("disk", links=links))
    assert svg_of(table_with_links).count(f'fill="{THEMES["dark"].link}"') == 3
    titles = visible_texts(table(override("disk", links=links, custom__cellOptions={"type": "data-links"})))
    assert titles[3] == "Open 5 of sdb"
    actions = visible_texts(table(override("disk", actions=[{"title": "Restart"}], custom__cellOptions={"type": "actions"})))
    assert actions[3] == "Restart"


def test_wrapped_texts_make_rows_higher() -> None:
    """A row with wrapped text is as high as its lines need, so fewer rows fit."""
    long_texts = Frame([texts("t", *["some words that need more than a line of the column" * 2] * 5)])
    wrapped = visible_texts(table(frames=(long_texts,), custom={"cellOptions": {"type": "auto", "wrapText": True}}))
    assert wrapped[1].startswith("some words")
    assert not wrapped[1].endswith("…")
    assert wrapped[-1] == "3 more rows"


def object_array(*values: Any) -> Any:
    """Return an array whose cells are documents. From lists of equal length, ``np.array`` would make a matrix."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def test_header_may_be_hidden_and_rows_higher() -> None:
    """Without a header, the first text is a cell. Fewer large rows than small rows fit, each of which ends with a line."""
    assert visible_texts(table(options={"showHeader": False}))[0] == "sdb"
    long_frame = Frame([numbers("n", *range(100))])
    small_rows, large_rows = (svg_of(table(frames=(long_frame,), options={"cellHeight": name})).count("<polyline") for name in ("sm", "lg"))
    assert small_rows > large_rows


def test_series_become_rows_unless_the_panel_selects_one() -> None:
    """Series become rows with a column for each label, unless ``frameIndex`` selects one series."""
    frames = (series(1, 2, host="a"), series(3, 4, host="b"))
    assert visible_texts(table(frames=frames))[:4] == ["time", "host", "Value", "1970-01-01 00:01:00.000"]
    assert visible_texts(table(frames=frames, options={"frameIndex": 1}))[:2] == ["time", "b"]


def test_texts_of_users_are_escaped() -> None:
    """Names, cells and settings of a hostile dashboard are text or are ignored."""
    frame = Frame([texts(HOSTILE, HOSTILE), numbers("n", 1)])
    custom = {"align": HOSTILE, "width": HOSTILE, "cellOptions": {"type": "color-background", "mode": HOSTILE}}
    svg = svg_of(table(frames=(frame,), unit=HOSTILE, custom=custom, options={"footer": {"show": True, "reducer": [HOSTILE]}}))
    assert "<script" not in svg
