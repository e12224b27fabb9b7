"""Functions that choose among or compare their arguments. If only some arguments are strings, the chosen one becomes a string."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, let, macro
from dashwright.expressions.sql.functions.function import SqlFunction, choice, custom, overload, scalar
from dashwright.expressions.sql.sql_type import SqlType, type_of, with_type


def _if(arguments: Sequence[exp.Expr]) -> exp.Expr:
    condition, true_value, false_value = arguments
    return choice([true_value, false_value], lambda values: case([(coerce(condition, SqlType.BOOLEAN), values[0])], values[1]))


def case(branches: Sequence[tuple[exp.Expr, exp.Expr]], default: exp.Expr | None) -> exp.Expr:
    """Return a CASE expression with branches of a condition and a value each."""
    return exp.Case(ifs=[exp.If(this=condition, true=value) for condition, value in branches], default=default)


def _coalesce(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return choice(arguments, lambda values: call("coalesce", *values))


def _nullif(arguments: Sequence[exp.Expr]) -> exp.Expr:
    value, compared_value = arguments
    if _are_strings_and_numbers(arguments):
        compared_value = coerce(compared_value, SqlType.STRING if type_of(value) is SqlType.STRING else SqlType.NUMBER)
    return call("mysql_nullif", value, compared_value, result_type=type_of(value))


def _are_strings_and_numbers(arguments: Sequence[exp.Expr]) -> bool:
    """Return whether at least one argument is a string and at least one is a number."""
    types = {type_of(argument) for argument in arguments}
    return SqlType.STRING in types and not types.isdisjoint({SqlType.NUMBER, SqlType.INTEGER})


def _least_or_greatest(name: str) -> SqlFunction:
    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        are_mixed = _are_strings_and_numbers(arguments)
        converted_arguments = [coerce(argument, SqlType.NUMBER) for argument in arguments] if are_mixed else arguments
        return choice(converted_arguments, lambda values: call("mysql_" + name, exp.Array(expressions=values)))

    adjective = "smallest" if name == "least" else "largest"
    list_function = "list_min" if name == "least" else "list_max"
    # The filter makes the list NULL if one of its items is NULL.
    body = f"{list_function}(list_filter([x], lambda v: len(list_filter(v, lambda w: w is null)) = 0)[1])"
    return custom(
        name,
        f"{name}(x, y, …)",
        f"the {adjective} argument; NULL if any is NULL",
        build,
        macro(f"{name}(x)", body),
        min_arguments=2,
    )


def _isnull(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return with_type(exp.Is(this=exp.paren(arguments[0], copy=False), expression=exp.Null()), SqlType.BOOLEAN)


CHOICES = [
    custom("if", "if(condition, x, y)", "`x` if the condition is true, else `y`", _if, min_arguments=3, max_arguments=3),
    custom("coalesce", "coalesce(x, …)", "the first argument that is not NULL", _coalesce, min_arguments=1),
    custom("ifnull", "ifnull(x, y)", "`y` if `x` is NULL, else `x`", _coalesce, min_arguments=2, max_arguments=2),
    custom(
        "nullif",
        "nullif(x, y)",
        "NULL if `x` equals `y`, else `x`",
        _nullif,
        macro("nullif(x, y)", "case when $x = $y then null else $x end", x="x", y="y"),
        min_arguments=2,
        max_arguments=2,
    ),
    _least_or_greatest("least"),
    _least_or_greatest("greatest"),
    custom("isnull", "isnull(x)", "whether `x` is NULL", _isnull, min_arguments=1, max_arguments=1),
    scalar(
        "strcmp",
        SqlType.INTEGER,
        "-1 if `x` sorts before `y`, 0 if both are equal, 1 if it sorts after `y`",
        overload("x: string, y: string", let("case when $x < $y then -1 when $x > $y then 1 when $x = $y then 0 end", x="x", y="y")),
    ),
]
