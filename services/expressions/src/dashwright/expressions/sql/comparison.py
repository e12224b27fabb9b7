"""MySQL's comparisons: text with number as numbers, text with time as times, texts by their exact letters."""

from collections.abc import Mapping

from sqlglot import exp

from dashwright.expressions.sql.bounds import copies
from dashwright.expressions.sql.coercion import IS_NUMBER, IS_TEXT, coerced
from dashwright.expressions.sql.duckdb_sql import call, macro
from dashwright.expressions.sql.functions.documents import unquoted
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import MOMENTS, NUMBERS, SqlType, marked, type_of

_NAMES: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.EQ: ("eq", "="),
    exp.NEQ: ("ne", "<>"),
    exp.LT: ("lt", "<"),
    exp.LTE: ("le", "<="),
    exp.GT: ("gt", ">"),
    exp.GTE: ("ge", ">="),
    exp.NullSafeEQ: ("same", "is not distinct from"),
}
_TURNED: Mapping[type[exp.Expr], type[exp.Expr]] = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
COMPARISONS = tuple(_NAMES)

_EXACT_IN_DOUBLES = 1 << 53


def comparison_macros() -> list[str]:
    """Return the macros that compare a column of any type with a text."""
    macros = []
    for name, sign in _NAMES.values():
        body = (
            f"case when {IS_TEXT} then cast(x as varchar) {sign} t when {IS_NUMBER} then try_cast(x as double) {sign} mysql_text_number(t)"
            f" else try_cast(x as timestamp) {sign} mysql_text_time(t) end"
        )
        macros.append(macro(f"{name}(x, t)", body))
        macros.append(macro(f"{name}_of(x, t)", f"mysql_{name}($x, $t)", x="x", t="t"))
    return macros


def compared(operator: type[exp.Expr], left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """Return the comparison of ``left`` and ``right`` by one of ``COMPARISONS``."""
    left, right = (
        unquoted(side) if type_of(side) is SqlType.JSON and type_of(other) is not SqlType.JSON else side
        for side, other in ((left, right), (right, left))
    )
    if isinstance(right, (exp.Any, exp.All)):
        return marked(operator(this=grouped(left), expression=right), SqlType.BOOLEAN)
    kinds = {type_of(left), type_of(right)}
    if kinds == {SqlType.TEXT, SqlType.UNKNOWN} and not isinstance(left, exp.Collate) and not isinstance(right, exp.Collate):
        if type_of(left) is SqlType.TEXT:
            operator, left, right = _TURNED.get(operator, operator), right, left
        name = _NAMES[operator][0]
        return call("mysql_" + name if isinstance(left, exp.Column) else f"mysql_{name}_of", left, right, kind=SqlType.BOOLEAN)
    wanted = _meeting(kinds, left, right)
    if wanted is not None:
        left, right = coerced(left, wanted), coerced(right, wanted)
    return marked(operator(this=grouped(left), expression=grouped(right)), SqlType.BOOLEAN)


def _meeting(kinds: set[SqlType], left: exp.Expr, right: exp.Expr) -> SqlType | None:
    """Return the type both sides are converted to, or None if they compare unchanged."""
    known = kinds - {SqlType.NULL}
    if len(known) < 2 or known <= MOMENTS or known <= {SqlType.INTEGER, SqlType.NUMBER} or _is_too_large(left) or _is_too_large(right):
        return None
    if known & NUMBERS:
        return SqlType.NUMBER
    return SqlType.TIME if known & MOMENTS else None


def _is_too_large(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_int and abs(int(node.name)) > _EXACT_IN_DOUBLES


_OPERATORS = (exp.Binary, exp.Neg, exp.Not, exp.Between, exp.In)


def grouped(node: exp.Expr) -> exp.Expr:
    """Return the node in parentheses if it is an operator: DuckDB's precedence differs from MySQL's."""
    if isinstance(node, _OPERATORS):
        return marked(exp.Paren(this=node), type_of(node))
    return node


def contained(value: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
    """Return a test that the value is one of the items."""
    kinds = {type_of(item) for item in items} - {SqlType.NULL}
    if type_of(value) is SqlType.JSON:
        value = unquoted(value)
    together = kinds | {type_of(value)}
    if (
        together <= {SqlType.TEXT, SqlType.UNKNOWN}
        or together <= MOMENTS | {SqlType.UNKNOWN}
        or isinstance(value, exp.Tuple)
        or len(together) == 1
    ):
        return marked(exp.In(this=grouped(value), expressions=items), SqlType.BOOLEAN)
    if kinds <= NUMBERS or type_of(value) in NUMBERS:
        return marked(
            exp.In(this=grouped(coerced(value, SqlType.NUMBER)), expressions=[coerced(item, SqlType.NUMBER) for item in items]),
            SqlType.BOOLEAN,
        )
    if type_of(value) in MOMENTS:
        return marked(exp.In(this=value, expressions=[coerced(item, SqlType.TIME) for item in items]), SqlType.BOOLEAN)
    compares = (compared(exp.EQ, one, item) for one, item in zip(copies(value, len(items)), items, strict=True))
    return marked(exp.paren(exp.or_(*compares, copy=False), copy=False), SqlType.BOOLEAN)


def tested(node: exp.Is) -> exp.Expr:
    """Return the ``IS`` test. Its right side is a word, never an expression."""
    if not isinstance(node.expression, exp.Boolean | exp.Null):
        raise InvalidStatement("IS takes NULL, TRUE, FALSE or UNKNOWN; put it into parentheses to use its outcome")
    value = coerced(node.this, SqlType.BOOLEAN) if isinstance(node.expression, exp.Boolean) else node.this
    return marked(exp.Is(this=grouped(value), expression=node.expression), SqlType.BOOLEAN)
