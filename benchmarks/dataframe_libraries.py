"""P: the engine compared with pandas and polars doing the same work on the same points, each with one thread, as a query has."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import series
from benchmarks.measurement import Row, compared
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.values import Series

_LIMITS = Limits(math_bytes=0)
_ADD = Math.parse("$A + $B")
_SUM = Reduce.of("A", "sum")
_ABOVE = Threshold("A", predicate_of("gt", (10.0,)))


async def rows() -> list[Row]:
    """Return the rows of P."""
    found = []
    for count, length in ((1000, 1000), (1, 1_000_000)):
        instants = series.times(length)
        sets = [
            series.block(count, instants, 1),
            series.block(count, instants, 2),
            series.block(count, instants + length // 2 * series.STEP, 2),
        ]
        ours, pandas, polars = _ours(*sets), _pandas(*sets), _polars(*sets)
        for work, function in ours.items():
            path = f"{work}, {count:,} x {length:,}"
            found.append(await compared("P1", f"{path}, to pandas", 1.0, function, pandas[work]))
            found.append(await compared("P2", f"{path}, to polars", 1.0, function, polars[work]))
    return found


Work = dict[str, Callable[[], object]]


def _ours(left: Series, right: Series, late: Series) -> Work:
    return {
        "add": partial(_ADD.evaluate, {"A": left, "B": right}, _LIMITS),
        "add two sets that share half of their timestamps": partial(_ADD.evaluate, {"A": left, "B": late}, _LIMITS),
        "sum": partial(_SUM.evaluate, {"A": left}, _LIMITS),
        "threshold: is above 10": partial(_ABOVE.evaluate, {"A": left}, _LIMITS),
    }


def _pandas(*sets: Series) -> Work:
    import pandas

    left, right, late = (
        pandas.DataFrame(block.cells.values.T.copy(), pandas.to_datetime(block.axis.times), map(str, item.labels))
        for item in sets
        for block in item.blocks
    )
    return {
        "add": lambda: left + right,
        "add two sets that share half of their timestamps": lambda: (
            left.loc[left.index.intersection(late.index)] + late.loc[late.index.intersection(left.index)]
        ),
        "sum": lambda: left.sum(),
        "threshold: is above 10": lambda: (left > 10).astype("float64"),
    }


def _polars(*sets: Series) -> Work:
    # Read when polars is imported.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    import polars

    def frame(item: Series) -> Any:
        [block] = item.blocks
        named = zip(map(str, item.labels), block.cells.values, strict=True)
        return polars.DataFrame({"time": block.axis.times, **dict(named)}).with_columns(polars.col("time").set_sorted())

    left, right, late = map(frame, sets)
    values = polars.all().exclude("time")
    columns = left.columns[1:]
    sums = [polars.col(name) + polars.col(f"{name}_right") for name in columns]
    beside = polars.concat([left, right.drop("time").rename(lambda name: f"{name}_right")], how="horizontal")
    return {
        "add": lambda: beside.select("time", *sums),
        "add two sets that share half of their timestamps": lambda: left.join(late, on="time").select("time", *sums),
        "sum": lambda: left.select(values.sum()),
        "threshold: is above 10": lambda: left.select("time", (values > 10).cast(polars.Float64)),
    }
