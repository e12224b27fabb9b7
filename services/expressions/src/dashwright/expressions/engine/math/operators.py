"""The operators of ``math`` on whole arrays of cells.

The order of the tests is Grafana's: a null on either side gives null; then ``||`` and ``&&`` may be decided by their
left side alone; then NaN gives NaN, even where C's ``pow`` or a comparison would not; then the operator applies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Cells, Floats, Mask

Kernel = Callable[[Floats, Floats, Floats], object]


@dataclass(frozen=True, slots=True)
class BinaryOperator:
    """A binary operator."""

    precedence: int  #: A higher one binds tighter.
    kernel: Kernel  #: Writes the outcome of two broadcastable arrays to its third argument.
    doc: str  #: One line for the reference page.
    keeps_nan: bool = True  #: NaN on either side always gives NaN, so the slots of nulls need no extra step.


def _nan_where_either(left: Floats, right: Floats, out: Floats) -> None:
    for side in (left, right):
        nan = np.isnan(side)
        if nan.any():
            np.copyto(out, np.nan, where=nan)


def _spoiled_by_nan(ufunc: np.ufunc) -> Kernel:
    def kernel(left: Floats, right: Floats, out: Floats) -> None:
        ufunc(left, right, out=out)
        _nan_where_either(left, right, out)

    return kernel


def _or(left: Floats, right: Floats, out: Floats) -> None:
    np.logical_or(left, right, out=out)
    np.copyto(out, np.nan, where=(left == 0) & np.isnan(right))


def _and(left: Floats, right: Floats, out: Floats) -> None:
    np.logical_and(left, right, out=out)
    np.copyto(out, np.nan, where=np.isnan(left) | ((left != 0) & np.isnan(right)))


def _not(operand: Floats, out: Floats) -> None:
    np.equal(operand, 0, out=out)
    np.copyto(out, np.nan, where=np.isnan(operand))


BINARY = {
    "||": BinaryOperator(0, _or, "1 when either side is not 0", keeps_nan=False),
    "&&": BinaryOperator(1, _and, "1 when both sides are not 0", keeps_nan=False),
    "==": BinaryOperator(2, _spoiled_by_nan(np.equal), "1 when equal"),
    "!=": BinaryOperator(2, _spoiled_by_nan(np.not_equal), "1 when not equal"),
    ">": BinaryOperator(2, _spoiled_by_nan(np.greater), "1 when greater"),
    ">=": BinaryOperator(2, _spoiled_by_nan(np.greater_equal), "1 when greater or equal"),
    "<": BinaryOperator(2, _spoiled_by_nan(np.less), "1 when less"),
    "<=": BinaryOperator(2, _spoiled_by_nan(np.less_equal), "1 when less or equal"),
    "+": BinaryOperator(3, np.add, "sum"),
    "-": BinaryOperator(3, np.subtract, "difference"),
    "*": BinaryOperator(4, np.multiply, "product"),
    "/": BinaryOperator(4, np.divide, "quotient; by 0 it is infinite, 0/0 is NaN"),
    "%": BinaryOperator(4, np.fmod, "remainder with the sign of the left side; by 0 it is NaN"),
    "**": BinaryOperator(5, _spoiled_by_nan(np.power), "power"),
}

UNARY: dict[str, Callable[[Floats, Floats], object]] = {"!": _not, "-": np.negative}


def apply_binary(symbol: str, left: Cells, right: Cells) -> Cells:
    """Return the cells of ``left symbol right``, of the shape both broadcast to."""
    shape = np.broadcast_shapes(left.values.shape, right.values.shape)
    out = np.empty(shape)
    operator = BINARY[symbol]
    with np.errstate(all="ignore"):
        operator.kernel(left.values, right.values, out)
    nulls = _either_null(left, right, shape)
    return Cells(out, nulls) if operator.keeps_nan else Cells.of(out, nulls)


def apply_unary(symbol: str, operand: Cells) -> Cells:
    """Return the cells of ``symbol operand``."""
    out = np.empty(operand.values.shape)
    UNARY[symbol](operand.values, out)
    return Cells(out, operand.nulls)


def _either_null(left: Cells, right: Cells, shape: tuple[int, ...]) -> Mask | None:
    if left.nulls is None or right.nulls is None:
        one = left.nulls if right.nulls is None else right.nulls
        return None if one is None else np.broadcast_to(one, shape)
    both: Mask = np.logical_or(left.nulls, right.nulls)
    return np.broadcast_to(both, shape)
