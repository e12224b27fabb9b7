"""Conversion of columns of every width, of unknown newer declarations, and of many axes."""

import numpy as np
import pytest

from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.values import Numbers, Series

_TIMES = Field("t", FieldType.TIME, np.array([1, 2], np.int64))


@pytest.mark.parametrize("kind", sorted(NUMERIC))
def test_every_number_becomes_a_float(kind: FieldType) -> None:
    """Numbers of any width become floats. A null keeps its position, and its slot in the array is NaN."""
    values = np.array([7, 0], kind.dtype)
    nulls = np.array([False, True])
    for frame_nulls in (None, nulls):
        read = values_of([Frame([_TIMES, Field("v", kind, values, frame_nulls)])])
        assert isinstance(read, Series)
        cells = read.blocks[0].cells
        assert cells.values.dtype == np.float64
        assert cells.values[0, 0] == 7
        assert cells.null_mask().tolist() == [[False, frame_nulls is not None]]
        # The values of a float column are not copied, so nulls must already be NaN.
        assert kind is FieldType.FLOAT64 or np.isnan(cells.values[0, 1]) == (frame_nulls is not None)
    assert values.tolist() == [7, 0]


def test_series_of_several_widths_share_a_block() -> None:
    """Each series has its own nulls in its row."""
    small = Field("a", FieldType.INT8, np.array([1, 0], np.int8), np.array([False, True]), nullable=True)
    large = Field("b", FieldType.UINT64, np.array([2, 3], np.uint64), labels=Labels.of({"h": "b"}))
    read = values_of([Frame([_TIMES, small, large])])
    assert isinstance(read, Series)
    [block] = read.blocks
    assert block.cells.null_mask().tolist() == [[False, True], [False, False]]
    assert block.cells.values[1].tolist() == [2, 3]


def test_a_newer_version_is_accepted() -> None:
    """The declared type decides how frames are read. The declared version may be any, but must not be missing."""
    value = Field("v", FieldType.FLOAT64, np.array([4.0]))
    read = values_of([Frame([value], meta={"type": "numeric-wide", "typeVersion": [7, 3]})])
    assert isinstance(read, Numbers)
    assert read.cells.values.tolist() == [4]


def test_equal_and_identical_times_share_a_block() -> None:
    """A set has as many blocks as different times, in the order of their first use, for equal and for identical arrays."""
    stamps = [[1, 5, 9], [1, 6, 9], [1, 5, 9], [1, 7, 9], [1, 6, 9]]
    arrays = [np.array(times, np.int64) for times in stamps]
    frames = [
        Frame([Field("t", FieldType.TIME, times), Field("v", FieldType.FLOAT64, np.full(3, float(index)))])
        for index, times in enumerate([*arrays, arrays[1]])
    ]
    read = values_of(frames)
    assert isinstance(read, Series)
    assert [block.axis.times.tolist() for block in read.blocks] == [[1, 5, 9], [1, 6, 9], [1, 7, 9]]
    assert read.block_of.tolist() == [0, 1, 0, 2, 1, 1]
    assert [read.blocks[block].cells.values[row, 0] for block, row in zip(read.block_of, read.row_of, strict=True)] == [0, 1, 2, 3, 4, 5]


def test_many_axes_of_equal_ends_are_read_in_time() -> None:
    """The cost is linear in the number of series: comparing every pair of time axes would exceed the time limit of the test."""
    values = np.zeros(4)
    frames = [
        Frame([Field("t", FieldType.TIME, np.array([0, i, 10**6 - i, 10**6])), Field("v", FieldType.FLOAT64, values)])
        for i in range(1, 30_000)
    ]
    read = values_of(frames)
    assert isinstance(read, Series)
    assert len(read.blocks) == len(frames)
