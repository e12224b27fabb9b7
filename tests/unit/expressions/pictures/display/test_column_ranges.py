"""Ranges of columns, to which thresholds in percent are relative: the rules of Grafana."""

import math
from typing import Any

import numpy as np
import pytest

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.display.columns import FieldSettings, columns_of
from dashwright.expressions.pictures.theme import THEMES


def column(name: str, *values: float | None, **config: Any) -> Field:
    """Return a column of numbers with its own configuration."""
    nulls = np.array([value is None for value in values], np.bool_)
    return Field(name, FieldType.FLOAT64, np.array([math.nan if value is None else value for value in values]), nulls, config=config)


def ranges(*fields: Field, overrides: list[dict[str, Any]] | None = None) -> list[tuple[float, float]]:
    """Return the range of each column of a frame."""
    (columns,) = columns_of([Frame(fields)], FieldSettings({}, overrides or [], THEMES["dark"]))
    return [column.processor.range for column in columns]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # The second column has a range or bounds of its own.
        ([column("a", 1, 2), column("b", 5, 9)], [(1, 9), (1, 9)]),
        ([column("a", 1, 2), column("b", 5, 9, fieldMinMax=True)], [(1, 9), (5, 9)]),
        ([column("a", 1, 2), column("b", 5, 9, min=4)], [(1, 9), (4, 9)]),
        ([column("a", 1, 2), column("b", 5, 9, min=0, max=3)], [(1, 9), (0, 3)]),
        # The second column has the two bounds of the first one.
        ([column("a", 1, 2, min=0, max=3), column("b", 5, 9)], [(0, 3), (0, 3)]),
        # A column of nulls before any number does not count, and a later one counts as zeros.
        ([column("a", None, 2), column("b", None, None)], [(0, 2), (0, 2)]),
        ([column("a", None), column("b", 3, 4)], [(3, 4), (3, 4)]),
        # Infinity does not count, and the range without numbers is that of percentages.
        ([column("a", 1, math.inf)], [(1, 1)]),
        ([column("a", None)], [(0, 100)]),
    ],
)
def test_columns_share_the_range_of_all_numbers(fields: list[Field], expected: list[tuple[float, float]]) -> None:
    """A column without bounds has the range of all numbers, or that of the first column if it has two bounds."""
    assert ranges(*fields) == expected


def test_texts_have_a_range_only_by_two_bounds() -> None:
    """A column of texts has the range from 0 to 100, unless overrides set both of its bounds."""
    texts = Field("a", FieldType.STRING, np.array(["x"], np.object_))
    lower_bound = {"id": "min", "value": 5}
    every_column = {"id": "alwaysMatch"}
    assert ranges(texts, overrides=[{"matcher": every_column, "properties": [lower_bound]}]) == [(0, 100)]
    assert ranges(texts, overrides=[{"matcher": every_column, "properties": [lower_bound, {"id": "max", "value": 7}]}]) == [(5, 7)]


def test_values_above_an_empty_range_have_the_highest_percentage() -> None:
    """If all numbers are equal, a value above them has the colour of 100 percent, and any other value that of 0 percent."""
    thresholds = {"mode": "percentage", "steps": [{"color": "green"}, {"value": 50, "color": "red"}]}
    settings = FieldSettings({"thresholds": thresholds}, [], THEMES["dark"])
    ((display_column,),) = columns_of([Frame([column("a", 5)])], settings)
    assert [display_column.processor.display(value).colour for value in (5.0, 6.0, 4.0)] == ["#73bf69", "#f2495c", "#73bf69"]
