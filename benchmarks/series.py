"""Generated series for benchmarks of the engine, as a block on one time axis or as a frame per series."""

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.engine.labels import NO_LABELS, Labels
from dashwright.expressions.engine.values import Block, Cells, Series

#: The first timestamp and the distance of two points, in nanoseconds.
START = 1_700_000_000_000_000_000
STEP = 10_000_000_000


def times(points: int, *, step: int = STEP, start: int = START) -> NDArray[np.int64]:
    """Return evenly spaced timestamps in nanoseconds."""
    return start + step * np.arange(points, dtype=np.int64)


def labels(count: int) -> tuple[Labels, ...]:
    """Return the labels of ``count`` series."""
    return tuple(Labels.of({"host": f"h{index}", "dc": f"d{index % 7}", "job": "node"}) for index in range(count))


def block(count: int, timestamps: NDArray[np.int64], seed: int, *, null_share: float = 0.0) -> Series:
    """Return ``count`` series of normally distributed values on one time axis; a share of their points is null."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(count, len(timestamps))) * 100
    nulls = random.random(values.shape) < null_share if null_share else None
    return Series.stacked(labels(count), [Block(Axis(timestamps), Cells.with_nulls(values, nulls))])


def frames(count: int, points: int, seed: int) -> list[Frame]:
    """Return series as data sources do: a frame per series, each with its own arrays. A single series has no labels."""
    random = np.random.default_rng(seed)
    timestamps = times(points)
    return [
        Frame(
            [
                Field("Time", FieldType.TIME, timestamps.copy()),
                Field("Value", FieldType.FLOAT64, random.normal(size=points) * 100, labels=series_labels),
            ]
        )
        for series_labels in (labels(count) if count > 1 else (NO_LABELS,))
    ]
