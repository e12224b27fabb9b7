"""Frames, series and numbers as tables that a statement selects from."""

from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.expressions.test_frames_as_values import TIME, convert_frames, frame

from dashwright.common.errors import BadRequest, TooLarge
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import NoData, Scalar, Values
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sql.relation import Relation, RelationColumn, unique_names
from dashwright.expressions.sql.tables import MAX_COLUMNS, relation_of

# Declared types of frames, and the columns of a table without data.
MULTI, WIDE, NUMBERS = "timeseries-multi", "timeseries-wide", "numeric-multi"
EMPTY: dict[str, list[Any]] = {"time": [], "__value__": [], "__metric_name__": []}


def table(*frames: Any) -> Table:
    """Return the frames of a query."""
    return Table(tuple(read_frames(orjson.dumps(list(frames)))))


def relation(source_table: Values | Table) -> Relation:
    """Return the table ``A`` that a statement selects from."""
    return relation_of("A", source_table, Limits())


def columns_of(source_table: Values | Table) -> dict[str, list[Any]]:
    """Return the columns by name, with times in milliseconds and None for null."""
    return {column.name: cells(column) for column in relation(source_table).columns}


def cells(column: RelationColumn) -> list[Any]:
    """Return the values of a column, with times in milliseconds and None for null."""
    values = column.values.tolist()
    if column.dictionary is not None:
        values = [column.dictionary[value] for value in values]
    elif column.type is FieldType.TIME:
        values = [value // 1_000_000 for value in values]
    return [None if column.nulls is not None and column.nulls[row] else value for row, value in enumerate(values)]


def test_series_are_rows_by_time_then_name() -> None:
    """Each point is a row, sorted by time, name and order of the frames. Each key of labels is a column, with null for a missing label."""
    late = frame(TIME, ("mem", "number", [3, 4], {"host": "b", "env": "prod"}), type_=MULTI)
    early = frame(("t", "time", [500, 1000]), ("cpu", "number", [1, 2], {"host": "a"}), type_=MULTI)
    assert columns_of(table(late, early)) == {
        "time": [500, 1000, 1000, 2000],
        "__value__": [1, 2, 3, 4],
        "__metric_name__": ["cpu", "cpu", "mem", "mem"],
        "env": [None, None, "prod", "prod"],
        "host": ["a", "a", "b", "b"],
    }


# ``timeseries-many`` is a former name of ``timeseries-multi``.
@pytest.mark.parametrize("type_", [WIDE, MULTI, "timeseries-many"])
def test_series_on_the_same_times_alternate(type_: str) -> None:
    """The rows of series with the same times, which are merged without sorting, are in the order of time and name."""
    shared = frame(TIME, ("b", "number", [1, 2], {"h": "x"}), ("a", "number", [3, None], {"h": "y"}), type_=type_)
    assert columns_of(table(shared)) == {
        "time": [1000, 1000, 2000, 2000],
        "__value__": [3, 1, None, 2],
        "__metric_name__": ["a", "b", "a", "b"],
        "h": ["y", "x", "y", "x"],
    }


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=4), st.data())
def test_any_series_are_rows_in_the_order_of_a_stable_sort(axes: list[list[int]], data: st.DataObject) -> None:
    """The rows of any series are sorted by time and name, even if times repeat, descend or differ between series."""
    # In half of the cases, all series have the same times.
    if data.draw(st.booleans()):
        axes = [axes[0]] * len(axes)
    names = data.draw(st.lists(st.sampled_from("ab"), min_size=len(axes), max_size=len(axes)))
    frames: list[Any] = []
    points: list[tuple[int, str, float]] = []
    for name, axis in zip(names, axes, strict=True):
        # Each value is the number of its point, so all values are different.
        values = [float(len(points) + index) for index in range(len(axis))]
        frames.append(frame(("t", "time", axis), (name, "number", values), type_=MULTI))
        points += [(time, name, value) for time, value in zip(axis, values, strict=True)]
    columns = columns_of(table(*frames))
    rows = list(zip(columns["time"], columns["__metric_name__"], columns["__value__"], strict=True))
    assert rows == sorted(points, key=lambda point: point[:2])


@pytest.mark.parametrize("type_", ["numeric-wide", NUMBERS])
def test_numbers_are_rows_in_their_order(type_: str) -> None:
    """Each number is a row, in the order of the fields. Fields of text are omitted."""
    fields = [("mem", "number", [4], {"env": "prod"}), ("cpu", "number", [None], {"host": "a"}), ("note", "string", ["x"])]
    assert columns_of(table(frame(*fields, type_=type_))) == {
        "__metric_name__": ["mem", "cpu"],
        "__value__": [4, None],
        "env": ["prod", None],
        "host": [None, "a"],
    }


def test_display_names_are_a_column_if_any_exist() -> None:
    """The column ``__display_name__`` has the display names that the data source configured, and null for a field without one."""
    fields = [("cpu", "number", [1], {"h": "a"}, {"displayNameFromDS": "CPU A"}), ("cpu", "number", [2], {"h": "b"})]
    assert columns_of(table(frame(*fields, type_=NUMBERS))) == {
        "__metric_name__": ["cpu", "cpu"],
        "__value__": [1, 2],
        "__display_name__": ["CPU A", None],
        "h": ["a", "b"],
    }


def test_null_and_nan_are_not_the_same() -> None:
    """A null is NULL in the table, and NaN is a number."""
    source_table = table(frame(("t", "time", [1, 2, 3]), ("v", "number", [1, None, 0]), type_=MULTI))
    # JSON, from which the frame is read, has no NaN.
    source_table.frames[0].fields[1].values[2] = np.nan
    _, value_column, _ = relation(source_table).columns
    assert value_column.nulls is not None
    assert value_column.nulls.tolist() == [False, True, False]
    assert np.isnan(value_column.values[2])


@pytest.mark.parametrize("source_table", [NoData(), table(), table(frame()), table(frame(), frame()), table(frame(type_=MULTI))])
def test_no_data_is_an_empty_table_with_the_columns_of_series(source_table: Values | Table) -> None:
    """No data is an empty table with the columns of series, so that a statement about it is valid."""
    assert columns_of(source_table) == EMPTY
    assert [column.type for column in relation(source_table).columns] == [FieldType.TIME, FieldType.FLOAT64, FieldType.STRING]


def test_frames_without_rows_keep_their_columns() -> None:
    """A frame without rows is an empty table with the same columns as a frame with rows."""
    series = table(frame(("t", "time", []), ("v", "number", [], {"h": "a"}), type_=MULTI))
    assert columns_of(series) == {**EMPTY, "h": []}
    assert columns_of(table(frame(("v", "number", [], {"h": "a"}), type_=NUMBERS))) == {"__metric_name__": [], "__value__": [], "h": []}
    assert columns_of(table(frame(("n", "number", []), ("s", "string", [])))) == {"n": [], "s": []}


def test_results_of_expressions_are_tables_by_ref_id() -> None:
    """Series and numbers of an expression are tables with its refId as their name. A scalar is a table with one row."""
    series = convert_frames(frame(TIME, ("v", "number", [1, None], {"h": "a"}), type_=MULTI))
    assert columns_of(series) == {"time": [1000, 2000], "__value__": [1, None], "__metric_name__": ["A", "A"], "h": ["a", "a"]}
    numbers = convert_frames(frame(("v", "number", [5], {"h": "a"}), type_=NUMBERS))
    assert columns_of(numbers) == {"__metric_name__": ["A"], "__value__": [5], "h": ["a"]}
    assert columns_of(Scalar.of(None)) == {"__metric_name__": ["A"], "__value__": [None]}


def test_any_other_frame_is_an_unchanged_table() -> None:
    """The table of any other frame has its names, types and nulls, even if the frame is long or its type is unknown."""
    fields = [("time", "time", [1, None]), ("s", "string", [None, "b"]), ("up", "boolean", [True, False])]
    for type_ in ("", "table", "timeseries-long", "numeric-long", "log-lines"):
        result = relation(table(frame(*fields, type_=type_)))
        assert {column.name: cells(column) for column in result.columns} == {"time": [1, None], "s": [None, "b"], "up": [True, False]}
        assert [column.type for column in result.columns] == [FieldType.TIME, FieldType.STRING, FieldType.BOOL]


def enum_table(codes: list[int], config: Any) -> Table:
    """Return a frame with a column of an enum."""
    return Table((Frame([Field("state", FieldType.ENUM, np.array(codes, np.uint16), None, config=config)]),))


def test_enums_are_columns_of_names() -> None:
    """The column of an enum has the names from the configuration of its field. A value without a name is an error."""
    config = {"type": {"enum": {"text": ["ok", "bad"]}}}
    assert columns_of(enum_table([1, 0], config)) == {"state": ["bad", "ok"]}
    for codes, names_config in (([2], config), ([0], None), ([0], {"type": "x"})):
        with pytest.raises(BadRequest, match="enum without a string"):
            relation(enum_table(codes, names_config))


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        (
            [frame(TIME, ("v", "number", [1, 2], {"h": "a"}))],
            "is missing the data type (frame.meta.type) and has labels in the response that can not be mapped to a table",
        ),
        (
            [frame(TIME, ("v", "number", [1, 2], {"h": "a"}), type_="timeseries-long")],
            "has an unsupported data type [timeseries-long] and has labels",
        ),
        (
            [frame(("v", "number", [1])), frame(("v", "number", [2]))],
            "has more than one dataframe that can not be automatically mapped to a single table",
        ),
        ([frame(("v", "number", [1, 2]), type_=NUMBERS)], "expected no more than one row in the frame, but got 2"),
        ([frame(("t", "time", [None]), ("v", "number", [1]), type_=MULTI)], "null time stamps"),
    ],
)
def test_other_results_are_an_error(frames: list[Any], fault: str) -> None:
    """The error of a result that is not a table says what to declare."""
    with pytest.raises(BadRequest) as error:
        relation(table(*frames))
    assert fault in error.value.message


def test_column_names_are_unique_without_case() -> None:
    """Columns whose name exists already, in any case, receive a number, with a notice."""
    labels = {"time": "x", "__VALUE__": "y", "host": "a", "Host": "b"}
    result = relation(table(frame(("t", "time", [1]), ("v", "number", [1], labels), type_=MULTI)))
    assert [column.name for column in result.columns[3:]] == ["Host", "__VALUE___1", "host_1", "time_1"]
    assert result.notices[-1] == "label time of A is column time_1 in the table, because there is a column time"
    other_result = relation(table(frame(("a", "number", [1]), ("A", "number", [2]), ("", "number", [3]), ("", "number", [4]))))
    assert [column.name for column in other_result.columns] == ["a", "A_1", "column", "column_1"]
    assert len(other_result.notices) == 3


@given(st.lists(st.text("aA1_", max_size=4), max_size=8))
def test_distinct_names_are_unchanged(names: list[str]) -> None:
    """All resulting names are unique without case. Names that are already unique, and not empty, are unchanged."""
    renamed = unique_names(names)
    assert len({name.casefold() for name in renamed}) == len(names)
    if all(names) and len({name.casefold() for name in names}) == len(names):
        assert renamed == names


def test_a_table_that_would_be_too_large_is_rejected_before_it_is_created() -> None:
    """The size of a table is checked before the table is created, because each label needs memory in every row.

    The numbers of series and columns are limited, too.
    """
    source_table = table(frame(TIME, ("v", "number", [1, 2], {"h": "a"}), type_=MULTI))
    # Two rows with 8 bytes each for the time, the value and the label.
    assert relation_of("A", source_table, Limits(sql_bytes=48)).row_count == 2
    with pytest.raises(TooLarge, match="the table of A takes 48 bytes: 2 rows with 1 labels, more than the 47 allowed"):
        relation_of("A", source_table, Limits(sql_bytes=47))
    with pytest.raises(TooLarge, match="A has 2 series, more than the 1 allowed"):
        relation_of("A", table(frame(type_=MULTI), frame(type_=MULTI)), Limits(query_series=1))
    many_labels = Labels.of({str(index): "x" for index in range(MAX_COLUMNS)})
    wide_frame = Frame([Field("v", FieldType.FLOAT64, np.ones(1), labels=many_labels)], meta={"type": NUMBERS})
    with pytest.raises(BadRequest, match="more than the 4096"):
        relation(Table((wide_frame,)))
