"""Expressions read frames as series or numbers, by their declared type or, without a type, by their columns."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.values import NoData, Numbers, Series, Values
from dashwright.expressions.formats.frame_reader import read_frames

# Fields for ``frame``: name, type, values, and labels.
TIME = ("time", "time", [1000, 2000])
BOOLEANS = ("a", "boolean", [True, False], {"h": "x"})
NUMBERS = ("a", "number", [3, None], {"h": "y"})


def frame(*fields: Any, type_: str = "", name: str = "", meta: Any = None) -> dict[str, Any]:
    """Return a frame. Each field is (name, type, values), and may also have labels and a configuration."""
    schemas = [dict(zip(("name", "type", "labels", "config"), (*field[:2], *field[3:]), strict=False)) for field in fields]
    schema: dict[str, Any] = {"fields": schemas, "name": name}
    if type_ or meta:
        schema["meta"] = meta or {"type": type_, "typeVersion": [0, 1]}
    return {"schema": schema, "data": {"values": [field[2] for field in fields]}}


def convert_frames(*frames: Any, source: str = "test") -> Values:
    """Return the values that expressions read from frames of a type of data source."""
    return values_of(read_frames(orjson.dumps(list(frames))), source)


def items(values: Values) -> list[tuple[dict[str, str], list[Any]]]:
    """Return the labels and values of each item, with None for null."""
    assert isinstance(values, Series | Numbers)
    if isinstance(values, Numbers):
        cells = [values.cells.at(slice(index, index + 1)) for index in range(len(values))]
    else:
        cells = [values.blocks[block].cells.at(row) for block, row in zip(values.block_of, values.row_of, strict=True)]
    return [
        (dict(labels.pairs), [None if null else value for value, null in zip(cell.values.tolist(), cell.null_mask().tolist(), strict=True)])
        for labels, cell in zip(values.labels, cells, strict=True)
    ]


@pytest.mark.parametrize("frames", [[], [frame()], [frame(), frame()], [frame(type_="timeseries-multi")], [frame(type_="numeric-wide")]])
def test_frames_without_fields_are_no_data(frames: list[Any]) -> None:
    """No frames, and frames without fields, result in ``NoData``, with or without a declared type."""
    assert isinstance(convert_frames(*frames), NoData)


def test_wide_frames_are_series_that_share_a_block() -> None:
    """Frames with equal times become one block with one axis. Each series keeps its labels."""
    a, b, c = ("cpu", "number", [1, None], {"h": "a"}), ("cpu", "number", [3, 4], {"h": "b"}), ("cpu", "number", [5, 6], {"h": "c"})
    values = convert_frames(frame(TIME, a, b), frame(TIME, c))
    assert items(values) == [({"h": "a"}, [1, None]), ({"h": "b"}, [3, 4]), ({"h": "c"}, [5, 6])]
    assert isinstance(values, Series)
    assert len(values.blocks) == 1


def test_frames_with_other_times_have_separate_blocks() -> None:
    """Frames share a block only if all of their times are equal, not only the first and the last one."""
    values = convert_frames(
        frame(("t", "time", [1, 2, 9]), ("v", "number", [1, 2, 3])),
        frame(("t", "time", [1, 3, 9]), ("v", "number", [4, 5, 6])),
        frame(("t", "time", []), ("v", "number", [])),
    )
    assert isinstance(values, Series)
    assert [len(block.axis) for block in values.blocks] == [3, 3, 0]
    assert items(values) == [({}, [1, 2, 3]), ({}, [4, 5, 6]), ({}, [])]


def test_strings_and_one_number_column_are_numbers() -> None:
    """Each row is a number with its strings as labels. A null string is omitted."""
    table = frame(("Loc", "string", ["MIA", None]), ("Host", "string", ["A", "B"]), ("cpu", "number", [1, 2]))
    assert items(convert_frames(table)) == [({"Host": "A", "Loc": "MIA"}, [1]), ({"Host": "B"}, [2])]


def test_an_instant_vector_is_numbers() -> None:
    """Frames with one sample each, as a Prometheus instant query returns them, are read as numbers."""
    meta = {"custom": {"resultType": "vector"}}
    vector = [frame(("t", "time", [1]), ("v", "number", [value], {"h": str(value)}), meta=meta) for value in (1, 2)]
    assert items(convert_frames(*vector)) == [({"h": "1"}, [1]), ({"h": "2"}, [2])]


@pytest.mark.parametrize(
    ("fields", "layout"),
    [
        ([("s", "string", ["a"]), ("a", "number", [1]), ("b", "number", [2])], "not"),
        ([("time", "time", [1]), ("h", "string", ["a"]), ("v", "number", [2])], "long"),
        ([("time", "time", [1]), ("up", "boolean", [True]), ("v", "number", [2])], "long"),
        ([("time", "time", [1]), ("s", "string", ["a"])], "not"),
    ],
)
def test_other_layouts_are_rejected(fields: list[Any], layout: str) -> None:
    """A frame with other columns than a series or numbers is rejected, and the error names its layout: ``long`` or ``not``."""
    with pytest.raises(BadRequest, match=rf"must be a wide series but got type {layout} \(input refid\)"):
        convert_frames(frame(*fields))


def test_frames_without_series_are_skipped_for_influxdb_only() -> None:
    """Frames without series are an error. Only for InfluxDB are they skipped, because it returns them in addition to series."""
    frames = [frame(("s", "string", ["a"])), frame(TIME, ("v", "number", [1, 2], {"h": "a"}))]
    assert items(convert_frames(*frames, source="influxdb")) == [({"h": "a"}, [1, 2])]
    with pytest.raises(BadRequest):
        convert_frames(*frames)


def named_frame(frame_name: str, field_name: str, config: dict[str, str] | None = None) -> Any:
    """Return a frame with one series without labels, and with names at each place where a data source may set one."""
    return frame(TIME, (field_name, "number", [1, 2], {}, config or {}), name=frame_name)


@pytest.mark.parametrize(
    ("frames", "names"),
    [
        # In descending precedence: ``displayNameFromDS`` or ``displayName``, the name of the frame, the name of the field.
        ([named_frame("", "a"), named_frame("", "b")], ["a", "b"]),
        ([named_frame("f", "a"), named_frame("g", "b")], ["f", "g"]),
        ([named_frame("f", "a", {"displayNameFromDS": "x"}), named_frame("g", "b", {"displayNameFromDS": "y"})], ["x", "y"]),
        ([named_frame("f", "a", {"displayName": "x"}), named_frame("g", "b", {"displayName": "y"})], ["x", "y"]),
        # Names that are not unique are not used.
        ([named_frame("f", "a", {"displayName": "x"}), named_frame("g", "b", {"displayName": "x"})], ["f", "g"]),
        ([named_frame("", "a"), named_frame("", "a")], None),
        ([named_frame("", "")], None),
    ],
)
@pytest.mark.parametrize("source", ["graphite", "grafana-testdata-datasource", "dynatrace-datasource", "influxdb"])
def test_the_name_of_a_series_may_become_a_label(source: str, frames: list[Any], names: list[str] | None) -> None:
    """For some types of data sources, the first name that is set and unique becomes a label. Series of other types remain unlabelled."""
    unlabelled: list[dict[str, str]] = [{} for _ in frames]
    expected = [{"__name__": name} for name in names] if names else unlabelled
    assert [labels for labels, _ in items(convert_frames(*frames, source=source))] == expected
    assert [labels for labels, _ in items(convert_frames(*frames, source="test"))] == unlabelled


def test_names_do_not_become_labels_if_a_series_has_labels() -> None:
    """If any series has labels, names do not become labels: the series are already distinct."""
    frames = [named_frame("", "a"), frame(TIME, ("b", "number", [1, 2], {"h": "x"}))]
    assert [labels for labels, _ in items(convert_frames(*frames, source="graphite"))] == [{}, {"h": "x"}]


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        (
            [frame(TIME, ("b", "number", [1, 2]), NUMBERS, BOOLEANS, type_="timeseries-wide")],
            [({"h": "x"}, [1, 0]), ({"h": "y"}, [3, None]), ({}, [1, 2])],
        ),
        (
            [frame(TIME, ("a", "number", [1, 2], {"h": "y"}), type_="timeseries-multi"), frame(TIME, ("a", "number", [3, 4], {"h": "x"}))],
            [({"h": "x"}, [3, 4]), ({"h": "y"}, [1, 2])],
        ),
        (
            [frame(("t", "time", [1, 1, 2]), ("h", "string", ["x", None, "x"]), ("v", "number", [1, 2, 3]), type_="timeseries-long")],
            [({"h": ""}, [2]), ({"h": "x"}, [1, 3])],
        ),
        (
            [frame(("v", "number", [4], {"c": "LGA"}), ("v", "number", [7.5], {"c": "MIA"}), type_="numeric-wide")],
            [({"c": "LGA"}, [4]), ({"c": "MIA"}, [7.5])],
        ),
        (
            [frame(("v", "number", [4], {"c": "MIA"}), type_="numeric-multi"), frame(("v", "number", [], {"c": "LGA"}))],
            [({"c": "LGA"}, [None]), ({"c": "MIA"}, [4])],
        ),
        (
            [frame(("c", "string", ["MIA", "LGA"]), ("v", "number", [1, 2]), ("w", "number", [3, 4]), type_="numeric-long")],
            [({"c": "LGA"}, [2]), ({"c": "MIA"}, [1]), ({"c": "LGA"}, [4]), ({"c": "MIA"}, [3])],
        ),
    ],
)
def test_frames_are_read_by_their_declared_type(frames: list[Any], expected: list[Any]) -> None:
    """The items of a declared type are sorted by name, then by labels. A field without rows is an empty item. Booleans are 1 and 0."""
    assert items(convert_frames(*frames)) == expected


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        ([frame(("v", "number", [1, 2]), type_="numeric-wide")], "no more than one row in the frame, but got 2"),
        ([frame(("line", "string", ["a"]), type_="log-lines")], "kind log-lines not supported"),
        ([frame(("v", "number", [1]), type_="timeseries-multi")], "needs a time field"),
        ([frame(("t", "time", [None]), ("v", "number", [1]))], "null time stamps are not supported"),
    ],
)
def test_frames_that_do_not_fit_their_declared_type_are_rejected(frames: list[Any], fault: str) -> None:
    """The error of frames that do not fit their declared type says what is wrong."""
    with pytest.raises(BadRequest, match=fault):
        convert_frames(*frames)


def test_a_type_without_a_version_is_ignored() -> None:
    """A type without a version, or with the version 0.0, is ignored: the columns decide how a frame is read."""
    assert items(convert_frames(frame(TIME, ("v", "number", [1, 2]), meta={"type": "log-lines", "typeVersion": [0, 0]}))) == [({}, [1, 2])]
