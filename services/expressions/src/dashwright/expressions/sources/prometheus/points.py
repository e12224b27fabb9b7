"""Reading of the points of Prometheus responses: JSON arrays of ``[seconds, "value"]`` become series that share time axes.

The points of many series are parsed together. A Python object for each point would take ten times the memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import orjson
from numpy.typing import NDArray

from dashwright.expressions.engine.axis import Axis, Times
from dashwright.expressions.engine.frame_set import FrameSet
from dashwright.expressions.engine.labels import LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.values import Block, Cells, Floats, Numbers, Series
from dashwright.expressions.sources.prometheus.errors import ADVICE, unreadable

#: The largest distance of a time from 1970 in seconds; its nanoseconds fit into an int64.
_MAX_SECONDS: Final = 9e9
_NANOS_PER_MILLISECOND: Final = 1_000_000
#: The number of points that are parsed together.
_CHUNK_POINTS: Final = 10_000
#: The bytes of numbers, NaN, infinities and white space. The remaining bytes of an array are its structure.
_NUMBER_BYTES: Final = b"0123456789.+-eENaIinf \t\r\n"
#: The structure of a point: a number, and a string with a number.
_POINT_STRUCTURE: Final = b'[,""]'

#: Pairs of seconds and value: an array of the shape (series, points, 2).
_Pairs = NDArray[np.float64]


class PointReader(Protocol):
    """A reader of the points of the items of a result."""

    def add(self, arrays: Sequence[msgspec.Raw]) -> None:
        """Read the JSON arrays of further items. Raises SourceFailed if one does not contain points, and TooLarge for too many points."""
        ...

    def frames(self, labels: LabelSets, meta: Mapping[str, Any]) -> FrameSet:
        """Return the frames of all items with their label sets."""
        ...


class SampleReader:
    """A reader of samples: JSON arrays of one point each."""

    def __init__(self) -> None:
        self._times: list[Times] = []
        self._values: list[Floats] = []

    def add(self, arrays: Sequence[msgspec.Raw]) -> None:
        """Read the arrays of further samples. Raises SourceFailed if an array is not a point."""
        pairs = _parse([b"[%s]" % bytes(array) for array in arrays], 1)
        self._times.append(_times(pairs[:, 0, 0]))
        self._values.append(np.ascontiguousarray(pairs[:, 0, 1]))

    def frames(self, labels: LabelSets, meta: Mapping[str, Any]) -> FrameSet:
        """Return a frame for each sample, with its time and value."""
        return FrameSet(Numbers(labels, Cells(np.concatenate(self._values))), meta, times=np.concatenate(self._times))


def read_time(seconds: msgspec.Raw) -> Times:
    """Return a time in seconds as an array of one time. Raises SourceFailed if it is not a time."""
    return _times(_parse([b'[[%s,"0"]]' % bytes(seconds)], 1)[:, 0, 0])


def _chunks(counts: Sequence[int]) -> Iterator[range]:
    """Yield ranges of consecutive series with equal numbers of points, together at most about ``_CHUNK_POINTS``."""
    start = 0
    for index, count in enumerate(counts):
        if count != counts[start] or (index - start) * count >= _CHUNK_POINTS:
            yield range(start, index)
            start = index
    if counts:
        yield range(start, len(counts))


def _parse(arrays: Sequence[bytes], count: int) -> _Pairs:
    """Return the points of JSON arrays. Each array must have ``count`` points."""
    joined = b",".join(arrays)
    structure = b"[%s]" % b",".join([_POINT_STRUCTURE] * count)
    if joined.translate(None, _NUMBER_BYTES) != b",".join([structure] * len(arrays)):
        raise unreadable("has a point that is not a time and a number")
    numbers = _numbers(joined.translate(None, b'[]"')) if count else np.empty(0)
    if len(numbers) != 2 * count * len(arrays):
        raise unreadable("has a point without time or value")
    return numbers.reshape(len(arrays), count, 2)


def _numbers(text: bytes) -> Floats:
    """Return numbers that are separated by commas."""
    try:
        return np.array(orjson.loads(b"[%s]" % text), np.float64)
    except orjson.JSONDecodeError:
        # NaN and infinities are not JSON. numpy reads them, and takes twice the time.
        pass
    try:
        return np.fromstring(text, sep=",")
    except ValueError as error:
        raise unreadable("has a point that is not a time and a number") from error


def _times(seconds: Floats) -> Times:
    """Convert seconds to nanoseconds, rounded to milliseconds as in Prometheus. Raises SourceFailed if a time is out of range."""
    if not bool((np.abs(seconds) < _MAX_SECONDS).all()):
        raise unreadable("has an impossible time")
    times: Times = np.rint(seconds * 1000).astype(np.int64) * _NANOS_PER_MILLISECOND
    return times


class SeriesReader:
    """A reader of series: JSON arrays of points. Series with equal times share a block."""

    def __init__(self, count: int, limits: Limits) -> None:
        """Create a reader of at most ``count`` series."""
        self._limits = limits
        self._point_count = 0
        self._block_of = np.empty(count, np.intp)
        self._row_of = np.empty(count, np.intp)
        #: The index of the next series.
        self._next = 0
        #: The times of each block in seconds, as received.
        self._seconds: list[Floats] = []
        #: The values of each block: arrays of rows, in the order of their series.
        self._rows: list[list[Floats]] = []
        #: The number of rows of each block.
        self._heights: list[int] = []
        self._block_by_seconds: dict[bytes, int] = {}
        #: The block of the latest series, which is compared first; -1 before the first series.
        self._latest = -1

    def add(self, arrays: Sequence[msgspec.Raw]) -> None:
        """Read the arrays of further series. Raises SourceFailed if one does not contain points, and TooLarge for too many points."""
        # One bracket belongs to the array of the series, and each other bracket to a point.
        counts = [bytes(array).count(b"[") - 1 for array in arrays]
        self._point_count += sum(counts)
        if self._point_count > self._limits.query_points:
            raise self._limits.refusal("query_points", f"the response has more than {self._limits.query_points} points", ADVICE)
        for chunk in _chunks(counts):
            self._limits.deadline.check()
            self._add_series(_parse([bytes(array) for array in arrays[chunk.start : chunk.stop]], counts[chunk.start]))

    def frames(self, labels: LabelSets, meta: Mapping[str, Any]) -> FrameSet:
        """Return a frame for each series."""
        axes = [Axis(_times(seconds)) for seconds in self._seconds]
        blocks = [Block(axis, Cells(_stack(rows))) for axis, rows in zip(axes, self._rows, strict=True)]
        return FrameSet(Series(labels, tuple(blocks), self._block_of[: self._next], self._row_of[: self._next]), meta)

    def _add_series(self, pairs: _Pairs) -> None:
        """Add series that have the same number of points to the blocks of their times."""
        seconds, values = pairs[:, :, 0], pairs[:, :, 1]
        block = self._find_or_add_block(seconds[0])
        # The series of a chunk have the same number of points, and usually the same times.
        has_times_of_block = (seconds == self._seconds[block]).all(axis=1)
        if has_times_of_block.all():
            self._add_rows(block, values)
            return
        for row_seconds, row_values in zip(seconds, values, strict=True):
            self._add_rows(self._find_or_add_block(row_seconds), row_values[np.newaxis])

    def _find_or_add_block(self, seconds: Floats) -> int:
        """Return the index of the block with these times, which is added if the times are new."""
        if self._latest < 0 or not np.array_equal(seconds, self._seconds[self._latest]):
            key = seconds.tobytes()
            self._latest = self._block_by_seconds.setdefault(key, len(self._seconds))
            if self._latest == len(self._seconds):
                self._seconds.append(seconds.copy())
                self._rows.append([])
                self._heights.append(0)
        return self._latest

    def _add_rows(self, block: int, values: Floats) -> None:
        """Add the values of the next series as rows to a block."""
        count = len(values)
        new_series = slice(self._next, self._next + count)
        self._block_of[new_series] = block
        self._row_of[new_series] = np.arange(self._heights[block], self._heights[block] + count)
        # A view of the values would keep the times in memory too.
        self._rows[block].append(np.ascontiguousarray(values))
        self._heights[block] += count
        self._next += count


def _stack(rows: list[Floats]) -> Floats:
    return rows[0] if len(rows) == 1 else np.concatenate(rows)
