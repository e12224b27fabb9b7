"""Laws of table panels: columns, cells, order, footers and what does not fit."""

import re
from typing import Any

import pytest
from tests.unit.expressions.pictures.panel_samples import (
    HOSTILE,
    drawing,
    numbers,
    panel_of,
    props_of,
    series,
    svg_of,
    texts,
    visible_texts,
)

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw
from dashwright.expressions.pictures.panels.table_columns import table_columns, widths

STEPS = {"mode": "absolute", "steps": [{"value": None, "color": "green"}, {"value": 50, "color": "red"}]}
RED = "#f2495c"
DISKS = Frame([texts("disk", "sdb", "sda", None), numbers("used", 30, 80, None), numbers("files", 5, 7, 9)])


def override(name: str, **properties: Any) -> dict[str, Any]:
    found = [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": found}


def table(*overrides: Any, frames: tuple[Frame, ...] = (DISKS,), options: Any = None, **defaults: Any) -> Any:
    return drawing("table", *frames, options=options or {}, overrides=overrides, defaults=defaults)


def test_cells_have_the_unit_and_the_mappings_of_their_column() -> None:
    mappings = [{"type": "special", "options": {"match": "null", "result": {"text": "-"}}}]
    shown = visible_texts(table(override("used", unit="percent", mappings=mappings), override("disk", displayName="Disk")))
    assert shown == ["Disk", "used", "files", "sdb", "30%", "5", "sda", "80%", "7", "", "-", "9"]


@pytest.mark.parametrize("setting", [{"custom__hidden": True}, {"custom__hideFrom": {"viz": True}}])
def test_hidden_columns_are_omitted(setting: dict[str, Any]) -> None:
    assert visible_texts(table(override("used", **setting)))[:2] == ["disk", "files"]


def test_table_without_visible_columns_shows_a_message() -> None:
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
    columns = table_columns(props_of(panel_of("table", options={"sortBy": [rule]}), DISKS))
    assert [value or "" for value in columns[0].values] == order


@pytest.mark.parametrize(
    ("custom", "anchor"), [({}, "end"), ({"align": "left"}, "start"), ({"align": "center"}, "middle"), ({"align": "auto"}, "end")]
)
def test_numbers_are_right_unless_aligned(custom: dict[str, Any], anchor: str) -> None:
    svg = svg_of(table(frames=(Frame([numbers("n", 1)]),), custom=custom))
    assert set(re.findall(r'text-anchor="(\w+)"', svg)) == {anchor}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([{}, {}], [300, 300]),
        ([{"width": 100}, {}], [100, 500]),
        ([{"width": 100}, {"width": 60}], [100, 60]),
        ([{"width": 10_000}, {"width": 60}], [600, 60]),
    ],
)
def test_columns_without_a_width_share_the_rest(settings: list[dict[str, Any]], expected: list[float]) -> None:
    frame = Frame([numbers("a", 1), numbers("b", 2)])
    overrides = [override(name, custom__width=custom.get("width")) for name, custom in zip("ab", settings, strict=True)]
    columns = table_columns(props_of(panel_of("table", overrides=overrides), frame))
    assert widths(columns, [["a", "1"], ["b", "2"]], 13, 600) == expected


def test_narrow_tables_have_columns_by_their_content() -> None:
    columns = table_columns(props_of(panel_of("table"), Frame([numbers("a", 1), numbers("b", 2)])))
    first, second = widths(columns, [["a" * 40], ["b"]], 13, 200)
    assert first > second
    assert first + second == pytest.approx(200)


@pytest.mark.parametrize(
    ("custom", "marks"),
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
def test_type_of_cells_colours_them(custom: dict[str, Any], marks: list[str]) -> None:
    svg = svg_of(table(override("used", **{f"custom__{name}": value for name, value in custom.items()}), thresholds=STEPS))
    assert all(mark in svg for mark in marks)


def test_background_may_apply_to_the_row() -> None:
    options = {"type": "color-background", "mode": "basic", "applyToRow": True}
    svg = svg_of(table(override("used", custom__cellOptions=options), thresholds=STEPS))
    assert re.search(rf'<rect x="0.0" y="[\d.]+" width="400.0" height="36.0" rx="0" fill="{RED}"', svg)


def test_links_and_images_are_texts() -> None:
    links = [{"title": "Open", "url": "https://example.com"}]
    found = visible_texts(
        table(
            override("disk", links=links, custom__cellOptions={"type": "data-links"}),
            override("used", custom__cellOptions={"type": "image", "alt": "a disk"}),
        )
    )
    assert {"Open", "a disk"} <= set(found)


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
    assert visible_texts(table(*overrides, options=options))[-3:] == texts_of_footer


def test_rows_that_do_not_fit_are_counted() -> None:
    found = visible_texts(table(frames=(Frame([numbers("n", *range(100))]),)))
    assert found[-1] == f"{100 - (len(found) - 2)} more rows"


def test_header_may_be_hidden_and_rows_higher() -> None:
    assert visible_texts(table(options={"showHeader": False}))[0] == "sdb"
    many = Frame([numbers("n", *range(100))])
    low, high = (svg_of(table(frames=(many,), options={"cellHeight": name})).count("<polyline") for name in ("sm", "lg"))
    assert low > high


def test_series_become_rows_unless_the_panel_selects_one() -> None:
    frames = (series(1, 2, host="a"), series(3, 4, host="b"))
    assert visible_texts(table(frames=frames))[:4] == ["time", "host", "Value", "1970-01-01 00:01:00"]
    assert visible_texts(table(frames=frames, options={"frameIndex": 1}))[:2] == ["time", "b"]


def test_texts_of_users_are_escaped() -> None:
    frame = Frame([texts(HOSTILE, HOSTILE), numbers("n", 1)])
    custom = {"align": HOSTILE, "width": HOSTILE, "cellOptions": {"type": "color-background", "mode": HOSTILE}}
    svg = svg_of(table(frames=(frame,), unit=HOSTILE, custom=custom, options={"footer": {"show": True, "reducer": [HOSTILE]}}))
    assert "<script" not in svg
