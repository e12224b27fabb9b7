"""Functions over the rows of a group, and over windows."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call
from dashwright.expressions.sql.functions.choices import case
from dashwright.expressions.sql.functions.function import SqlFunction, aggregate, alias, window
from dashwright.expressions.sql.sql_type import SqlType

_N = SqlType.NUMBER


def _count(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("count", *arguments, kind=SqlType.INTEGER)


def complete_rows(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the values as a row, or NULL if one of them is NULL: DISTINCT does not count such rows."""
    known = exp.and_(*(exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.Null())) for value in values))
    return case([(known, call("row", *values))], None)


def _objectagg(arguments: Sequence[exp.Expr]) -> exp.Expr:
    key, value = arguments
    return call("json_group_object", coerced(key, SqlType.TEXT), coerced(value, SqlType.VALUE), kind=SqlType.JSON)


deviation = aggregate("std", "stddev_pop", "number", _N, "the population standard deviation")
variance = aggregate("variance", "var_pop", "number", _N, "the population variance")
deviation_of_sample = aggregate("stddev_samp", "stddev_samp", "number", _N, "the sample standard deviation")

AGGREGATES = [
    SqlFunction(
        "count",
        "count([DISTINCT] x, …)",
        "the number of rows where no `x` is NULL; for `count(*)`, of all rows",
        _count,
        1,
        None,
        aggregate=True,
        distinct=True,
    ),
    aggregate("sum", "sum", "number", _N, "the sum; NULL if there are no values", distinct=True),
    aggregate("avg", "avg", "number", _N, "the mean", distinct=True),
    aggregate("min", "min", "any", None, "the smallest value", distinct=True),
    aggregate("max", "max", "any", None, "the largest value", distinct=True),
    deviation,
    alias(deviation, "stddev"),
    alias(deviation, "stddev_pop"),
    deviation_of_sample,
    alias(deviation_of_sample, "stddev_sample"),
    variance,
    alias(variance, "var_pop"),
    aggregate("var_samp", "var_samp", "number", _N, "the sample variance"),
    aggregate("any_value", "any_value", "any", None, "any one of the values"),
    aggregate("json_arrayagg", "json_group_array", "value", SqlType.JSON, "a JSON array of the values"),
    SqlFunction("json_objectagg", "json_objectagg(key, x)", "a JSON object of the keys and values", _objectagg, 2, 2, aggregate=True),
]

WINDOWS = [
    window("row_number", "row_number()", "the number of the row, from 1", 0, 0, SqlType.INTEGER),
    window("rank", "rank()", "the rank of the row, with gaps after equal rows", 0, 0, SqlType.INTEGER),
    window("dense_rank", "dense_rank()", "the rank of the row, without gaps", 0, 0, SqlType.INTEGER),
    window("percent_rank", "percent_rank()", "the relative rank of the row, from 0 to 1", 0, 0, _N),
    window("cume_dist", "cume_dist()", "the fraction of rows up to this one", 0, 0, _N),
    window("first_value", "first_value(x)", "`x` of the first row of the frame", 1, 1),
    window("last_value", "last_value(x)", "`x` of the last row of the frame", 1, 1),
    window("nth_value", "nth_value(x, n)", "`x` of the `n`-th row of the frame", 2, 2),
    window("ntile", "ntile(n)", "the number of the row's bucket, if the rows are divided into `n` equal buckets", 1, 1, SqlType.INTEGER),
    window("lag", "lag(x[, n[, default]])", "`x` of the row `n` rows before (default 1)", 1, 3),
    window("lead", "lead(x[, n[, default]])", "`x` of the row `n` rows after (default 1)", 1, 3),
]
