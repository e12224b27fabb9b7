"""Frames of any numeric type become blocks of floats, and frames with equal times share a block."""

import numpy as np
import pytest

from dashwright.expressions.engine.frame import NUMERIC, Field, FieldType, Frame
from dashwright.expressions.engine.frames_to_values import values_of
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.values import Numbers, Series

_TIMES = Field("t", FieldType.TIME, np.array([1, 2], np.int64))


@pytest.mark.parametrize("type_", sorted(NUMERIC))
def test_every_number_becomes_a_float(type_: FieldType) -> None:
    """Numbers of any type become floats. A null keeps its position, and its value in the array is NaN."""
    column = np.array([7, 0], type_.dtype)
    nulls = np.array([False, True])
    for frame_nulls, expected_nulls in ((None, [False, False]), (nulls, [False, True])):
        values = values_of([Frame([_TIMES, Field("v", type_, column, frame_nulls)])])
        assert isinstance(values, Series)
        cells = values.blocks[0].cells
        assert cells.values.dtype == np.float64
        assert cells.values[0, 0] == 7
        assert cells.null_mask().tolist() == [expected_nulls]
        # The values of a FLOAT64 column are not copied: its producer must write NaN for null, which this test does not do.
        if type_ is not FieldType.FLOAT64:
            assert np.isnan(cells.values[0]).tolist() == expected_nulls
    assert column.tolist() == [7, 0]


def test_series_of_several_numeric_types_share_a_block() -> None:
    """A block has a row for each series, with the nulls of that series, even if the series have different numeric types."""
    small = Field("a", FieldType.INT8, np.array([1, 0], np.int8), np.array([False, True]), nullable=True)
    large = Field("b", FieldType.UINT64, np.array([2, 3], np.uint64), labels=Labels.of({"h": "b"}))
    values = values_of([Frame([_TIMES, small, large])])
    assert isinstance(values, Series)
    [block] = values.blocks
    assert block.cells.null_mask().tolist() == [[False, True], [False, False]]
    assert block.cells.values[1].tolist() == [2, 3]


def test_a_newer_version_is_accepted() -> None:
    """A declared type is used even if its version is newer than the known ones."""
    value = Field("v", FieldType.FLOAT64, np.array([4.0]))
    values = values_of([Frame([value], meta={"type": "numeric-wide", "typeVersion": [7, 3]})])
    assert isinstance(values, Numbers)
    assert values.cells.values.tolist() == [4]


def test_equal_and_identical_times_share_a_block() -> None:
    """A set has one block for each distinct axis, in the order of their first use. Equal arrays and identical arrays are the same axis."""
    time_lists = [[1, 5, 9], [1, 6, 9], [1, 5, 9], [1, 7, 9], [1, 6, 9]]
    arrays = [np.array(times, np.int64) for times in time_lists]
    frames = [
        Frame([Field("t", FieldType.TIME, times), Field("v", FieldType.FLOAT64, np.full(3, float(index)))])
        for index, times in enumerate([*arrays, arrays[1]])
    ]
    values = values_of(frames)
    assert isinstance(values, Series)
    assert [block.axis.times.tolist() for block in values.blocks] == [[1, 5, 9], [1, 6, 9], [1, 7, 9]]
    assert values.block_of.tolist() == [0, 1, 0, 2, 1, 1]
    first_values = [values.blocks[block].cells.values[row, 0] for block, row in zip(values.block_of, values.row_of, strict=True)]
    # The values of each frame are its index.
    assert first_values == [0, 1, 2, 3, 4, 5]


def test_many_axes_with_equal_ends_are_read_in_linear_time() -> None:
    """Thousands of different axes with the same first and last time are read in linear time.

    A comparison of every pair of axes would exceed the time limit of the test.
    """
    column = np.zeros(4)
    frames = [
        Frame([Field("t", FieldType.TIME, np.array([0, i, 10**6 - i, 10**6])), Field("v", FieldType.FLOAT64, column)])
        for i in range(1, 30_000)
    ]
    values = values_of(frames)
    assert isinstance(values, Series)
    assert len(values.blocks) == len(frames)
