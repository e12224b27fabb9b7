"""Regression: a line or polynomial through the points of two columns."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.errors import BadRequest
from dashwright.common.json_shapes import string_of
from dashwright.expressions.javascript.values import float_of, is_missing, number_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames
from dashwright.expressions.transformations.matchers.fields import MatchedColumn, named
from dashwright.expressions.transformations.names import DisplayNames

#: The maximum of the option ``degree``. Each power of x is a column of the matrix that is solved.
_MAX_DEGREE: Final = 20


def regression(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return the frames and one with ``predictionCount`` points of the curve, from the lowest to the highest value of ``xFieldName``.

    ``modelType`` is ``linear`` or ``polynomial`` of a ``degree``. Without the columns, or for another model, the frames are unchanged.

    Raises BadRequest if the columns are in different frames, or for an invalid number.
    """
    x_and_y = _columns(frames, string_of(options.get("xFieldName")), string_of(options.get("yFieldName")))
    model = string_of(options.get("modelType"))
    if x_and_y is None or model not in ("linear", "polynomial"):
        return frames
    x, y = x_and_y
    count = _integer_option(options, "predictionCount", 1, context.limits.transformation_cells)
    degree = 1 if model == "linear" else _integer_option(options, "degree", 0, _MAX_DEGREE)
    context.check_cells(count, 2)
    rows = zip(x.values, y.values, strict=True)
    pairs = [(float_of(x_value), float_of(y_value)) for x_value, y_value in rows if not is_missing(x_value)]
    x_values = [x_value for x_value, _ in pairs]
    low, high = (min(x_values), max(x_values)) if x_values else (math.nan, math.nan)
    # Times are counted from the first one, because powers of milliseconds since 1970 are not exact.
    origin = low if x.type is CellType.TIME else 0.0
    points = [(x_value - origin, y_value) for x_value, y_value in pairs if not math.isnan(y_value)]
    step = (high - low) / count
    positions = [*(index * step + low for index in range(count - 1)), high]
    curve = _curve(np.array(points, dtype=np.float64).reshape(-1, 2), degree)
    predicted = curve(np.array(positions, dtype=np.float64) - origin).tolist()
    columns = [Column(x.name, x.type, positions), Column(f"{y.name} predicted", y.type, predicted)]
    return [*frames, DataFrame(columns, count, f"{model} regression")]


def _columns(frames: Frames, x_name: str, y_name: str) -> tuple[Column, Column] | None:
    """Return the columns of the first frame that has the second one."""
    names = DisplayNames(frames)
    for frame in frames:
        matched_columns = [MatchedColumn(column, frame, names) for column in frame.columns]
        y = next((matched_column.column for matched_column in matched_columns if named(y_name)(matched_column)), None)
        if y is not None:
            x = next((matched_column.column for matched_column in matched_columns if named(x_name)(matched_column)), None)
            if x is None:
                raise BadRequest(f"the columns {x_name!r:.60} and {y_name!r:.60} must be in one frame; join the frames first")
            return x, y
    return None


def _integer_option(options: Mapping[str, Any], name: str, low: int, high: int) -> int:
    number = number_of(options.get(name))
    if not low <= number <= high:
        raise BadRequest(f"{name} must be a number from {low} to {high}")
    return int(number)


def _curve(points: NDArray[np.float64], degree: int) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the polynomial with the least squares of distances to the points."""
    if not len(points):
        return lambda positions: np.full(len(positions), np.nan)
    x, y = points[:, 0], points[:, 1]
    if not np.isfinite(points).all():
        return lambda positions: np.full(len(positions), np.nan)
    # Powers of numbers up to 1 are of similar size, which keeps the equations solvable.
    scale = float(np.abs(x).max()) or 1.0
    powers = np.vander(x / scale, degree + 1, increasing=True)
    coefficients = np.linalg.lstsq(powers, y, rcond=None)[0]
    return lambda positions: np.vander(positions / scale, degree + 1, increasing=True) @ coefficients
