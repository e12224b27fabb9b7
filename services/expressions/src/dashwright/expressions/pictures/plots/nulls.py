"""Missing values of series: nulls are inserted where points are too far apart, replaced by a number, or spanned."""

import math
import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of

#: The maximum number of nulls that are inserted into one frame. Beyond it each gap has a single one.
_MAX_INSERTED: Final = 50_000
#: The minimum distance of inserted nulls, in milliseconds.
_MIN_DISTANCE: Final = 1.0
_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)


def insertion_distance(settings: Iterable[Any], interval: Any) -> float | None:
    """Return the distance of times in milliseconds at which nulls are inserted into a frame, or None.

    The distance is ``insertNulls`` of the frame's columns, else the ``interval`` of its times. It is None if the columns differ.
    """
    distances = {number for setting in settings if (number := number_of(setting)) and number > 0}
    if len(distances) > 1:
        return None
    distance = distances.pop() if distances else number_of(interval)
    return max(distance, _MIN_DISTANCE) if distance and distance > 0 else None


def inserted_rows(
    times: NDArray[np.float64], distance: float, start: float | None = None, end: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return the times with inserted times for missing points, and the index of each in ``times``, -1 for an inserted time.

    The rules are those of Grafana's ``applyNullInsertThreshold``: a time is inserted at each ``distance`` after a point, until the
    next point, and from ``start`` and up to ``end``. All times are in milliseconds and ascend.
    """
    if not len(times):
        return times, np.zeros(0, dtype=np.intp)
    # A distance of one step or less needs no insertion.
    counts = np.maximum(np.ceil(np.diff(times) / distance) - 1, 0)
    before = max(math.ceil((times[0] - start) / distance), 0) if start is not None else 0
    after = max(math.ceil((end - times[-1]) / distance) - 1, 0) if end is not None else 0
    # This comparison is also false for NaN.
    if not counts.sum() + before + after <= _MAX_INSERTED:
        counts, before, after = np.minimum(counts, 1), min(before, 1), min(after, 1)
    lengths = np.concatenate([counts.astype(np.intp), [after]]) + 1
    indexes = np.repeat(np.arange(len(times)), lengths)
    # The number of distances from a point to each row: 0 for the point, and 1, 2 and so on for times inserted after it.
    steps = np.arange(len(indexes)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    leading = times[0] - distance * np.arange(before, 0, -1)
    all_times = np.concatenate([leading, times[indexes] + steps * distance])
    return all_times, np.concatenate([np.full(before, -1), np.where(steps == 0, indexes, -1)])


def number_of_text(text: Any) -> float | None:
    """Return the number that replaces nulls in a graph, from the text ``noValue``; None if the text is not a number.

    As in JavaScript, empty text is 0.
    """
    if not isinstance(text, str):
        return None
    if not (stripped := text.strip()):
        return 0.0
    return number_of(stripped) if _DECIMAL.fullmatch(stripped) else None


def spanned_points(times: NDArray[np.float64], values: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
    """Return which points are drawn if lines span gaps shorter than ``distance`` milliseconds: all but the nulls in such gaps."""
    is_null = np.isnan(values)
    if distance <= 0 or not is_null.any():
        return np.ones(len(values), dtype=np.bool_)
    if math.isinf(distance):
        return ~is_null
    positions = np.flatnonzero(~is_null)
    if not len(positions):
        return np.ones(len(values), dtype=np.bool_)
    # For each point, the index in ``positions`` of the next value that is not null.
    following = np.searchsorted(positions, np.arange(len(values)))
    is_inside = (following > 0) & (following < len(positions))
    right = times[positions[np.minimum(following, len(positions) - 1)]]
    left = times[positions[np.maximum(following - 1, 0)]]
    return ~(is_null & is_inside & (right - left < distance))
