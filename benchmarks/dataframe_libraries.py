"""P: the engine compared with pandas and polars on the same points. Each has one thread, as an evaluation has."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks import series
from benchmarks.measurement import Row, compare_functions
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.threshold import Threshold, predicate_of
from dashwright.expressions.engine.values import Series

#: No limit on the memory of math, because the other libraries have none.
_LIMITS = Limits(math_bytes=0)
_ADD = Math.parse("$A + $B")
_SUM = Reduce.of("A", "sum")
_ABOVE = Threshold("A", predicate_of("gt", (10.0,)))


Operations = dict[str, Callable[[], object]]
"""Functions by the name of the operation that they run, the same names for each library."""


async def rows() -> list[Row]:
    """Return the rows of P: P1 compares with pandas, P2 with polars."""
    rows = []
    for count, length in ((1000, 1000), (1, 1_000_000)):
        timestamps = series.times(length)
        sets = [
            series.block(count, timestamps, 1),
            series.block(count, timestamps, 2),
            # The first half of the timestamps of this set is the second half of those of the other two sets.
            series.block(count, timestamps + length // 2 * series.STEP, 2),
        ]
        product, pandas, polars = _product_operations(*sets), _pandas_operations(*sets), _polars_operations(*sets)
        for operation, function in product.items():
            path = f"{operation}, {count:,} x {length:,}"
            rows.append(await compare_functions("P1", f"{path}, to pandas", 1.0, function, pandas[operation]))
            rows.append(await compare_functions("P2", f"{path}, to polars", 1.0, function, polars[operation]))
    return rows


def _product_operations(left: Series, right: Series, shifted: Series) -> Operations:
    return {
        "add": partial(_ADD.evaluate, {"A": left, "B": right}, _LIMITS),
        "add two sets that share half of their timestamps": partial(_ADD.evaluate, {"A": left, "B": shifted}, _LIMITS),
        "sum": partial(_SUM.evaluate, {"A": left}, _LIMITS),
        "threshold: is above 10": partial(_ABOVE.evaluate, {"A": left}, _LIMITS),
    }


def _pandas_operations(*sets: Series) -> Operations:
    import pandas

    left, right, shifted = (
        pandas.DataFrame(block.cells.values.T.copy(), pandas.to_datetime(block.axis.times), map(str, item.labels))
        for item in sets
        for block in item.blocks
    )
    return {
        "add": lambda: left + right,
        "add two sets that share half of their timestamps": lambda: (
            left.loc[left.index.intersection(shifted.index)] + shifted.loc[shifted.index.intersection(left.index)]
        ),
        "sum": lambda: left.sum(),
        "threshold: is above 10": lambda: (left > 10).astype("float64"),
    }


def _polars_operations(*sets: Series) -> Operations:
    # polars reads the variable when it is imported.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    import polars

    def frame(item: Series) -> Any:
        [block] = item.blocks
        named_columns = zip(map(str, item.labels), block.cells.values, strict=True)
        return polars.DataFrame({"time": block.axis.times, **dict(named_columns)}).with_columns(polars.col("time").set_sorted())

    left, right, shifted = map(frame, sets)
    # The expressions and the joined table are prepared before the measurement, so that only operations are measured.
    values = polars.all().exclude("time")
    columns = left.columns[1:]
    sums = [polars.col(name) + polars.col(f"{name}_right") for name in columns]
    joined = polars.concat([left, right.drop("time").rename(lambda name: f"{name}_right")], how="horizontal")
    return {
        "add": lambda: joined.select("time", *sums),
        "add two sets that share half of their timestamps": lambda: left.join(shifted, on="time").select("time", *sums),
        "sum": lambda: left.select(values.sum()),
        "threshold: is above 10": lambda: left.select("time", (values > 10).cast(polars.Float64)),
    }
