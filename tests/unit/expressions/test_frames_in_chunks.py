"""Columns longer than one chunk of JSON: entities and nanoseconds keep their rows, also in shared columns."""

import numpy as np
import orjson
import pytest

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.formats.codec import CHUNK_VALUES, JsonFrameWriter, chunks
from dashwright.expressions.formats.frame_reader import read_frames


def write_frame(writer: JsonFrameWriter, frame: Frame) -> bytes:
    """Return the complete JSON of a frame."""
    return b"".join(chunks(writer.write(frame)))


@pytest.mark.parametrize("rows", [CHUNK_VALUES, 2 * CHUNK_VALUES + 1])
def test_a_long_frame_is_read_unchanged(rows: int) -> None:
    """Special values, nulls and nanoseconds are read unchanged in the first row, the last row and the rows around the end of a chunk."""
    values, nulls = np.arange(rows, dtype=np.float64), np.zeros(rows, np.bool_)
    special_rows = sorted({0, rows - 1, *(row for row in (CHUNK_VALUES - 1, CHUNK_VALUES, 2 * CHUNK_VALUES) if row < rows)})
    # NaN and both infinities in turn.
    values[special_rows] = [(np.nan, np.inf, -np.inf)[index % 3] for index in range(len(special_rows))]
    # Rows 0 and ``rows - 1`` have special values, so the second and the last but one are null.
    nulls[[1, rows - 2]] = True
    values[nulls] = np.nan
    times = np.arange(rows, dtype=np.int64) * 1_000_000
    # Only the last time has nanoseconds.
    times[-1] += 7
    fields = [
        Field("t", FieldType.TIME, times),
        Field("v", FieldType.FLOAT64, values, nulls, nullable=True),
        Field("n", FieldType.INT64, np.where(nulls, 0, np.arange(rows)), nulls, nullable=True),
        Field("s", FieldType.STRING, np.array(["x"] * rows, object)),
    ]
    [read_frame] = read_frames(b"[" + write_frame(JsonFrameWriter(), Frame(fields)) + b"]")
    no_nulls = np.zeros(rows, np.bool_)
    for field, read_field in zip(fields, read_frame.fields, strict=True):
        assert np.array_equal(read_field.values, field.values, equal_nan=field.type.is_float)
        read_nulls = no_nulls if read_field.nulls is None else read_field.nulls
        expected_nulls = no_nulls if field.nulls is None else field.nulls
        assert np.array_equal(read_nulls, expected_nulls)


def test_a_shared_time_column_keeps_its_nanoseconds() -> None:
    """Each frame has the nanoseconds of a shared time column, even if a frame with another column was written in between."""
    times_with_nanoseconds, times_in_milliseconds = (np.array([number, number + 1_000_000], np.int64) for number in (5, 0))
    writer = JsonFrameWriter()
    nanoseconds = [
        orjson.loads(write_frame(writer, Frame([Field("t", FieldType.TIME, times)])))["data"].get("nanos")
        for times in (times_with_nanoseconds, times_with_nanoseconds, times_in_milliseconds, times_with_nanoseconds)
    ]
    assert nanoseconds == [[[5, 5]], [[5, 5]], None, [[5, 5]]]
