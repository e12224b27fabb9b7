"""Columns of random panels, compared with those that Grafana's library ``@grafana/data`` prepares for drawing."""

import json
import math
from datetime import UTC
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from tests.oracles.grafana.random_panels import CUSTOM_PROPERTIES, UNKNOWN_PROPERTY, RandomPanels
from tests.oracles.grafana.random_values import NOW
from tests.oracles.grafana.test_values_agree import are_near_colours
from tests.oracles.queue import node_packages

from dashwright.common.errors import DashwrightError
from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.javascript.values import leading_number
from dashwright.expressions.pictures.display.colour_modes import mode_of
from dashwright.expressions.pictures.display.columns import DisplayColumn, FieldSettings, columns_of
from dashwright.expressions.pictures.display.items import DisplayItem, items_of
from dashwright.expressions.pictures.display_names import ColumnNames, frame_display_name
from dashwright.expressions.pictures.theme import THEMES
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.conversion import from_frame
from dashwright.expressions.transformations.names import DisplayNames
from dashwright.expressions.transformations.pipeline import read_steps
from dashwright.expressions.transformations.result import transformed_for_drawing

pytestmark = pytest.mark.oracles

_FOLDER: Final = Path(__file__).parent
_NANOS_PER_MILLISECOND: Final = 1_000_000
_TYPES: Final = {
    "number": FieldType.FLOAT64,
    "string": FieldType.STRING,
    "time": FieldType.TIME,
    "boolean": FieldType.BOOL,
    "other": FieldType.JSON,
}
#: Transformations after which ranges and colours differ from Grafana's intentionally. In Grafana, their columns remember calculations
#: on the sources or are shorter than their frame, or nested tables count in the palette. In Dashwright, their empty texts are null.
_OTHER_RANGES: Final = frozenset({"concatenate", "histogram", "reduce", "groupingToMatrix", "groupToNestedTable"})
#: The values in the array of a column at the positions of nulls.
_EMPTY: Final = {FieldType.FLOAT64: math.nan, FieldType.TIME: 0, FieldType.BOOL: False}


def results(folder: Path, cases: list[Any]) -> list[Any]:
    """Return the result of Grafana's library for each case. The files of the exchange are in ``folder``."""
    path = folder / "cases.json"
    path.write_text(json.dumps({"now": NOW, "customProperties": CUSTOM_PROPERTIES, "cases": cases}))
    grafana_results: list[Any] = json.loads(node_packages.run(node_packages.install_packages(_FOLDER), _FOLDER / "panel.cjs", str(path)))
    return grafana_results


def field_of(source: Any) -> Field:
    """Return a column of a case as a query returns it."""
    type_ = _TYPES[source["type"]]
    nulls = np.array([value is None for value in source["values"]], np.bool_)
    values = np.empty(len(nulls), type_.dtype)
    values[:] = [_EMPTY.get(type_) if value is None else value for value in source["values"]]
    if type_ is FieldType.TIME:
        values *= _NANOS_PER_MILLISECOND
    labels = Labels.of(source["labels"]) if "labels" in source else None
    return Field(source.get("name", ""), type_, values, nulls if nulls.any() else None, True, labels, source["config"] or None)


def frames_of(case: Any) -> list[Frame]:
    """Return the frames of a case as queries return them."""
    return [
        Frame(
            [field_of(field_json) for field_json in frame_json["fields"]],
            frame_json.get("name", ""),
            frame_json["refId"],
            frame_json.get("meta"),
        )
        for frame_json in case["frames"]
    ]


def columns(case: Any) -> list[list[DisplayColumn]]:
    """Return the columns of each frame of a case as panels show them."""
    frames = frames_of(case)
    if case["transformations"]:
        frames = transformed_for_drawing([frames], read_steps(case["transformations"]), Context())
    config = case["fieldConfig"]
    return columns_of(frames, FieldSettings(config["defaults"], config["overrides"], THEMES["dark"], UTC))


def has_other_ranges(case: Any) -> bool:
    """Return whether a transformation of a case is one of ``_OTHER_RANGES``."""
    return any(transformation["id"] in _OTHER_RANGES for transformation in case["transformations"])


def has_range(tables: list[list[DisplayColumn]]) -> bool:
    """Return whether the range of all numbers must be that of Grafana.

    It may differ if a column of numbers has no rows, has infinite numbers, or has texts, too.
    """
    number_columns = [column for columns in tables for column in columns if column.type == "number"]
    fields = [column.field for column in number_columns]
    # A transformation declares the type of a column whose cells have several types.
    is_mixed = any(field.declared_type for field in fields)
    has_infinity = any(np.isinf(column.source.numbers).any() for column in number_columns)
    has_rows = all(len(field) > 0 for field in fields)
    return has_rows and not is_mixed and not has_infinity


def are_same_texts(own_text: str, grafana_text: str) -> bool:
    """Return whether two texts are equal, apart from the rounding errors of long numbers."""
    return own_text == grafana_text or (
        "e" in grafana_text and math.isclose(leading_number(own_text), leading_number(grafana_text), rel_tol=1e-12)
    )


def difference(column: DisplayColumn, grafana_column: Any, *, are_shares_known: bool) -> str:
    """Return the first difference of a column, or an empty string.

    ``are_shares_known`` says that shares of the range, and the colours that depend on them, must agree.
    """
    if column.name != grafana_column["name"]:
        return f"name: {column.name!r}, Grafana: {grafana_column['name']!r}"
    custom = {name: value for name, value in object_of(column.config.get("custom")).items() if name != UNKNOWN_PROPERTY}
    if custom != grafana_column["custom"]:
        return f"custom of {column.name!r}: {custom}, Grafana: {grafana_column['custom']}"
    if column.config.get("links") != grafana_column.get("links"):
        return f"links of {column.name!r}: {column.config.get('links')}, Grafana: {grafana_column.get('links')}"
    # Grafana remembers the range of a column of unknown type from a rule before it guesses the type.
    are_shares_known = are_shares_known and column.field.type is not FieldType.JSON
    values, count = column.values(), len(grafana_column["shown"])
    # A column of Grafana may be shorter than its frame. Dashwright's additional values must be null or NaN.
    additional_values = (value for value in values[count:] if value is not None)
    if len(values) < count or not all(isinstance(value, float) and math.isnan(value) for value in additional_values):
        return f"values of {column.name!r}: {values}, Grafana: {count}"
    for value, expected in zip(values, grafana_column["shown"], strict=False):
        # Browsers read more texts as times than those in ISO 8601, and write the greatest number as infinite.
        is_date = isinstance(value, str) and string_of(column.config.get("unit")).startswith("dateTime")
        if is_date or "Infinity." in expected["parts"][1]:
            continue
        display = column.processor.display(value)
        is_same = all(map(are_same_texts, (display.prefix, display.text, display.suffix), expected["parts"]))
        if not is_same or (are_shares_known and not are_near_colours(display.colour, expected["color"])):
            return f"{value!r} of {column.name!r}: {display.prefix}{display.text}{display.suffix} {display.colour}, Grafana: {expected}"
        percent = expected.get("percent") if are_shares_known else None
        if percent is not None and display.share is not None and not math.isclose(percent, display.share, rel_tol=1e-9, abs_tol=1e-12):
            return f"share of {value!r} of {column.name!r}: {display.share}, Grafana: {percent}"
    return ""


def differences(case: Any, grafana: Any) -> str:
    """Return the first difference of a case, or an empty string."""
    try:
        tables = columns(case)
    except DashwrightError as error:
        return error.message
    are_shares_known = has_range(tables) and not has_other_ranges(case)
    for table, grafana_table in zip_longest(tables, grafana, fillvalue=()):
        # Nested tables are not drawn.
        expected = [column for column in grafana_table if column["type"] != "nestedFrames"]
        if len(table) != len(expected):
            return f"{[column.name for column in table]}, Grafana: {[column['name'] for column in expected]}"
        for column, expected_column in zip(table, expected, strict=True):
            if text := difference(column, expected_column, are_shares_known=are_shares_known):
                return text
    return ""


def check_columns(cases: list[Any], folder: Path) -> None:
    """Fail if the columns of a case differ, unless Grafana fails."""
    differing, compared = [], 0
    for case, grafana in zip(cases, results(folder, cases), strict=True):
        # Conditions by value depend on calculations. After some transformations, Grafana's columns remember earlier results of them.
        if "error" in grafana or (has_other_ranges(case) and "byValue" in json.dumps(case["fieldConfig"])):
            continue
        compared += 1
        if difference_text := differences(case, grafana):
            differing.append(f"{difference_text}\n  {json.dumps(case)}")
    # Cases in which Grafana fails must be a minority, or the test would compare too little.
    assert compared > len(cases) * 0.8
    assert not differing, "\n".join([f"{len(differing)} of {compared}", *differing[:10]])


def is_coloured_early(item: DisplayItem) -> bool:
    """Return whether Grafana may colour an item before its name or position is known."""
    column = item.column
    return column is not None and (mode_of(column.config) == "palette-classic-by-name" or column.type == "string")


def item_differences(case: Any, grafana: Any) -> str:
    """Return the first difference of the items of a case, or an empty string."""
    config = case["fieldConfig"]
    settings = FieldSettings(config["defaults"], config["overrides"], THEMES["dark"], UTC)
    items = items_of(frames_of(case), case["reduceOptions"], settings)
    if len(items) != len(grafana):
        return f"{[item.title for item in items]}, Grafana: {[grafana_item['title'] for grafana_item in grafana]}"
    columns = columns_of(frames_of(case), settings)
    for item, expected in zip(items, grafana, strict=True):
        display = item.display
        are_shares_known = has_range(columns) and not is_coloured_early(item)
        is_same = item.title == expected["title"] and [display.prefix, display.text, display.suffix] == expected["parts"]
        if not is_same or (are_shares_known and not are_near_colours(display.colour, expected["color"])):
            return f"{item.title!r} {display} {display.colour}, Grafana: {expected}"
    return ""


def test_columns_are_named_as_in_grafana(tmp_path: Path) -> None:
    """The display names of columns and frames agree, in pictures and in transformations."""
    source = RandomPanels(1)
    cases = [source.names() for _ in range(6_000)]
    differing = []
    for case, grafana in zip(cases, results(tmp_path, cases), strict=True):
        frames = frames_of(case)
        names = ColumnNames(frames)
        column_names = [[names.of_field(field, frame, field.config or {}) for field in frame.fields] for frame in frames]
        tables = [from_frame(frame) for frame in frames]
        transformed = [DisplayNames(tables).of_frame(table) for table in tables]
        frame_names = [frame_display_name(frame, 0) for frame in frames]
        own_names = {"columns": column_names, "transformed": transformed, "frames": frame_names}
        expected = {"columns": grafana["columns"], "transformed": grafana["columns"], "frames": [name for _, name in grafana["frames"]]}
        if own_names != expected:
            differing.append(f"{own_names}, Grafana: {grafana}\n  {json.dumps(case)}")
    assert not differing, "\n".join([f"{len(differing)} of {len(cases)}", *differing[:10]])


def test_overrides_apply_as_in_grafana(tmp_path: Path) -> None:
    """Columns have the names, settings, texts and colours of Grafana, with random settings of sources, defaults and override rules."""
    source = RandomPanels(2)
    check_columns([source.columns() for _ in range(10_000)], tmp_path)


def test_overrides_apply_to_transformed_columns_as_in_grafana(tmp_path: Path) -> None:
    """The names, settings, texts and colours of columns agree after transformations."""
    source = RandomPanels(3)
    check_columns([source.transformed_columns() for _ in range(4_000)], tmp_path)


def test_single_values_are_those_of_grafana(tmp_path: Path) -> None:
    """Single values, which are calculations on columns or rows, have the titles, texts and colours of Grafana."""
    source = RandomPanels(4)
    cases = [source.items() for _ in range(5_000)]
    cases_and_results = zip(cases, results(tmp_path, cases), strict=True)
    differing = [
        f"{text}\n  {json.dumps(case)}"
        for case, grafana in cases_and_results
        if isinstance(grafana, list) and (text := item_differences(case, grafana))
    ]
    assert not differing, "\n".join([f"{len(differing)} of {len(cases)}", *differing[:10]])
