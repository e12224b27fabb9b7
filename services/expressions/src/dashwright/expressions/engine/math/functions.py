"""The functions of ``math``: a table that the parser, the evaluation and the documentation read.

The result for a null is NaN, except for ``is_null`` (1) and ``is_number`` (0), because existing alert rules rely on it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Cells, Floats, Mask, NoData, Scalar, Values


@dataclass(frozen=True, slots=True)
class MathFunction:
    """A function of math expressions."""

    arity: int  #: The number of arguments.
    apply: Callable[..., Values]  #: Returns the result for ``arity`` values.
    doc: str  #: One line for the reference page.


def _elementwise(function: Callable[[Cells], Floats | Mask], doc: str) -> MathFunction:
    """Return a math function of one argument that applies ``function`` to each cell and never returns null."""

    def apply_cells(cells: Cells) -> Cells:
        with np.errstate(all="ignore"):
            return Cells(np.asarray(function(cells), np.float64))

    return MathFunction(1, lambda values: values if isinstance(values, NoData) else values.map(apply_cells), doc)


def _constant(value: float | None, doc: str) -> MathFunction:
    """Return a math function without arguments that returns a number, or null for None."""
    return MathFunction(0, lambda: Scalar.of(value), doc)


def _round(cells: Cells) -> Floats:
    # numpy rounds halves to even. Adding 0.5 before truncating would round 0.49999999999999994 up to 1.
    truncated = np.trunc(cells.values)
    rounded: Floats = truncated + np.copysign(np.abs(cells.values - truncated) >= 0.5, cells.values)
    return rounded


def _nan_where_null(cells: Cells, mask: Mask) -> Floats:
    """Return 1 where the mask is True, else 0, but NaN where the cells are null."""
    return np.where(cells.null_mask(), np.nan, mask.astype(np.float64))


FUNCTIONS = {
    "abs": _elementwise(lambda cells: np.abs(cells.values), "absolute value"),
    "is_inf": _elementwise(lambda cells: _nan_where_null(cells, np.isinf(cells.values)), "1 for positive or negative infinity, else 0"),
    "is_nan": _elementwise(lambda cells: _nan_where_null(cells, np.isnan(cells.values)), "1 for NaN, else 0"),
    "is_null": _elementwise(lambda cells: cells.null_mask(), "1 for null, else 0"),
    "is_number": _elementwise(lambda cells: np.isfinite(cells.values), "0 for null, NaN and infinities, else 1"),
    "log": _elementwise(lambda cells: np.log(cells.values), "natural logarithm; -Inf for 0, NaN for negative numbers"),
    "round": _elementwise(_round, "nearest whole number, halves away from zero"),
    "ceil": _elementwise(lambda cells: np.ceil(cells.values), "smallest whole number that is not below `x`"),
    "floor": _elementwise(lambda cells: np.floor(cells.values), "largest whole number that is not above `x`"),
    "nan": _constant(np.nan, "NaN"),
    "inf": _constant(np.inf, "positive infinity"),
    "infn": _constant(-np.inf, "negative infinity"),
    "null": _constant(None, "null"),
}
