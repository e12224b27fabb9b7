"""The settings and the macros of DuckDB that rewritten statements require."""

from dashwright.expressions.sql import casts, coercion, dialect, json_table
from dashwright.expressions.sql.comparison import comparison_macros
from dashwright.expressions.sql.functions import FUNCTIONS

#: Words that DuckDB resolves to functions if no column has the name. Macros of these names raise the error of a missing column.
_RESERVED_WORDS = ("user", "current_user", "session_user", "current_role", "current_catalog", "current_schema")

#: Statements to run once and in this order, before the settings of the connection are locked.
MACROS: tuple[str, ...] = (
    # Division by zero is NULL, neither an error nor infinity.
    "set global error_on_division_by_zero = false",
    "set global ieee_floating_point_ops = false",
    *coercion.macros(),
    *comparison_macros(),
    *casts.MACROS,
    *json_table.MACROS,
    *(f"create macro {name}() as error('Referenced column \"{name}\" not found')" for name in _RESERVED_WORDS),
    *dialect.MACROS,
    *(macro for function in FUNCTIONS.values() for macro in function.macros),
)
