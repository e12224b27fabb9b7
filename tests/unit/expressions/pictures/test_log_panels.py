"""Log panels: order, levels, repetitions and wrapping of lines."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import HOSTILE, draw_panel, numbers, panel_of, props_of, svg_of, texts, times

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels import DRAW_FUNCTIONS
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelDrawing
from dashwright.expressions.pictures.panels.logs import level_of, log_lines


def log(*lines: str | None) -> Frame:
    """Return a frame with a line for each minute."""
    return Frame([times(len(lines)), texts("Line", *lines)])


def visible_lines(drawing: PanelDrawing) -> list[str]:
    """Return the rows of text of a drawing, without their markup."""
    return ["".join(element.itertext()) for element in ET.fromstring(f"<svg>{svg_of(drawing)}</svg>").iter("text")]


def logs(*frames: Frame, height: float = 200, **options: Any) -> PanelDrawing:
    """Return the drawing of a log panel with options."""
    return draw_panel("logs", *frames, options=options, height=height)


def test_the_newest_line_is_first_unless_the_order_is_ascending() -> None:
    """The lines of several frames are ordered by time, by default from the newest to the oldest."""
    # The second frame has one line, half a minute after the first line of the first frame.
    frames = [log("a", "b"), Frame([Field("t", FieldType.TIME, np.array([30_000_000_000])), texts("x", "between")])]
    assert visible_lines(logs(*frames)) == ["b", "between", "a"]
    assert visible_lines(logs(*frames, sortOrder="Ascending")) == ["a", "between", "b"]


@pytest.mark.parametrize(
    ("column_level", "text", "level"),
    [
        ("", "WARN: error follows", "warning"),
        ("err", "all is info", "error"),
        ("strange", "fatal", "critical"),
        ("", "informative", "unknown"),
        ("", '{"level":"debug"}', "debug"),
        ("", "", "unknown"),
    ],
)
def test_the_level_is_that_of_the_column_or_of_the_first_word(column_level: str, text: str, level: str) -> None:
    """A known level in a column or label has precedence over words of the line; only whole words count."""
    assert level_of(column_level, text) == level


def test_levels_come_from_columns_and_labels() -> None:
    """The level of a line is that of its column ``severity`` or of its label ``level``."""
    severity = Frame([times(1), texts("body", "x"), texts("severity", "error")])
    labels = Frame([times(1), texts("body", "x"), Field("labels", FieldType.JSON, np.array([b'{"level":"warn","a":"1"}'], dtype=object))])
    assert [line.level for line in log_lines([severity], is_ascending=True)] == ["error"]
    assert [(line.level, line.labels) for line in log_lines([labels], is_ascending=True)] == [("warning", "{level=warn, a=1}")]
    assert visible_lines(logs(labels, showLabels=True)) == ["{level=warn, a=1} x"]


def test_times_are_shown_if_the_panel_demands_them() -> None:
    """With the option ``showTime``, a line begins with its time in milliseconds."""
    assert visible_lines(logs(log("a"), showTime=True)) == ["1970-01-01 00:00:00.000 a"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("none", ["try 1", "try 1", "try 2", "tries", "run 22"]),
        ("exact", ["2x try 1", "try 2", "tries", "run 22"]),
        ("numbers", ["3x try 1", "tries", "run 22"]),
        ("signature", ["3x try 1", "tries", "run 22"]),
        (3, ["try 1", "try 1", "try 2", "tries", "run 22"]),
    ],
)
def test_repeated_lines_are_counted(strategy: object, expected: list[str]) -> None:
    """Neighbouring lines that are equal by the strategy are one line with their number."""
    assert visible_lines(logs(log("try 1", "try 1", "try 2", "tries", "run 22"), sortOrder="Ascending", dedupStrategy=strategy)) == expected


@given(text=st.text(st.characters(exclude_characters="\t\x1b", exclude_categories=["C", "Z"]), min_size=1, max_size=300))
def test_wrapping_loses_no_character(text: str) -> None:
    """The rows of a wrapped line contain all of its characters. Without wrapping, a line is one row."""
    assert "".join(visible_lines(logs(log(text), height=1_000, wrapLogMessage=True))) == text
    assert len(visible_lines(logs(log(text)))) == 1


def test_lines_that_do_not_fit_are_counted() -> None:
    """If not all lines fit, the heading has the number of visible lines and of all lines."""
    drawing = logs(log(*(f"line {index}" for index in range(30_000))), height=100)
    assert drawing.notes == ["5 of 30000 lines"]
    assert visible_lines(drawing)[0] == "line 29999"


def test_panels_without_a_title_show_the_number_of_lines_in_their_last_row() -> None:
    """If not all lines fit, the last row of a panel without a title has the number of lines. A panel with a title has it in the title."""
    frame = log(*(f"line {index}" for index in range(6)))

    def lines_without_title(height: float) -> list[str]:
        """Return the rows of a panel without a title."""
        return visible_lines(DRAW_FUNCTIONS["logs"](props_of(replace(panel_of("logs"), title=" "), frame, height=height)))

    assert lines_without_title(100)[-2:] == ["line 2", "4 of 6 lines"]
    # All lines fit into the higher panel.
    assert lines_without_title(200)[-2:] == ["line 1", "line 0"]
    assert visible_lines(logs(frame, height=100))[-1] == "line 1"


def test_json_is_pretty_and_terminal_codes_are_removed() -> None:
    """JSON is written in lines if the panel demands it; codes for colours of terminals are not text."""
    assert visible_lines(logs(log('{"a":1}'), prettifyLogMessage=True, wrapLogMessage=True)) == ["{", '  "a": 1', "}"]
    assert visible_lines(logs(log("\x1b[31mred\x1b[0m"))) == ["red"]
    assert visible_lines(logs(log("[" * 4_000), prettifyLogMessage=True))[0].startswith("[[[")


def test_hostile_and_missing_lines_are_text() -> None:
    """A line with markup is text, a null is an empty line, and a very long line is cut."""
    drawing = logs(log(HOSTILE, None, "\0\ud800", "x" * 1_000_000))
    assert not re.search("<script|<image", svg_of(drawing))
    assert len(svg_of(drawing)) < 10_000
    assert len(visible_lines(drawing)) == 4


@pytest.mark.parametrize(
    ("frame", "reason"), [(Frame(), "No data"), (Frame([times(1), numbers("v", 1)]), "No lines"), (Frame([texts("a", "b")]), "No lines")]
)
def test_frames_without_lines_are_reported(frame: Frame, reason: str) -> None:
    """A panel without a column of times or one of texts shows a message."""
    with pytest.raises(NothingToDraw, match=reason):
        logs(frame)
