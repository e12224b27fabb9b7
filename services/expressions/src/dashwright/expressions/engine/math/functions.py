"""The functions of ``math``, one table entry each; the parser, the evaluation and the documentation read the table.

A null counts as NaN for every function but ``is_null`` and ``is_number``, because existing rules rely on that.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Cells, Floats, Mask, NoData, Scalar, Values

NUMERIC = ("scalar", "numberSet", "seriesSet", "noData")


@dataclass(frozen=True, slots=True)
class MathFunction:
    """A function of math expressions."""

    arity: int
    accepts: tuple[str, ...]  #: The types of values that its arguments may have.
    apply: Callable[..., Values]  #: Takes ``arity`` values.
    doc: str  #: One line for the reference page.


def _each(function: Callable[[Cells], Floats | Mask], doc: str) -> MathFunction:
    """Return a function of one argument, cell by cell, that never returns null."""

    def apply_cells(cells: Cells) -> Cells:
        with np.errstate(all="ignore"):
            return Cells(np.asarray(function(cells), np.float64))

    return MathFunction(1, NUMERIC, lambda values: values if isinstance(values, NoData) else values.map(apply_cells), doc)


def _constant(value: float | None, doc: str) -> MathFunction:
    return MathFunction(0, (), lambda: Scalar.of(value), doc)


def _round(cells: Cells) -> Floats:
    # numpy rounds halves to even. Adding 0.5 before truncating would round 0.49999999999999994 up to 1.
    whole = np.trunc(cells.values)
    away: Floats = whole + np.copysign(np.abs(cells.values - whole) >= 0.5, cells.values)
    return away


def _unless_null(cells: Cells, truth: Mask) -> Floats:
    return np.where(cells.is_null(), np.nan, truth.astype(np.float64))


FUNCTIONS = {
    "abs": _each(lambda cells: np.abs(cells.values), "absolute value"),
    "is_inf": _each(lambda cells: _unless_null(cells, np.isinf(cells.values)), "1 for positive or negative infinity, else 0"),
    "is_nan": _each(lambda cells: _unless_null(cells, np.isnan(cells.values)), "1 for NaN, else 0"),
    "is_null": _each(lambda cells: cells.is_null(), "1 for null, else 0"),
    "is_number": _each(lambda cells: np.isfinite(cells.values), "0 for null, NaN and infinities, else 1"),
    "log": _each(lambda cells: np.log(cells.values), "natural logarithm; of 0 it is -Inf, of less NaN"),
    "round": _each(_round, "nearest whole number, halves away from zero"),
    "ceil": _each(lambda cells: np.ceil(cells.values), "least whole number not below"),
    "floor": _each(lambda cells: np.floor(cells.values), "greatest whole number not above"),
    "nan": _constant(np.nan, "NaN"),
    "inf": _constant(np.inf, "positive infinity"),
    "infn": _constant(-np.inf, "negative infinity"),
    "null": _constant(None, "null"),
}
