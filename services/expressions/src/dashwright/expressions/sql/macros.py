"""Macros and settings that DuckDB needs before it can run a statement of this language."""

from dashwright.expressions.sql import casts, coercion, dialect, json_table
from dashwright.expressions.sql.comparison import comparison_macros
from dashwright.expressions.sql.functions import FUNCTIONS

#: Words that DuckDB resolves itself if no column has this name.
_WORDS = ("user", "current_user", "session_user", "current_role", "current_catalog", "current_schema")

#: Statements to run once, in this order, on a connection whose settings are not locked yet.
MACROS: tuple[str, ...] = (
    # Division by zero is NULL, neither an error nor infinity.
    "set global error_on_division_by_zero = false",
    "set global ieee_floating_point_ops = false",
    *coercion.macros(),
    *comparison_macros(),
    *casts.MACROS,
    *json_table.MACROS,
    *(f"create macro {name}() as error('Referenced column \"{name}\" not found')" for name in _WORDS),
    *dialect.MACROS,
    *(macro for function in FUNCTIONS.values() for macro in function.macros),
)
