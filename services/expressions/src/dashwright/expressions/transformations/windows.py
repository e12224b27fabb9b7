"""Calculations on moving windows of values."""

from collections.abc import Callable, Iterator, Mapping
from math import ceil, sqrt
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.calculations.numbers import variance_of
from dashwright.expressions.javascript.values import is_missing
from dashwright.expressions.transformations.context import Context
from dashwright.expressions.transformations.data import Cells

#: Calculations of the values of one window, other than the mean.
_CALCULATIONS: Final[Mapping[str, Callable[[Cells], float]]] = {
    "variance": variance_of,
    "stdDev": lambda values: sqrt(variance_of(values)),
}


def moving_values(values: Cells, calculation: str, size: int, context: Context, *, is_centered: bool) -> list[float]:
    """Return the result of a calculation for the window of each row: the rows up to it, or around it if it is centered.

    Raises BadRequest for a calculation that windows do not have.
    """
    if calculation == "mean":
        return list(_centered_means(values, size) if is_centered else _trailing_means(values, size))
    calculate = _CALCULATIONS.get(calculation)
    if calculate is None:
        raise BadRequest(f"windows have no calculation {calculation[:40]!r}; use mean, variance or stdDev")
    results = []
    for row in range(len(values)):
        start, end = (row - size // 2, row + ceil(size / 2)) if is_centered else (row - size + 1, row + 1)
        window = values[max(0, start) : max(0, end)]
        context.step(len(window))
        results.append(calculate(window))
    return results


def _trailing_means(values: Cells, size: int) -> Iterator[float]:
    """Yield the mean of the rows up to each row. At a null the window is unchanged, as in Grafana."""
    total, count = 0.0, 0
    for row, value in enumerate(values):
        if not is_missing(value):
            total, count = total + value, count + 1
            if row >= size and not is_missing(oldest := values[row - size]):
                total, count = total - oldest, count - 1
        yield total / count if count else 0


def _centered_means(values: Cells, size: int) -> Iterator[float]:
    """Yield the mean of the rows around each row."""
    after, before = ceil(size / 2) - 1, size // 2
    total, count = 0.0, 0
    for value in values[: after + 1]:
        if not is_missing(value):
            total, count = total + value, count + 1
    for row in range(len(values)):
        if row > 0:
            if row + after < len(values) and not is_missing(newest := values[row + after]):
                total, count = total + newest, count + 1
            if row - before > 0 and not is_missing(oldest := values[row - before - 1]):
                total, count = total - oldest, count - 1
        yield total / count if count else 0
