"""Transformations with wrong options or cells of any type return a valid table, or an error with a reason."""

import contextlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.unit.expressions.json_trees import paths, replace_at
from tests.unit.expressions.transformations.tables import apply_all, column, frame
from tests.unit.expressions.transformations.test_each_transformation import CASES

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, TooLarge
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import MemoryBudget
from dashwright.expressions.javascript.values import UNDEFINED
from dashwright.expressions.transformations.conversion import to_typed_frame
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.registry import TRANSFORMATIONS

WRONG_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, -1, 0, 1e308, float("nan"), 10**400, "", "$v", "time", "v", [], {}, [1], ["v"], {"a": 1}, "/(/", "(", [[[]]]]
)
CELL = st.sampled_from(
    [None, UNDEFINED, True, False, 0, -1, 2.5, 1e21, float("nan"), float("inf"), "", "a", "1", "1e5", "{}", [1, None], {"a": [UNDEFINED]}]
)
OPTIONS = [(name, options) for name, options, *_ in CASES]
#: The places in the options where a wrong value is set, with the index of the transformation.
TRANSFORMATIONS_AND_PATHS = [(index, path) for index, (_, options) in enumerate(OPTIONS) for path in paths(options)]


@st.composite
def tables(draw: st.DrawFn) -> DataFrame:
    """Draw a frame with columns of any type, whose cells may have another type than the column."""
    rows = draw(st.integers(0, 4))
    columns = [
        Column(
            name=draw(st.sampled_from(["time", "v", "Value", "host", ""])),
            type=draw(st.sampled_from([type_ for type_ in CellType if type_ is not CellType.FRAMES])),
            source=draw(st.lists(CELL, min_size=rows, max_size=rows)),
            labels=draw(st.sampled_from([None, {}, {"host": "a"}, {"host": "b", "what": "c"}])),
            config=draw(
                st.sampled_from([{}, {"displayName": "v"}, {"displayName": 3}, {"noValue": "0", "custom": None}, {"thresholds": []}])
            ),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    row_count = rows if columns else 0
    return DataFrame(columns, row_count, name=draw(st.sampled_from(["", "f"])), ref_id=draw(st.sampled_from(["A", "B"])))


def is_sound(frames: Frames) -> bool:
    """Return whether all columns are as long as their frame, and the frames can be written."""
    return all(len(column.values) == item.row_count for item in frames for column in item.columns) and all(map(to_typed_frame, frames))


@given(st.sampled_from(TRANSFORMATIONS_AND_PATHS), WRONG_VALUES, st.lists(tables(), max_size=3))
def test_a_wrong_option_is_an_error_at_most(
    transformation_and_path: tuple[int, tuple[int | str, ...]], wrong_value: Any, frames: Frames
) -> None:
    """With one wrong option and any cells, the result is sound (see ``is_sound``), or the transformation raises a ``DashwrightError``."""
    index, path = transformation_and_path
    name, options = OPTIONS[index]
    with contextlib.suppress(DashwrightError):
        assert is_sound(apply_all(frames, {"id": name, "options": replace_at(options, path, wrong_value)}))


@given(st.sampled_from(sorted(TRANSFORMATIONS)), st.lists(tables(), max_size=3))
@example("timeSeriesTable", [DataFrame([Column("time", CellType.TIME, [True, ""])], row_count=2)])
def test_every_transformation_accepts_any_cells(name: str, frames: Frames) -> None:
    """With default options and any cells, the result is sound."""
    assert is_sound(apply_all(frames, {"id": name}))


@given(st.lists(st.sampled_from(OPTIONS), max_size=6), st.lists(tables(), max_size=3))
def test_chains_accept_any_cells(chain: list[tuple[str, dict[str, Any]]], frames: Frames) -> None:
    """After any chain of transformations, the result is sound."""
    with contextlib.suppress(DashwrightError):
        assert is_sound(apply_all(frames, *({"id": name, "options": options} for name, options in chain)))


LONG_FRAME = frame("A", time=list(range(2000)), v=list(range(2000)), same=["x"] * 2000)


@pytest.mark.parametrize(
    ("name", "options", "frames"),
    [
        ("joinByField", {"byField": "same", "mode": "inner"}, [LONG_FRAME, LONG_FRAME]),
        ("joinByField", {"byField": "same", "mode": "outerTabular"}, [LONG_FRAME, LONG_FRAME]),
        ("groupingToMatrix", {"columnField": "time", "rowField": "v", "valueField": "v"}, [LONG_FRAME]),
        ("concatenate", {}, [LONG_FRAME, frame("B", *(column(f"c{index}", [1]) for index in range(600)))]),
        ("labelsToFields", {}, [frame("A", *(column("v", [0] * 1000, host=str(index)) for index in range(600)))]),
        (
            "prepareTimeSeries",
            {"format": "long"},
            [frame("A", column("time", [1] * 1000), *(column("v", [0] * 1000, h=str(i)) for i in range(600)))],
        ),
    ],
)
def test_results_with_too_many_cells_are_rejected(name: str, options: dict[str, Any], frames: Frames) -> None:
    """A transformation whose result would have too many cells is rejected before the result is built."""
    with pytest.raises(TooLarge, match=f"transformation 1 \\({name}\\): .*TRANSFORMATION_CELLS"):
        apply_all(frames, {"id": name, "options": options}, limits=Limits(transformation_cells=1_000_000))


@pytest.mark.parametrize(
    ("name", "options", "frames", "problem"),
    [
        ("partitionByValues", {"fields": ["v"]}, [frame("A", v=list(range(10_001)))], "10001 frames"),
        ("transpose", {}, [frame("A", v=[1] * 20_001)], "20002 columns"),
        ("rowsToFields", {}, [frame("A", column("name", ["x"] * 20_001), v=[1] * 20_001)], "20001 columns"),
        ("extractFields", {"source": "line"}, [frame("A", line=[" ".join(f"k{index}=1" for index in range(20_100))])], "20001 columns"),
    ],
)
def test_too_many_frames_and_columns_are_rejected(name: str, options: dict[str, Any], frames: Frames, problem: str) -> None:
    """The error of too many frames or columns has their number."""
    with pytest.raises(BadRequest, match=problem):
        apply_all(frames, {"id": name, "options": options})


def test_the_number_of_transformations_is_limited() -> None:
    """A panel with more than 500 transformations is an error, which has their number."""
    with pytest.raises(BadRequest, match="501 transformations"):
        apply_all([LONG_FRAME], *[{"id": "noop"}] * 501)


@pytest.mark.usefixtures("short_pattern_time")
def test_an_endless_pattern_is_stopped() -> None:
    """A regular expression that takes exponential time is an error after its time limit."""
    with pytest.raises(BadRequest, match=r"takes longer than 0\.1 s"):
        apply_all([frame("A", column("a" * 60 + "!", [1]))], {"id": "renameByRegex", "options": {"regex": "/^(a|a|aa)+$/"}})


def test_a_merge_ends_at_the_deadline() -> None:
    """A merge compares many rows with the same key only until the deadline."""
    limits = Limits(deadline=Deadline(0.05), transformation_cells=10**7)
    count = 60_000
    frames = [frame("A", k=["x"] * count, v=list(range(count)), w=list(range(count))), frame("B", k=["x"] * count, w=[1] * count)]
    with pytest.raises(DeadlineExceeded):
        apply_all(frames, {"id": "merge"}, limits=limits)


def test_memory_is_reserved() -> None:
    """Frames that do not fit into the memory of all requests are an error."""
    with MemoryBudget(100_000).reservation(1) as memory, pytest.raises(DashwrightError, match="memory"):
        apply_all([LONG_FRAME], {"id": "noop"}, limits=Limits(memory=memory))
