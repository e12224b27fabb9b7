"""Comparisons as in MySQL: strings are compared with numbers as numbers, and with times as times. Unlike in MySQL, case matters."""

from collections.abc import Mapping

from sqlglot import exp

from dashwright.expressions.sql.bounds import copies
from dashwright.expressions.sql.coercion import IS_NUMBER, IS_STRING, coerce
from dashwright.expressions.sql.duckdb_sql import call, macro
from dashwright.expressions.sql.functions.documents import unquote_json
from dashwright.expressions.sql.sql_type import NUMERIC_TYPES, TEMPORAL_TYPES, SqlType, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement

#: The macro and the SQL operator of each comparison.
_MACROS: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("eq", "="),
    exp.NEQ: ("ne", "<>"),
    exp.LT: ("lt", "<"),
    exp.LTE: ("le", "<="),
    exp.GT: ("gt", ">"),
    exp.GTE: ("ge", ">="),
    exp.NullSafeEQ: ("same", "is not distinct from"),
}
#: The comparison that has the same result if the sides are swapped. Sides of other comparisons, such as ``=``, may be swapped.
_MIRRORED: Mapping[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
COMPARISONS = tuple(_MACROS)

#: The largest integer up to which doubles represent all integers exactly.
_MAX_EXACT_INTEGER = 1 << 53


def comparison_macros() -> list[str]:
    """Return the macros that compare a column of any type with a string, such as ``eq(x, string)``.

    Variants such as ``eq_once`` are for operands that are not columns: they evaluate each operand once.
    """
    macros = []
    for name, operator in _MACROS.values():
        body = (
            f"case when {IS_STRING} then cast(x as varchar) {operator} string"
            f" when {IS_NUMBER} then try_cast(x as double) {operator} mysql_string_to_number(string)"
            f" else try_cast(x as timestamp) {operator} mysql_string_to_timestamp(string) end"
        )
        macros.append(macro(f"{name}(x, string)", body))
        macros.append(macro(f"{name}_once(x, string)", f"mysql_{name}($x, $string)", x="x", string="string"))
    return macros


def comparison(operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return the comparison of ``left`` and ``right`` by one of ``COMPARISONS``."""
    is_left_json, is_right_json = type_of(left) is SqlType.JSON, type_of(right) is SqlType.JSON
    if is_left_json and not is_right_json:
        left = unquote_json(left)
    elif is_right_json and not is_left_json:
        right = unquote_json(right)
    if isinstance(right, (exp.Any, exp.All)):
        return with_type(operator(this=parenthesized(left), expression=right), SqlType.BOOLEAN)
    types = {type_of(left), type_of(right)}
    # The type of a column is unknown until the statement runs, so a macro chooses the comparison then. A collation is only for strings.
    if types == {SqlType.STRING, SqlType.UNKNOWN} and not isinstance(left, exp.Collate) and not isinstance(right, exp.Collate):
        if type_of(left) is SqlType.STRING:
            operator, left, right = _MIRRORED.get(operator, operator), right, left
        name = _MACROS[operator][0]
        return call("mysql_" + name if isinstance(left, exp.Column) else f"mysql_{name}_once", left, right, result_type=SqlType.BOOLEAN)
    shared_type = _shared_type(types, left, right)
    if shared_type is not None:
        left, right = coerce(left, shared_type), coerce(right, shared_type)
    return with_type(operator(this=parenthesized(left), expression=parenthesized(right)), SqlType.BOOLEAN)


def _shared_type(types: set[SqlType], left: exp.Expr, right: exp.Expr) -> SqlType | None:
    """Return the type to which both sides are converted, or None to compare them without a conversion."""
    known_types = types - {SqlType.NULL}
    if (
        len(known_types) < 2
        or known_types <= TEMPORAL_TYPES
        or known_types <= {SqlType.INTEGER, SqlType.NUMBER}
        or _is_inexact_as_double(left)
        or _is_inexact_as_double(right)
    ):
        return None
    if known_types & NUMERIC_TYPES:
        return SqlType.NUMBER
    return SqlType.TIMESTAMP if known_types & TEMPORAL_TYPES else None


def _is_inexact_as_double(node: exp.Expr) -> bool:
    """Return whether the node is an integer literal that a conversion to NUMBER, a double, might round."""
    return isinstance(node, exp.Literal) and node.is_int and abs(int(node.name)) > _MAX_EXACT_INTEGER


#: Operators that MySQL's and DuckDB's grammars may nest differently.
_OPERATORS = (exp.Binary, exp.Neg, exp.Not, exp.Between, exp.In)


def parenthesized(node: exp.Expr) -> exp.Expr:
    """Return the node, in parentheses if it is an operator: the precedence of operators differs in DuckDB."""
    if isinstance(node, _OPERATORS):
        return with_type(exp.Paren(this=node), type_of(node))
    return node


def build_in(value: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    """Return the ``IN`` predicate, which is true if the value equals one of the items."""
    item_types = {type_of(item) for item in items} - {SqlType.NULL}
    if type_of(value) is SqlType.JSON:
        value = unquote_json(value)
    all_types = item_types | {type_of(value)}
    # DuckDB compares values of these types like MySQL.
    if (
        all_types <= {SqlType.STRING, SqlType.UNKNOWN}
        or all_types <= TEMPORAL_TYPES | {SqlType.UNKNOWN}
        or isinstance(value, exp.Tuple)
        or len(all_types) == 1
    ):
        return with_type(exp.In(this=parenthesized(value), expressions=items), SqlType.BOOLEAN)
    if item_types <= NUMERIC_TYPES or type_of(value) in NUMERIC_TYPES:
        return with_type(
            exp.In(this=parenthesized(coerce(value, SqlType.NUMBER)), expressions=[coerce(item, SqlType.NUMBER) for item in items]),
            SqlType.BOOLEAN,
        )
    if type_of(value) in TEMPORAL_TYPES:
        return with_type(exp.In(this=value, expressions=[coerce(item, SqlType.TIMESTAMP) for item in items]), SqlType.BOOLEAN)
    comparisons = (comparison(exp.EQ, copied_value, item) for copied_value, item in zip(copies(value, len(items)), items, strict=True))
    return with_type(exp.paren(exp.or_(*comparisons, copy=False), copy=False), SqlType.BOOLEAN)


def build_is(node: exp.Is) -> exp.Expr:
    """Return the ``IS`` predicate. Raises InvalidStatement if its right side is an expression."""
    if not isinstance(node.expression, exp.Boolean | exp.Null):
        raise InvalidStatement("IS takes NULL, TRUE, FALSE or UNKNOWN; to compare its result, write (x IS NULL) = y")
    value = coerce(node.this, SqlType.BOOLEAN) if isinstance(node.expression, exp.Boolean) else node.this
    return with_type(exp.Is(this=parenthesized(value), expression=node.expression), SqlType.BOOLEAN)
