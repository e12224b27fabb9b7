"""Paths of SVG through points: straight, smooth and stepped lines, and the areas between two of them."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: Points of a path, a row with x and y for each, in pixels.
Points = NDArray[np.float64]


def runs(values: NDArray[np.float64]) -> Iterator[slice]:
    """Yield the slices of consecutive values that are not NaN."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], np.isnan(values), [True]]).astype(np.int8)))
    for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        yield slice(start, end)


def line(xs: NDArray[np.float64], ys: NDArray[np.float64], interpolation: str) -> str:
    """Return the path of a line through points, which must not be NaN."""
    return _path(_vertices(xs, ys, interpolation), is_smooth=interpolation == "smooth")


def area(xs: NDArray[np.float64], ys: NDArray[np.float64], floor_ys: NDArray[np.float64], interpolation: str) -> str:
    """Return the path of the area between two lines with points at the same ``xs``."""
    upper, lower = _vertices(xs, ys, interpolation), _vertices(xs, floor_ys, interpolation)[::-1]
    is_smooth = interpolation == "smooth"
    # The lower line is reversed, and its move (M) to the start becomes a line.
    return f"{_path(upper, is_smooth=is_smooth)}L{_path(lower, is_smooth=is_smooth)[1:]}Z"


def dots(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> str:
    """Return a path that is a dot at each point when it is drawn with round ends."""
    return "".join([f"M{x:.1f} {y:.1f}h0" for x, y in zip(xs.tolist(), ys.tolist(), strict=True)])


def bars(left: NDArray[np.float64], widths: NDArray[np.float64], ys: NDArray[np.float64], floor_ys: NDArray[np.float64]) -> str:
    """Return the path of bars, each between its values in ``floor_ys`` and ``ys``."""
    rows = zip(left.tolist(), widths.tolist(), ys.tolist(), floor_ys.tolist(), strict=True)
    return "".join([f"M{x:.1f} {floor:.1f}V{y:.1f}h{width:.1f}V{floor:.1f}Z" for x, width, y, floor in rows])


def _vertices(xs: NDArray[np.float64], ys: NDArray[np.float64], interpolation: str) -> Points:
    """Return the points of a line: for a smooth one with two control points between two points, for a stepped one with its corners."""
    points = np.column_stack([xs, ys])
    if interpolation == "linear" or len(points) == 1:
        return points
    if interpolation == "smooth":
        return _smooth_vertices(xs, ys)
    corners = np.column_stack([xs[1:], ys[:-1]] if interpolation == "stepAfter" else [xs[:-1], ys[1:]])
    vertices = np.empty((2 * len(points) - 1, 2))
    vertices[::2], vertices[1::2] = points, corners
    return vertices


def _smooth_vertices(xs: NDArray[np.float64], ys: NDArray[np.float64]) -> Points:
    """Return the points of a monotone cubic spline by Fritsch and Carlson: it does not exceed the values of neighbours."""
    widths = np.diff(xs)
    slopes = np.divide(np.diff(ys), widths, out=np.zeros(len(widths)), where=widths > 0)
    tangents = np.empty(len(xs))
    tangents[0], tangents[-1] = slopes[0], slopes[-1]
    left, right, left_width, right_width = slopes[:-1], slopes[1:], widths[:-1], widths[1:]
    weights = 3 * (left_width + right_width)
    is_monotone = (left * right > 0) & (weights > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Weighted harmonic means of the slopes at both sides of each inner point.
        means = weights / ((2 * right_width + left_width) / left + (right_width + 2 * left_width) / right)
    tangents[1:-1] = np.where(is_monotone, means, 0)
    vertices = np.empty((3 * len(xs) - 2, 2))
    vertices[::3] = np.column_stack([xs, ys])
    vertices[1::3] = np.column_stack([xs[:-1] + widths / 3, ys[:-1] + tangents[:-1] * widths / 3])
    vertices[2::3] = np.column_stack([xs[1:] - widths / 3, ys[1:] - tangents[1:] * widths / 3])
    return vertices


def _path(vertices: Points, *, is_smooth: bool) -> str:
    """Return the path through points, whose coordinates follow one command: curves if ``is_smooth``, else straight lines."""
    coordinates = [f"{number:.1f}" for number in vertices.ravel().tolist()]
    start = f"M{coordinates[0]} {coordinates[1]}"
    command = "C" if is_smooth else "L"
    return f"{start}{command}{' '.join(coordinates[2:])}" if len(coordinates) > 2 else start
