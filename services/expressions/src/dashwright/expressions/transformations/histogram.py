"""Histograms: how many values are in buckets of equal size."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from dashwright.expressions.javascript.comparisons import difference, rounded
from dashwright.expressions.javascript.sorting import sorted_by
from dashwright.expressions.javascript.values import is_missing, is_nan, is_true, key_of, leading_number, number_of, text_of
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import CellType, Column, DataFrame, Frames, KnownName

#: The number of buckets that an automatic size approximates.
_BUCKET_COUNT: Final = 30
#: Automatic sizes, from Grafana's list: 1, 2, 2.5, 4 and 5 times a power of ten, except 2.5 itself.
_SIZES: Final = tuple(
    float(f"{digits}e{exponent}") for exponent in range(-9, 10) for digits in ("1", "2", "2.5", "4", "5") if digits != "2.5" or exponent
)
_DECIMALS: Final = re.compile(r"\.(\d+)$")
_EPSILON: Final = 2.0**-52


def histogram(frames: Frames, options: Mapping[str, Any], context: Context) -> Frames:
    """Return one frame with the lower and upper bounds of the buckets, and the counts of each numeric column.

    With ``combine`` there is one column with all counts. Without numeric columns there is no frame.
    """
    columns = [_without_nulls(column) for frame in frames for column in frame.columns if column.type is CellType.NUMBER]
    if not columns:
        return []
    context.check_cells(sum(len(column.values) for column in columns))
    size, offset = _setting(options.get("bucketSize")), _setting(options.get("bucketOffset")) or 0
    if not size or size < 0:
        size = _automatic_size([value for column in columns for value in column.values])
    counts_by_column = [_counts(column.values, size, offset) for column in columns]
    distinct = {key: bucket for bucket_counts in counts_by_column for key, (bucket, _) in bucket_counts.items()}
    buckets = sorted_by(distinct.values(), difference)
    context.check_cells(len(buckets), len(columns) + 2)
    counts = [[bucket_counts.get(key_of(bucket), (bucket, 0))[1] for bucket in buckets] for bucket_counts in counts_by_column]
    config = _bucket_config(columns, size)
    bounds = [
        Column("xMin", CellType.NUMBER, buckets, config=config),
        Column("xMax", CellType.NUMBER, [bucket + size for bucket in buckets], config=config),
    ]
    count_columns = [_count_column(column, values) for column, values in zip(columns, counts, strict=True)]
    if is_true(options.get("combine")):
        totals = [sum(row) for row in zip(*counts, strict=True)]
        count_columns = [replace(count_columns[0], name="count", source=totals, known_name=KnownName("Count"))]
    return [DataFrame([*bounds, *count_columns], len(buckets), ref_id="histogram", meta={"type": "histogram"})]


def _setting(value: Any) -> float | None:
    """Return the number with which an option begins; None without one."""
    number = leading_number(value) if is_true(value) else math.nan
    return None if math.isnan(number) else number


def _without_nulls(column: Column) -> Column:
    """Return the numbers of a column, with nulls replaced by its ``noValue``, or left out."""
    no_value = number_of(column.config.get("noValue", math.nan))
    replacement = [] if math.isnan(no_value) else [no_value]
    return column.with_values([number for value in column.values for number in (replacement if is_missing(value) else [number_of(value)])])


def _automatic_size(values: Sequence[Any]) -> float:
    """Return the size for about ``_BUCKET_COUNT`` buckets, not below the smallest difference of values; NaN if no size fits."""
    ordered = sorted_by(values, difference)
    min_size = _smallest_difference(ordered)
    target = (ordered[-1] - ordered[0]) / _BUCKET_COUNT if ordered else math.nan
    return next((size for size in _SIZES if target < size and size >= min_size), math.nan)


def _smallest_difference(ordered: Sequence[Any]) -> float:
    """Return the smallest difference of unequal consecutive values; 1 for a single value, NaN if a difference is NaN."""
    if len(ordered) == 1:
        return 1
    differences = [step for before, after in pairwise(ordered) if (step := after - before)]
    return math.nan if any(map(is_nan, differences)) else min(differences, default=math.inf)


def _counts(values: Sequence[Any], size: float, offset: float) -> dict[Any, tuple[float, int]]:
    """Return the lower bound and the count of each bucket that has values."""
    counts: dict[Any, tuple[float, int]] = {}
    for value in values:
        bucket = _rounded(_floor((value - offset) / size) * size + offset)
        key = key_of(bucket)
        _, count = counts.get(key, (bucket, 0))
        counts[key] = bucket, count + 1
    return counts


def _floor(number: float) -> float:
    return math.floor(number) if math.isfinite(number) else number


def _rounded(number: float) -> float:
    """Return the number with nine decimals at most, as in Grafana."""
    if not math.isfinite(number) or float(number).is_integer():
        return number
    # Without the factor, a half that is slightly too small as a binary number would be rounded down.
    return rounded(number * 1e9 * (1 + _EPSILON)) / 1e9


def _bucket_config(columns: Sequence[Column], size: float) -> Mapping[str, Any]:
    """Return the configuration of the bounds, from the first column with a unit, with the decimals of the size."""
    config = next((column.config for column in columns if column.config.get("unit")), {})
    match = _DECIMALS.search(text_of(size))
    return {**config, "decimals": len(match[1])} if match else config


def _count_column(column: Column, values: Sequence[int]) -> Column:
    """Return the counts of a column."""
    # Counts do not have the unit of the values; ``short`` only abbreviates numbers.
    unit = "short" if column.config.get("unit") == "short" else None
    return column.with_config(unit=unit).with_values(values)
