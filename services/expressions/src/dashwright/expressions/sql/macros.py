"""What DuckDB must be taught before it can run a statement of this language."""

from dashwright.expressions.sql import coercion
from dashwright.expressions.sql.comparison import comparison_macros
from dashwright.expressions.sql import casts, dialect
from dashwright.expressions.sql.functions import FUNCTIONS

MACROS: tuple[str, ...] = (
    # Division by zero is NULL, not infinity.
    "set ieee_floating_point_ops = false",
    *coercion.macros(),
    *comparison_macros(),
    *casts.MACROS,
    *dialect.MACROS,
    *(macro for function in FUNCTIONS.values() for macro in function.macros),
)
"""Statements to run once, in this order, on a connection whose settings are not locked yet."""
