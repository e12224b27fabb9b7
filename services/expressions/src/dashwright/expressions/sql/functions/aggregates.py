"""Aggregate functions and window functions."""

from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call
from dashwright.expressions.sql.functions.choices import case
from dashwright.expressions.sql.functions.function import SqlFunction, aggregate, alias, window
from dashwright.expressions.sql.sql_type import SqlType

_NUMBER = SqlType.NUMBER


def _count(arguments: Sequence[exp.Expr]) -> exp.Expr:
    return call("count", *arguments, result_type=SqlType.INTEGER)


def complete_row(values: Sequence[exp.Expr]) -> exp.Expr:
    """Return the values as a row, or NULL if one of them is NULL, because COUNT(DISTINCT …) ignores such rows."""
    all_present = exp.and_(*(exp.Not(this=exp.Is(this=exp.paren(value), expression=exp.Null())) for value in values))
    return case([(all_present, call("row", *values))], None)


def _objectagg(arguments: Sequence[exp.Expr]) -> exp.Expr:
    key, value = arguments
    return call("json_group_object", coerce(key, SqlType.STRING), coerce(value, SqlType.JSON_VALUE), result_type=SqlType.JSON)


deviation = aggregate("std", "stddev_pop", "number", _NUMBER, "the population standard deviation")
variance = aggregate("variance", "var_pop", "number", _NUMBER, "the population variance")
sample_deviation = aggregate("stddev_samp", "stddev_samp", "number", _NUMBER, "the sample standard deviation")

AGGREGATES = [
    SqlFunction(
        "count",
        "count([DISTINCT] x, …)",
        "the number of rows in which no `x` is NULL; `count(*)` is the number of all rows",
        _count,
        min_arguments=1,
        max_arguments=None,
        is_aggregate=True,
        takes_distinct=True,
    ),
    aggregate("sum", "sum", "number", _NUMBER, "the sum; NULL if there are no values", takes_distinct=True),
    aggregate("avg", "avg", "number", _NUMBER, "the mean", takes_distinct=True),
    aggregate("min", "min", "any", None, "the smallest value", takes_distinct=True),
    aggregate("max", "max", "any", None, "the largest value", takes_distinct=True),
    deviation,
    alias(deviation, "stddev"),
    alias(deviation, "stddev_pop"),
    sample_deviation,
    alias(sample_deviation, "stddev_sample"),
    variance,
    alias(variance, "var_pop"),
    aggregate("var_samp", "var_samp", "number", _NUMBER, "the sample variance"),
    aggregate("any_value", "any_value", "any", None, "any one of the values"),
    aggregate("json_arrayagg", "json_group_array", "json_value", SqlType.JSON, "a JSON array of the values"),
    SqlFunction(
        "json_objectagg",
        "json_objectagg(key, x)",
        "a JSON object of the keys and values",
        _objectagg,
        min_arguments=2,
        max_arguments=2,
        is_aggregate=True,
    ),
]

WINDOWS = [
    window("row_number", "row_number()", "the number of the row, from 1", min_arguments=0, max_arguments=0, result_type=SqlType.INTEGER),
    window(
        "rank",
        "rank()",
        "1 plus the number of rows that sort before this row",
        min_arguments=0,
        max_arguments=0,
        result_type=SqlType.INTEGER,
    ),
    window(
        "dense_rank",
        "dense_rank()",
        "1 plus the number of distinct values that sort before this row",
        min_arguments=0,
        max_arguments=0,
        result_type=SqlType.INTEGER,
    ),
    window(
        "percent_rank",
        "percent_rank()",
        "`rank() - 1`, divided by the number of the other rows",
        min_arguments=0,
        max_arguments=0,
        result_type=_NUMBER,
    ),
    window(
        "cume_dist",
        "cume_dist()",
        "the fraction of rows that sort before this row or equal to it",
        min_arguments=0,
        max_arguments=0,
        result_type=_NUMBER,
    ),
    window("first_value", "first_value(x)", "`x` of the first row of the window frame", min_arguments=1, max_arguments=1),
    window("last_value", "last_value(x)", "`x` of the last row of the window frame", min_arguments=1, max_arguments=1),
    window("nth_value", "nth_value(x, n)", "`x` of the `n`-th row of the window frame", min_arguments=2, max_arguments=2),
    window(
        "ntile",
        "ntile(n)",
        "the number of the row's bucket, if the rows are divided into `n` equal buckets",
        min_arguments=1,
        max_arguments=1,
        result_type=SqlType.INTEGER,
    ),
    window(
        "lag",
        "lag(x[, n[, default]])",
        "`x` of the row `n` rows before (1 by default); `default` or NULL if there is no such row",
        min_arguments=1,
        max_arguments=3,
    ),
    window(
        "lead",
        "lead(x[, n[, default]])",
        "`x` of the row `n` rows after (1 by default); `default` or NULL if there is no such row",
        min_arguments=1,
        max_arguments=3,
    ),
]
