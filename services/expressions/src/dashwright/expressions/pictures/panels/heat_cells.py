"""Grids of heat maps from frames of the type ``heatmap-cells``: of native histograms, and of transformations."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.panels.heat_grid import HeatGrid
from dashwright.expressions.pictures.series import float_values, milliseconds_of

HEATMAP_CELLS: Final = "heatmap-cells"
#: The names of columns that describe the place of a cell.
_EDGE_NAMES: Final = frozenset({"x", "xMin", "xMax", "y", "yMin", "yMax", "yLayout"})


def cells_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the first frame whose rows are cells, or None."""
    return next((frame for frame in frames if (frame.meta or {}).get("type") == HEATMAP_CELLS and frame.row_count), None)


def grid_of_cells(frame: Frame, props: PanelProps) -> HeatGrid:
    """Return the grid of a frame with a row for each cell, with at most one cell for each two pixels.

    Columns have the name ``xMin``, ``xMax`` or ``x`` for their times, ``yMin``, ``yMax`` or ``y`` for their values; the first other
    column of numbers has the counts. Raises NothingToDraw if one of them is missing.
    """
    fields = {field.name: field for field in frame.fields}
    time_field = next((fields[name] for name in ("xMax", "xMin", "x") if name in fields and fields[name].type is FieldType.TIME), None)
    counts = next((field for field in frame.fields if field.name not in _EDGE_NAMES and field.type.is_numeric), None)
    if time_field is None or counts is None or not fields.keys() & {"y", "yMin", "yMax"}:
        raise NothingToDraw("The cells of the heat map have no times, values or counts")
    times, values = milliseconds_of(time_field), float_values(counts)
    lower, upper = _bounds(fields)
    # Cells without a height cannot be drawn. Neither can those with an unknown bound, since comparisons with NaN are false.
    is_known = ~np.isnan(times) & (lower < upper) & ~np.isnan(values)
    if not is_known.any():
        raise NothingToDraw("No data")
    times, lower, values = times[is_known], lower[is_known], values[is_known]
    edges = np.unique(np.concatenate([lower, upper[is_known]]))
    distinct = np.unique(times)
    interval = float(np.diff(distinct).min()) if len(distinct) > 1 else props.end - props.start
    # If cells would be smaller than two pixels, the counts of several times, and of several levels between two edges, are added.
    times_per_column = math.ceil(len(distinct) / max(int(props.width // 2), 1))
    levels_per_row = math.ceil((len(edges) - 1) / max(int(props.height // 2), 1))
    columns = np.searchsorted(distinct, times) // times_per_column
    rows = np.searchsorted(edges, lower) // levels_per_row
    shape = (math.ceil((len(edges) - 1) / levels_per_row), math.ceil(len(distinct) / times_per_column))
    sums, is_missing = np.zeros(shape), np.ones(shape, dtype=np.bool_)
    np.add.at(sums, (rows, columns), values)
    is_missing[rows, columns] = False
    # A time is the end, the start or the middle of its column.
    offset = {"xMax": interval, "xMin": 0.0}.get(time_field.name, interval / 2)
    starts = distinct[::times_per_column] - offset
    # The end of a column follows from the last of its times.
    last_indexes = np.minimum(np.arange(times_per_column, len(distinct) + times_per_column, times_per_column), len(distinct)) - 1
    ends = distinct[last_indexes] - offset + interval
    shown_edges = [*edges[:-1:levels_per_row].tolist(), float(edges[-1])]
    return HeatGrid(np.where(is_missing, np.nan, sums), starts, ends, edges=shown_edges, is_logarithmic=not _are_regular(edges))


def _bounds(fields: dict[str, Field]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and the upper bound of each cell. A missing bound is the bound of the neighbour."""
    values_by_name = {name: float_values(fields[name]) for name in ("yMin", "yMax", "y") if name in fields}
    if "yMin" in values_by_name and "yMax" in values_by_name:
        return values_by_name["yMin"], values_by_name["yMax"]
    name, values = next(iter(values_by_name.items()))
    levels = np.unique(values[~np.isnan(values)])
    if not len(levels):
        return values, values
    edges = _extended(levels, is_upper=name == "yMax")
    positions = np.searchsorted(levels, np.nan_to_num(values, nan=levels[0]))
    lower, upper = (np.where(np.isnan(values), np.nan, edges[positions + shift]) for shift in (0, 1))
    return lower, upper


def _extended(levels: NDArray[np.float64], *, is_upper: bool) -> NDArray[np.float64]:
    """Return levels with one more level below or above, at the same distance or ratio."""
    if len(levels) == 1:
        return np.array([levels[0] - 1, levels[0]]) if is_upper else np.array([levels[0], levels[0] + 1])
    end, neighbour = (levels[0], levels[1]) if is_upper else (levels[-1], levels[-2])
    last_bound = end * end / neighbour if levels[0] > 0 and not _are_regular(levels) else 2 * end - neighbour
    return np.concatenate([[last_bound], levels] if is_upper else [levels, [last_bound]])


def _are_regular(edges: NDArray[np.float64]) -> bool:
    """Return whether the distances of edges are equal."""
    distances = np.diff(edges)
    return bool(np.allclose(distances, distances[0])) if len(distances) else True
