"""State timelines and status histories: rows, states and their colours."""

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.pictures.panel_samples import (
    END,
    draw_panel,
    numbers,
    panel_of,
    props_of,
    series,
    svg_of,
    texts,
    times,
    visible_texts,
)

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelProps
from dashwright.expressions.pictures.panels.state_timeline import placed_samples
from dashwright.expressions.pictures.panels.states import Sample, StateRow, merged, state_columns, state_rows

#: Mappings of texts, numbers, booleans, a pattern and null.
MAPPINGS = [
    {
        "type": "value",
        "options": {"up": {"text": "Up", "color": "#00ff00"}, "1": {"text": "One", "color": "#0000ff"}, "true": {"text": "On"}},
    },
    {"type": "regex", "options": {"pattern": "/^down-(.*)/", "result": {"text": "Down: $1", "color": "#ff0000"}}},
    {"type": "special", "options": {"match": "null", "result": {"text": "Gone", "color": "#ffffff"}}},
]
STEPS = {"mode": "absolute", "steps": [{"value": None, "color": "#00ff00"}, {"value": 80, "color": "#ff0000"}]}
#: Settings by which the threshold at 80 divides numbers into two bands: green below 80, red above.
BY_THRESHOLDS = {"color": {"mode": "thresholds"}, "thresholds": STEPS}


def rows_of(*frames: Frame, defaults: dict[str, Any] | None = None, names_bands: bool = True) -> list[StateRow]:
    """Return the rows of a state timeline. With ``names_bands``, numbers have the names of their bands."""
    panel = panel_of("state-timeline", defaults=defaults or {})
    props = props_of(panel, *frames)
    return state_rows(props, state_columns(props), names_bands=names_bands)


def texts_and_colours(row: StateRow) -> list[tuple[str, str | None]]:
    """Return the text and the colour of each state of a row."""
    return [(sample.text, sample.colour) for sample in row.samples]


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=30))
def test_neighbours_that_are_equal_are_one_state(states: list[str]) -> None:
    """Merged states cover the same time, no neighbours are equal, and each time has the state that it had."""
    samples = [Sample(index, index + 1, text, "#ffffff") for index, text in enumerate(states)]
    merged_states = merged(samples)
    assert all(first.text != second.text for first, second in pairwise(merged_states))
    assert [sample.text for sample in merged_states for _ in range(int(sample.end - sample.start))] == states


def test_equal_states_across_a_gap_are_not_merged() -> None:
    """Equal states with a time between them are not merged."""
    assert len(merged([Sample(0, 1, "a", "#ffffff"), Sample(2, 3, "a", "#ffffff")])) == 2


def test_a_state_lasts_until_the_next_one_and_the_last_until_the_end() -> None:
    """A state lasts until the next sample, and the last one until the end of the range. A null is a gap."""
    (row,) = rows_of(series(1, None, 3))
    assert [(sample.start, sample.end, sample.colour is None) for sample in row.samples] == [
        (0, 60_000, False),
        (60_000, 120_000, True),
        (120_000, END, False),
    ]


def test_a_state_ends_after_the_interval_of_its_times() -> None:
    """If the data source declares the interval of samples, a state lasts at most this interval, as in Grafana."""
    column = times(3, 60_000)
    # The last sample is at five minutes, in nanoseconds.
    column.values[2] = 300_000_000_000
    regular = Field("time", FieldType.TIME, column.values, config={"interval": 60_000})
    (row,) = rows_of(Frame([regular, numbers("v", 1, 2, 3)]))
    assert [(sample.start, sample.end) for sample in row.samples] == [(0, 60_000), (60_000, 120_000), (300_000, 360_000)]


def test_nulls_are_spanned_and_ends_are_read() -> None:
    """With ``spanNulls``, a state lasts over nulls. If a frame has a second column of times, states end at these times."""
    (row,) = rows_of(series(1, None, 3), defaults={"custom": {"spanNulls": True}})
    assert [(sample.start, sample.end) for sample in row.samples] == [(0, 120_000), (120_000, END)]
    ten_seconds = 10_000_000_000
    end_times = Field("end", FieldType.TIME, times(2).values + ten_seconds)
    (row,) = rows_of(Frame([times(2), end_times, texts("state", "a", "b")]))
    assert [sample.end for sample in row.samples] == [10_000, 70_000]


def test_each_column_is_a_row_and_hidden_ones_are_not_drawn() -> None:
    """Each column is a row, in their order, except times and columns that an override hides."""
    hidden = {"matcher": {"id": "byName", "options": "b"}, "properties": [{"id": "custom.hideFrom", "value": {"viz": True}}]}
    frame = Frame([times(2), texts("a", "x", "y"), numbers("b", 1, 2), numbers("c", 1, 2)])
    panel = panel_of("state-timeline", overrides=[hidden])
    assert [item.column.name for item in state_columns(props_of(panel, frame))] == ["a", "c"]


def test_values_are_mapped() -> None:
    """Texts, numbers, booleans and nulls have the text and colour of the first mapping that matches."""
    flags = Field("flag", FieldType.BOOL, numbers("x", 1, 0, 1, 0).values.astype(bool))
    frame = Frame([times(4), texts("t", "up", "down-disk", "other", None), numbers("n", 1, 2, None, 1), flags])
    first, second, third = rows_of(frame, defaults={"mappings": MAPPINGS, "color": {"mode": "fixed", "fixedColor": "#123456"}})
    assert texts_and_colours(first) == [("Up", "#00ff00"), ("Down: disk", "#ff0000"), ("other", "#123456"), ("Gone", "#ffffff")]
    assert [text for text, _ in texts_and_colours(second)] == ["One", "2", "Gone", "One"]
    assert [text for text, _ in texts_and_colours(third)] == ["On", "false", "On", "false"]


@pytest.mark.parametrize("pattern", ["/(/", "(a+)+$", "x" * 5_000, 3, None])
def test_an_invalid_or_endless_pattern_matches_nothing(pattern: object) -> None:
    """A pattern that is invalid or takes too long matches nothing: the text is unchanged."""
    # Many mappings, so that the time that each of them may take would add up.
    mappings = [{"type": "regex", "options": {"pattern": pattern, "result": {"text": "no"}}}] * 30
    text = "a" * 60 + "!"
    (row,) = rows_of(Frame([times(1), texts("t", text)]), defaults={"mappings": mappings})
    assert texts_and_colours(row)[0][0] == text


def test_numbers_of_one_band_are_one_state() -> None:
    """If numbers have the colours of thresholds, neighbours in one band are one state with the name of the band."""
    frame = series(1, 2, 90, 95, 3)
    (row,) = rows_of(frame, defaults={"unit": "percent", **BY_THRESHOLDS})
    assert [sample.text for sample in merged(row.samples)] == ["< 80%", "80%+", "< 80%"]
    (row_of_numbers,) = rows_of(frame, defaults=BY_THRESHOLDS, names_bands=False)
    assert len(merged(row_of_numbers.samples)) == 5


def test_long_columns_have_a_sample_for_each_pixel() -> None:
    """A row has at most one sample for each pixel, without gaps between them. Samples before the range are omitted, except the last one."""
    (row,) = rows_of(Frame([times(100_000, 6), numbers("v", *range(100_000))]))
    # The panel is 400 pixels wide.
    assert len(row.samples) <= 401
    assert all(first.end == second.start for first, second in pairwise(row.samples))
    # All three samples, a minute apart, are before the start of the range.
    early = Field("time", FieldType.TIME, times(3).values - 130_000_000_000)
    (row,) = rows_of(Frame([early, numbers("v", 1, 2, 3)]))
    assert [sample.text for sample in row.samples] == ["3"]


@given(count=st.integers(0, 3_000), width=st.integers(1, 300))
def test_a_row_has_at_most_a_cell_for_each_pixel(count: int, width: int) -> None:
    """If a row has more samples than pixels, some are omitted."""
    props: PanelProps = props_of(panel_of("state-timeline"))
    duration = END / 3_000
    samples = [Sample(index * duration, (index + 1) * duration, str(index), "#ffffff") for index in range(count)]
    assert len(placed_samples(samples, props, Cell(0, 0, width, 10))) <= width + 1


def test_the_legend_has_the_states_or_the_bands() -> None:
    """The legend lists each state that occurs once, or all bands of thresholds."""
    options = {"showValue": "never"}
    states = visible_texts(draw_panel("state-timeline", Frame([times(4), texts("t", "a", "b", "a", None)]), options=options))
    assert states[-2:] == ["a", "b"]
    assert visible_texts(draw_panel("state-timeline", series(1, 2), options=options, defaults=BY_THRESHOLDS))[-2:] == ["< 80", "80+"]


def test_texts_are_shown_where_they_fit() -> None:
    """The text of a state that is too narrow for it is omitted."""
    states = [f"state {index}" for index in range(31)]
    frame = Frame([times(31, step_ms=1_000), texts("t", *states)])
    options = {"legend": {"showLegend": False}}
    # Each state lasts one second, which is less than a pixel, except the last one, which lasts until the end of the range.
    assert [text for text in visible_texts(draw_panel("state-timeline", frame, options=options)) if "state" in text] == ["state 30"]


def test_rows_that_do_not_fit_are_counted() -> None:
    """A picture shows the first page, which has 20 rows by default, and the number of further rows."""
    frame = Frame([times(2), *(texts(f"t{index}", "a", "b") for index in range(30))])
    assert draw_panel("state-timeline", frame, height=500).notes == ["10 more rows"]
    assert draw_panel("state-timeline", frame, height=500, options={"perPage": 50}).notes == []


def test_a_status_history_has_a_box_for_each_sample() -> None:
    """Equal values are not merged, and a null has no box."""
    svg = svg_of(draw_panel("status-history", series(1, 1, None, 1)))
    assert len(re.findall("M[0-9.]+ [0-9.]+h", svg)) == 3


def test_too_many_boxes_are_reported() -> None:
    """If boxes would be narrower than two pixels, the panel shows a message with the number of points instead."""
    with pytest.raises(NothingToDraw, match="500 points"):
        draw_panel("status-history", Frame([times(500, 1_000), numbers("v", *range(500))]))


@pytest.mark.parametrize("panel_type", ["state-timeline", "status-history"])
def test_frames_without_times_are_reported(panel_type: str) -> None:
    """A panel without frames, without a column of times or without rows shows a message."""
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel(panel_type)
    with pytest.raises(NothingToDraw, match="No time"):
        draw_panel(panel_type, Frame([texts("t", "a")]))
    with pytest.raises(NothingToDraw, match="No data"):
        draw_panel(panel_type, Frame([times(0), numbers("v")]))
