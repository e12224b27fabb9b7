"""Functions that choose among their arguments. A choice among strings and other types is a string, as in MySQL."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, choice, form, scalar, written
from dashwright.expressions.sql.sql_type import SqlType, marked, type_of


def _if(arguments: Sequence[exp.Expr]) -> exp.Expr:
    condition, yes, no = arguments
    return choice([yes, no], lambda chosen: case([(coerced(condition, SqlType.BOOLEAN), chosen[0])], chosen[1]))


def case(branches: Sequence[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr | None) -> exp.Expr:
    """Return a CASE expression of the branches."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=otherwise)


def _coalesce(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return choice(arguments, lambda chosen: call("coalesce", *chosen))


def _nullif(arguments: Sequence[exp.Expr]) -> exp.Expr:
    value, other = arguments
    kinds = {type_of(value), type_of(other)}
    compared = list(arguments)
    if kinds != {SqlType.TEXT} and kinds & {SqlType.TEXT} and kinds & {SqlType.NUMBER, SqlType.INTEGER}:
        compared = [value, coerced(other, SqlType.NUMBER) if type_of(value) is not SqlType.TEXT else coerced(other, SqlType.TEXT)]
    return call("mysql_nullif", *compared, kind=type_of(value))


def _extreme(name: str) -> SqlFunction:
    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        kinds = {type_of(argument) for argument in arguments}
        mixed = SqlType.TEXT in kinds and kinds & {SqlType.NUMBER, SqlType.INTEGER}
        compared = [coerced(argument, SqlType.NUMBER) for argument in arguments] if mixed else arguments
        return choice(compared, lambda chosen: call("mysql_" + name, exp.Array(expressions=chosen)))

    which = "smallest" if name == "least" else "largest"
    found = "list_min" if name == "least" else "list_max"
    body = f"{found}(list_filter([x], lambda v: len(list_filter(v, lambda w: w is null)) = 0)[1])"
    return written(name, f"{name}(x, y, …)", f"the {which} argument; NULL if any is NULL", build, 2, None, macro(f"{name}(x)", body))


def _isnull(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return marked(exp.Is(this=exp.paren(arguments[0], copy=False), expression=exp.Null()), SqlType.BOOLEAN)


CHOICES = [
    written("if", "if(condition, x, y)", "`x` if the condition is true, else `y`", _if, 3, 3),
    written("coalesce", "coalesce(x, …)", "the first argument that is not NULL", _coalesce, 1, None),
    written("ifnull", "ifnull(x, y)", "`y` if `x` is NULL, else `x`", _coalesce, 2, 2),
    written(
        "nullif",
        "nullif(x, y)",
        "NULL if `x` equals `y`, else `x`",
        _nullif,
        2,
        2,
        macro("nullif(x, y)", "case when $x = $y then null else $x end", x="x", y="y"),
    ),
    _extreme("least"),
    _extreme("greatest"),
    written("isnull", "isnull(x)", "whether `x` is NULL", _isnull, 1, 1),
    scalar(
        "strcmp",
        SqlType.INTEGER,
        "-1 if `x` sorts before `y`, 0 if both are equal, 1 if it sorts after `y`",
        form("x: text, y: text", let("case when $x < $y then -1 when $x > $y then 1 when $x = $y then 0 end", x="x", y="y")),
    ),
]
