"""The operators of ``math`` on whole arrays of cells.

The rules are Grafana's, in this order: a null on either side gives null; a left side that is not 0 makes ``||`` 1, and a
left side that is 0 makes ``&&`` 0; NaN on either side gives NaN, even in a power or comparison; else the operator applies.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashwright.expressions.engine.values import Cells, Floats, Mask

#: Broadcasts the first two arrays, and writes the result of the operator to the third array.
Kernel = Callable[[Floats, Floats, Floats], object]


@dataclass(frozen=True, slots=True)
class BinaryOperator:
    """A binary operator."""

    precedence: int  #: An operator of higher precedence binds tighter.
    kernel: Kernel
    doc: str  #: One line for the reference page.
    keeps_nan: bool = True  #: Whether NaN on either side always gives NaN. If so, the values at nulls are already NaN.


def _copy_nan(left: Floats, right: Floats, out: Floats) -> None:
    """Write NaN to ``out`` where either side is NaN."""
    for operand in (left, right):
        is_nan = np.isnan(operand)
        if is_nan.any():
            np.copyto(out, np.nan, where=is_nan)


def _propagating_nan(ufunc: np.ufunc) -> Kernel:
    """Return a kernel with the result of ``ufunc``, but NaN if either side is NaN."""

    def kernel(left: Floats, right: Floats, out: Floats) -> None:
        ufunc(left, right, out=out)
        _copy_nan(left, right, out)

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
    "||": BinaryOperator(0, _or, "1 if a side is not 0, else 0", keeps_nan=False),
    "&&": BinaryOperator(1, _and, "1 if both sides are not 0, else 0", keeps_nan=False),
    "==": BinaryOperator(2, _propagating_nan(np.equal), "1 if the sides are equal, else 0"),
    "!=": BinaryOperator(2, _propagating_nan(np.not_equal), "1 if the sides are not equal, else 0"),
    ">": BinaryOperator(2, _propagating_nan(np.greater), "1 if the left side is greater, else 0"),
    ">=": BinaryOperator(2, _propagating_nan(np.greater_equal), "1 if the left side is greater or equal, else 0"),
    "<": BinaryOperator(2, _propagating_nan(np.less), "1 if the left side is less, else 0"),
    "<=": BinaryOperator(2, _propagating_nan(np.less_equal), "1 if the left side is less or equal, else 0"),
    "+": BinaryOperator(3, np.add, "sum"),
    "-": BinaryOperator(3, np.subtract, "difference"),
    "*": BinaryOperator(4, np.multiply, "product"),
    "/": BinaryOperator(4, np.divide, "quotient; x/0 is infinite, 0/0 is NaN"),
    "%": BinaryOperator(4, np.fmod, "remainder with the sign of the left side; the remainder by 0 is NaN"),
    "**": BinaryOperator(5, _propagating_nan(np.power), "power"),
}

UNARY: dict[str, Callable[[Floats, Floats], object]] = {"!": _not, "-": np.negative}


def apply_binary(symbol: str, left: Cells, right: Cells) -> Cells:
    """Return the cells of ``left symbol right``, of the shape to which both broadcast."""
    shape = np.broadcast_shapes(left.values.shape, right.values.shape)
    out = np.empty(shape)
    operator = BINARY[symbol]
    with np.errstate(all="ignore"):
        operator.kernel(left.values, right.values, out)
    nulls = _either_null(left, right, shape)
    return Cells(out, nulls) if operator.keeps_nan else Cells.with_nulls(out, nulls)


def apply_unary(symbol: str, operand: Cells) -> Cells:
    """Return the cells of ``symbol operand``."""
    out = np.empty(operand.values.shape)
    UNARY[symbol](operand.values, out)
    return Cells(out, operand.nulls)


def _either_null(left: Cells, right: Cells, shape: tuple[int, ...]) -> Mask | None:
    """Return a mask of the cells that are null on either side, broadcast to ``shape``; None without nulls."""
    if left.nulls is None or right.nulls is None:
        nulls = left.nulls if right.nulls is None else right.nulls
        return None if nulls is None else np.broadcast_to(nulls, shape)
    union: Mask = np.logical_or(left.nulls, right.nulls)
    return np.broadcast_to(union, shape)
