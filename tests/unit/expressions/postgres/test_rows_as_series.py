"""Rows with labels become a wide frame set, which equals the result of a simple implementation that reads row by row."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import NoData
from dashwright.expressions.sources.postgres import series
from dashwright.expressions.sources.postgres.macros import Fill, FillMode

SECOND = 1_000_000_000
LIMITS = Limits()
#: The time, the labels and the values of a row.
LongRow = tuple[int, tuple[str | None, ...], tuple[float | None, ...]]
FILLS = [None, Fill(SECOND, FillMode.NULL), Fill(SECOND, FillMode.PREVIOUS), Fill(SECOND, FillMode.VALUE, 7.0)]


def column(name: str, type_: FieldType, values: list[Any]) -> Field:
    """Return a column. None is a null, whose slot has the value that the engine writes there."""
    nulls = np.array([value is None for value in values], np.bool_)
    empty: Any = None if type_.dtype == object else 0
    array = np.array([empty if value is None else value for value in values], type_.dtype)
    if type_ is FieldType.FLOAT64:
        array[nulls] = np.nan
    return Field(name, type_, array, nulls if nulls.any() else None, nullable=True)


def values_with_nulls(item: Field) -> list[Any]:
    """Return the values of a column, with None for null."""
    nulls = item.nulls if item.nulls is not None else np.zeros(len(item), np.bool_)
    return [None if null else value for value, null in zip(item.values.tolist(), nulls.tolist(), strict=True)]


def columns_of_frame(frame: Frame | FrameSet) -> list[tuple[str, dict[str, str], list[Any]]]:
    """Return name, labels and values of each column."""
    return [(item.name, dict(item.labels.pairs) if item.labels else {}, values_with_nulls(item)) for item in fields_of(frame)]


def fields_of(frame: Frame | FrameSet) -> Sequence[Field]:
    """Return the columns of a frame, or of the only frame of a wide set."""
    return frame[0].fields if isinstance(frame, FrameSet) else frame.fields


def build_row_by_row(rows: list[LongRow], fill: Fill | None) -> list[tuple[str, dict[str, str], list[Any]]]:
    """Return the name, labels and values of each column, built row by row.

    A new time adds a row, in which each series has the fill value until a row with its labels has a value.
    """
    missing = fill.value if fill and fill.mode is FillMode.VALUE else None
    times: list[int] = []
    columns: dict[tuple[str, tuple[str, ...]], list[float | None]] = {}
    for time, labels, values in rows:
        if not times or time > times[-1]:
            times.append(time)
            for cells in columns.values():
                cells.append(cells[-1] if fill and fill.mode is FillMode.PREVIOUS else missing)
        key = tuple(label or "" for label in labels)
        for index, value in enumerate(values):
            cells = columns.setdefault((f"v{index}", key), [missing] * len(times))
            cells[-1] = value
    columns_of_values = [
        (name, {f"l{number}": label for number, label in enumerate(key)}, cells) for (name, key), cells in sorted(columns.items())
    ]
    return [("Time", {}, times), *columns_of_values]


VALUES = st.none() | st.integers(-5, 5).map(float)


@st.composite
def long_rows(draw: st.DrawFn) -> list[LongRow]:
    """Draw rows in the order of time, with one to three labels and one or two values."""
    label_count, value_count = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    label = st.sampled_from([None, "", "a", "b", "ü"])
    row = st.tuples(st.integers(0, 5), st.tuples(*[label] * label_count), st.tuples(*[VALUES] * value_count))
    return sorted(draw(st.lists(row, min_size=1, max_size=12)), key=lambda row: row[0])


@given(long_rows(), st.sampled_from(FILLS))
def test_labelled_rows_become_a_column_for_each_label_set(rows: list[Any], fill: Fill | None) -> None:
    """The result for any rows and fill modes equals that of a simple implementation, row by row."""
    times, labels_of_rows, values_of_rows = zip(*rows, strict=True)
    text_columns = [column(f"l{index}", FieldType.STRING, list(labels)) for index, labels in enumerate(zip(*labels_of_rows, strict=True))]
    value_columns = [column(f"v{index}", FieldType.FLOAT64, list(values)) for index, values in enumerate(zip(*values_of_rows, strict=True))]
    time_column = column("time", FieldType.TIME, list(times))
    wide_frame = series.as_series([*value_columns, time_column, *text_columns], fill, LIMITS)
    assert isinstance(wide_frame, FrameSet)
    assert columns_of_frame(wide_frame) == build_row_by_row(rows, fill)


@given(
    # Times and values.
    rows=st.lists(st.tuples(st.integers(-10, 30), VALUES), min_size=1, max_size=10, unique_by=lambda row: row[0]).map(sorted),
    step=st.integers(1, 7),
    fill=st.sampled_from(FILLS[1:]),
    start=st.integers(-5, 10),
    end=st.integers(10, 25),
)
def test_a_fill_has_a_row_at_every_step(rows: list[Any], step: int, fill: Fill, start: int, end: int) -> None:
    """A filled frame has a row at every step of the range, with the value of the last row since the preceding step.

    A step without such a row has null, the fill value or the previous value. Frames with and without labels are filled alike.
    """
    fill = Fill(step, fill.mode, fill.value)
    expected = []
    grid = list(range(start // step * step, end + 1, step))
    for instant in grid:
        earlier_rows = [(time, value) for time, value in rows if time <= instant]
        last_time, last_value = earlier_rows[-1] if earlier_rows else (-math.inf, None)
        if last_time > instant - step or fill.mode is FillMode.PREVIOUS:
            expected.append(last_value)
        else:
            expected.append(fill.value if fill.mode is FillMode.VALUE else None)
    times, values = zip(*rows, strict=True)
    fields = [column("Time", FieldType.TIME, list(times)), column("v", FieldType.FLOAT64, list(values))]
    assert columns_of_frame(series.with_filled_gaps(Frame(fields), fill, start, end)) == [("Time", {}, grid), ("v", {}, expected)]
    labels = column("h", FieldType.STRING, ["a"] * len(rows))
    wide_frame = series.with_filled_gaps(series.as_series([*fields, labels], None, LIMITS), fill, start, end)
    assert columns_of_frame(wide_frame) == [("Time", {}, grid), ("v", {"h": "a"}, expected)]
    assert series.filled_row_count(fill, start, end) == len(grid)


@pytest.mark.parametrize(
    ("value", "milliseconds"),
    [
        (1_500_000_000, 1_500_000_000_000),
        (1_500_000_000.5, 1_500_000_000_500),
        (1_500_000_000_123, 1_500_000_000_123),
        (1_500_000_000_000_000_000, 1_500_000_000_000),
        (999_999_999, 999_999_999),
        (-1_500_000_000, -1_500_000_000_000),
        (0, 0),
    ],
)
def test_numbers_are_times_by_their_size(value: float, milliseconds: int) -> None:
    """Numbers from 1e9 to 1e10 are seconds, from 1e18 to 1e19 nanoseconds, and all others milliseconds, as in Grafana."""
    assert values_with_nulls(series.as_time(column("time", FieldType.FLOAT64, [value]))) == [milliseconds * 1_000_000]


def test_a_time_that_is_not_a_number_is_null() -> None:
    """NaN and infinities are not times; a null remains null."""
    assert values_with_nulls(series.as_time(column("time", FieldType.FLOAT64, [None, np.nan, np.inf, 0.0]))) == [None, None, None, 0]


@pytest.mark.parametrize(
    ("names", "types", "expected_index"),
    [
        (["a", "time", "time"], [FieldType.TIME, FieldType.INT64, FieldType.TIME], 2),
        (["a", "time_sec"], [FieldType.TIME, FieldType.INT64], 1),
        (["a", "TIME"], [FieldType.TIME, FieldType.STRING], 0),
        (["v", "created"], [FieldType.FLOAT64, FieldType.TIME], 1),
        (["v"], [FieldType.FLOAT64], None),
    ],
)
def test_the_time_column_is_found_by_name_then_by_type(names: list[str], types: list[FieldType], expected_index: int | None) -> None:
    """The column ``time`` has precedence, then similar names with a suitable type, then the first column of a time type."""
    assert series.time_column_index([column(name, type_, []) for name, type_ in zip(names, types, strict=True)]) == expected_index


def test_values_without_labels_keep_their_columns() -> None:
    """Numbers, booleans and further times become floats; columns keep their order, and the time is named Time."""
    fields = [
        column("n", FieldType.INT32, [1, None]),
        column("time", FieldType.TIME, [SECOND, 2 * SECOND]),
        column("b", FieldType.BOOL, [True, False]),
        column("t", FieldType.TIME, [3_500_000, None]),
    ]
    wide_frame = series.as_series(fields, None, LIMITS)
    assert isinstance(wide_frame, Frame)
    assert columns_of_frame(wide_frame) == [
        ("n", {}, [1.0, None]),
        ("Time", {}, [SECOND, 2 * SECOND]),
        ("b", {}, [1.0, 0.0]),
        ("t", {}, [3.5, None]),
    ]
    assert [item.type for item in wide_frame.fields] == [FieldType.FLOAT64, FieldType.TIME, FieldType.FLOAT64, FieldType.FLOAT64]


@pytest.mark.parametrize(("label", "name", "labels"), [("metric", "a", {}), ("host", "v", {"host": "a"})])
def test_a_single_metric_column_names_the_series(label: str, name: str, labels: dict[str, str]) -> None:
    """With a time and one value, the text column ``metric`` names the series. Any other text column is a label."""
    fields = [column("time", FieldType.TIME, [1]), column(label, FieldType.STRING, ["a"]), column("v", FieldType.FLOAT64, [2.0])]
    assert columns_of_frame(series.as_series(fields, None, LIMITS))[1] == (name, labels, [2.0])


def test_a_metric_among_other_columns_is_a_label() -> None:
    """With two values the column ``metric`` is a label, since it cannot name both."""
    fields = [
        column("time", FieldType.TIME, [1]),
        column("metric", FieldType.STRING, ["a"]),
        column("v", FieldType.FLOAT64, [2.0]),
        column("w", FieldType.FLOAT64, [3.0]),
    ]
    assert columns_of_frame(series.as_series(fields, None, LIMITS))[1:] == [("v", {"metric": "a"}, [2.0]), ("w", {"metric": "a"}, [3.0])]


TIME, TEXT, VALUE = (
    column("time", FieldType.TIME, [2, 1]),
    column("h", FieldType.STRING, ["a", "b"]),
    column("v", FieldType.FLOAT64, [1.0, 2.0]),
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([VALUE], "needs a time column"),
        ([TIME, TEXT, VALUE], "must be in the order of time"),
        ([column("time", FieldType.TIME, [None, 1]), TEXT, VALUE], "the time of a row is null"),
        ([column("time", FieldType.STRING, ["a", "b"]), VALUE], "column 'time' of type string is not a time"),
        ([column("time", FieldType.BOOL, [True, False]), VALUE], "column 'time' of type bool is not a time"),
        ([column("time", FieldType.FLOAT64, [1e17, 1.0]), VALUE], "not times between 1677 and 2262"),
        ([column("time", FieldType.TIME, [1, 2]), TEXT, TEXT, VALUE], "two text columns have the same name"),
        ([column("time", FieldType.TIME, [1, 2]), column("j", FieldType.JSON, [{}, {}])], "the column 'j' is JSON"),
    ],
)
def test_the_error_of_rows_that_are_not_series_has_the_reason(fields: list[Field], message: str) -> None:
    """The error of rows that are not series says what to change in the statement."""
    with pytest.raises(BadRequest, match=message):
        series.as_series(fields, None, LIMITS)


def test_only_ordered_rows_may_be_filled() -> None:
    """Rows out of order, or without a time, cannot be filled."""
    for times in ([2, 1], [None, 1]):
        with pytest.raises(BadRequest, match="only rows in the order of time"):
            series.with_filled_gaps(Frame([column("Time", FieldType.TIME, times), VALUE]), Fill(1, FillMode.NULL), 0, 5)


def test_the_size_of_a_wide_frame_is_checked_before_it_is_created() -> None:
    """A wide frame with too many values is rejected before it is allocated."""
    count = 1000
    fields = [
        column("time", FieldType.TIME, list(range(count))),
        column("h", FieldType.STRING, [str(index) for index in range(count)]),
        column("v", FieldType.FLOAT64, [1.0] * count),
    ]
    with pytest.raises(TooLarge, match="1000 label sets at 1000 times make 1000000 values, more than the 999999 allowed"):
        series.as_series(fields, None, Limits(query_points=999_999))


def test_a_result_without_rows_is_no_data() -> None:
    """Expressions read a result of PostgreSQL without rows as no data, so that an alert on no data fires."""
    frame = Frame([column("time", FieldType.TIME, []), column("v", FieldType.FLOAT64, [])])
    for type_ in ("grafana-postgresql-datasource", "postgres"):
        assert isinstance(values_of([frame], type_), NoData)
    assert not isinstance(values_of([frame], "prometheus"), NoData)
