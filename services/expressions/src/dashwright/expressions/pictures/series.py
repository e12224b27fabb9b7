"""Results of a panel's queries as series over time and as columns, thinned to what a picture can show."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.reducers import REDUCERS, Reducer

MOST_SERIES: Final = 50
#: Most points of one series.
MOST_POINTS: Final = 2_000

_MOST_TOGETHER: Final = 15_000
_FEWEST: Final = 50
_PLAIN_NAMES: Final = frozenset({"", "value", "values", "Value", "A-series"})
_NUMBERS: Final = frozenset({*(item for item in FieldType if item.is_numeric), FieldType.BOOL})


@dataclass(frozen=True, slots=True)
class PlotSeries:
    """A series to draw."""

    name: str
    times: NDArray[np.float64] | None  #: In milliseconds since 1970; None without times.
    values: NDArray[np.float64]  #: NaN where there is no value.
    ref_id: str = ""


def series_of(frames: Sequence[Frame]) -> list[PlotSeries]:
    """Return every column of numbers with its shown name; the names differ. At most 50."""
    found = []
    for frame in frames:
        for field, times, values in _columns(frame):
            found.append((frame, field, times, values))
            if len(found) >= MOST_SERIES:
                break
    names = _apart([_name(frame, field, _labels_in(frames)) for frame, field, _, _ in found])
    return [PlotSeries(name, times, values, frame.ref_id) for name, (frame, _, times, values) in zip(names, found, strict=True)]


def thinned(series: PlotSeries, most: int) -> PlotSeries:
    """Return the series with at most ``most`` points: the least and the greatest of each stretch.

    No peak is lost, nor a gap that fills a stretch.
    """
    count = len(series.values)
    if count <= most or series.times is None:
        return series
    edges = np.linspace(0, count, most // 2 + 1).astype(int)
    kept: list[int] = []
    for start, end in pairwise(edges.tolist()):
        part = series.values[start:end]
        if not len(part) or np.isnan(part).all():
            kept.append(start)
        else:
            kept += sorted({start + int(np.nanargmin(part)), start + int(np.nanargmax(part))})
    return PlotSeries(series.name, series.times[kept], series.values[kept], series.ref_id)


def points_for(width: int, count: int) -> int:
    """Return how many points each of ``count`` series may have in a picture ``width`` pixels wide."""
    return min(MOST_POINTS, max(int(1.3 * width), _FEWEST), max(_MOST_TOGETHER // max(count, 1), _FEWEST))


def reduced(values: NDArray[np.float64], calculation: str) -> float | None:
    """Return one number of a series, or None if it has none."""
    if calculation == "last":
        return float(values[-1]) if len(values) and not math.isnan(values[-1]) else None
    numbers = values[~np.isnan(values)]
    return float(_CALCULATIONS.get(calculation, _CALCULATIONS["lastNotNull"])(numbers)) if len(numbers) else None


def _by_reducer(reducer: Reducer) -> Callable[[NDArray[np.float64]], Any]:
    return lambda numbers: reducer.rows(numbers[np.newaxis])[0]


#: The calculations of panels by name: those of ``REDUCERS``, and those that only panels have. All get at least one number.
_CALCULATIONS: Final[Mapping[str, Callable[[NDArray[np.float64]], Any]]] = {
    **{name: _by_reducer(reducer) for reducer in REDUCERS.values() for name in reducer.calculations},
    "first": lambda numbers: numbers[0],
    "firstNotNull": lambda numbers: numbers[0],
    "range": np.ptp,
    "delta": lambda numbers: numbers[-1] - numbers[0],
    "diff": lambda numbers: numbers[-1] - numbers[0],
    "stdDev": np.std,
    "variance": np.var,
}


def _columns(frame: Frame) -> Iterator[tuple[Field, NDArray[np.float64] | None, NDArray[np.float64]]]:
    """Yield the columns of numbers; rows that differ in their texts become a series each."""
    clock = next((item for item in frame.fields if item.type is FieldType.TIME), None)
    times = None if clock is None else clock.values.astype(np.float64) / 1e6
    texts = [item for item in frame.fields if item.type is FieldType.STRING] if times is not None else []
    groups = _groups(texts) if texts else [("", slice(None))]
    for field in frame.fields:
        if field.type in _NUMBERS:
            values = numbers_of(field)
            for named, rows in groups:
                shown = Field(named or field.name, field.type, field.values, labels=field.labels, config=field.config)
                yield shown, None if times is None else times[rows], values[rows]


def _groups(texts: Sequence[Field]) -> list[tuple[str, Any]]:
    rows: dict[str, list[int]] = {}
    for number, values in enumerate(zip(*(item.values for item in texts), strict=True)):
        rows.setdefault(" ".join("" if value is None else str(value) for value in values), []).append(number)
    return list(rows.items())[:MOST_SERIES]


def numbers_of(field: Field) -> NDArray[np.float64]:
    """Return the column as floats; nulls and infinities are NaN."""
    values = field.values.astype(np.float64)
    if field.nulls is not None:
        values = np.where(field.nulls, np.nan, values)
    return np.where(np.isinf(values), np.nan, values)


def _labels_in(frames: Sequence[Frame]) -> frozenset[str]:
    """Return the keys of labels in which the columns differ."""
    seen: dict[str, set[str | None]] = {}
    columns = [dict(field.labels.pairs) if field.labels else {} for frame in frames for field in frame.fields if field.type in _NUMBERS]
    for key in {key for labels in columns for key in labels}:
        seen[key] = {labels.get(key) for labels in columns}
    return frozenset(key for key, values in seen.items() if len(values) > 1)


def _name(frame: Frame, field: Field, differing: frozenset[str]) -> str:
    config = field.config or {}
    for named in ("displayName", "displayNameFromDS"):
        if isinstance(given := config.get(named), str) and given:
            return given
    pairs = field.labels.pairs if field.labels else ()
    own = "" if field.name in _PLAIN_NAMES else field.name
    if len(pairs) and differing and (shown := [(key, value) for key, value in pairs if key in differing]):
        return shown[0][1] if len(shown) == 1 else "{" + ", ".join(f'{key}="{value}"' for key, value in shown) + "}"
    return own or frame.name or ", ".join(f'{key}="{value}"' for key, value in pairs) or field.name or frame.ref_id


def _apart(names: Sequence[str]) -> list[str]:
    """Return the names; repeated ones get a number."""
    counts: dict[str, int] = {}
    numbered = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return numbered
