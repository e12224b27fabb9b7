"""Limit of the number of rows."""

from collections.abc import Mapping
from math import isnan
from typing import Any, Final

from dashwright.expressions.javascript.values import is_number, leading_integer
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import DataFrame, Frames

_DEFAULT: Final = 10


def limit(frames: Frames, options: Mapping[str, Any], _context: Context) -> Frames:
    """Return the first ``limitField`` rows of each frame, or the last ones if it is negative."""
    setting = options.get("limitField", _DEFAULT)
    number = setting if is_number(setting) else leading_integer(setting)
    return frames if isnan(number) else [_limited(frame, int(number)) for frame in frames]


def _limited(frame: DataFrame, count: int) -> DataFrame:
    if frame.row_count <= count:
        return frame
    rows = range(frame.row_count)
    # If a negative limit exceeds the number of rows, their sum is negative, and the slice counts from the end, as in Grafana.
    return frame.with_rows(rows[:count] if count >= 0 else rows[len(rows) + count :])
