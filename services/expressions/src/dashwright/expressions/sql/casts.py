"""The functions CAST and CONVERT."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dashwright.expressions.sql.coercion import IS_STRING, coerce
from dashwright.expressions.sql.duckdb_sql import call, cast, macro
from dashwright.expressions.sql.sql_type import SqlType, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement

#: The limit of digits of a DECIMAL in DuckDB.
_MAX_DIGITS = 38
#: The digits of a DECIMAL in MySQL if the cast does not give them.
_DEFAULT_PRECISION = 10

MACROS = (
    macro("string_to_signed(x)", "try_cast(trunc(mysql_string_to_number(x)) as bigint)"),
    macro("number_to_signed(x)", "try_cast(round(x) as bigint)"),
    macro(
        "to_signed(x)",
        f"case when {IS_STRING} then mysql_string_to_signed(cast(x as varchar)) else mysql_number_to_signed(mysql_to_number(x)) end",
    ),
    # 2**64 is added to a negative number: its two's complement.
    macro(
        "reinterpret_as_unsigned(n)",
        "case when $integer < 0 then 18446744073709551616::hugeint + $integer else $integer end",
        integer="cast(n as hugeint)",
    ),
    macro("clamp_negative(n)", "case when $n < 0 then 0 else $n end", n="n"),
    macro(
        "to_unsigned(x)",
        f"case when {IS_STRING} or typeof(x) like '%INT%' then mysql_reinterpret_as_unsigned(mysql_to_signed(x))"
        " else mysql_clamp_negative(mysql_to_signed(x)) end",
    ),
    macro(
        "rounded_time_of_day(us, digits)",
        "mysql_time_of_day_to_string(cast(round(us / pow(10, 6 - digits)) * pow(10, 6 - digits) as bigint))",
    ),
    macro("rounded_timestamp(t, digits)", "make_timestamp(cast(round(epoch_us(t) / pow(10, 6 - digits)) * pow(10, 6 - digits) as bigint))"),
    # The limit is the largest number of the type, such as 99.9 for DECIMAL(3, 1).
    macro(
        "clamp_to_decimal(x, precision, scale)",
        "case when $rounded > $limit then $limit when $rounded < -$limit then -$limit else $rounded end",
        rounded="round(x, scale)",
        limit="(pow(10::double, precision) - 1) / pow(10::double, scale)",
    ),
)


def _signed(value: exp.Expr, _arguments: list[int]) -> exp.Expr:
    """Return a signed integer. A string is truncated, a number is rounded."""
    match type_of(value):
        case SqlType.INTEGER:
            return value
        case SqlType.STRING:
            return call("mysql_string_to_signed", value, result_type=SqlType.INTEGER)
        case SqlType.UNKNOWN if isinstance(value, exp.Column):
            # The type of a column is unknown until the statement runs, so this macro tests it then.
            return call("mysql_to_signed", value, result_type=SqlType.INTEGER)
    return call("mysql_number_to_signed", coerce(value, SqlType.NUMBER), result_type=SqlType.INTEGER)


def _unsigned(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    """Return an unsigned integer.

    A negative integer, also one in a string, is reinterpreted as an unsigned number of 64 bits. Any other negative number becomes 0.
    """
    if isinstance(value, exp.Column):
        # As in ``_signed``, a macro tests the type when the statement runs.
        return call("mysql_to_unsigned", value, result_type=SqlType.INTEGER)
    is_integer = type_of(value) in {SqlType.INTEGER, SqlType.STRING}
    macro_name = "mysql_reinterpret_as_unsigned" if is_integer else "mysql_clamp_negative"
    return call(macro_name, _signed(value, arguments), result_type=SqlType.INTEGER)


def _char(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    string = coerce(value, SqlType.STRING)
    return call("left", string, exp.Literal.number(arguments[0]), result_type=SqlType.STRING) if arguments else string


def _decimal(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    precision = arguments[0] if arguments else _DEFAULT_PRECISION
    scale = arguments[1] if len(arguments) > 1 else 0
    if scale > precision or precision > _MAX_DIGITS:
        raise InvalidStatement(
            f"DECIMAL({precision}, {scale}) is invalid; use at most {_MAX_DIGITS} digits, of which all or fewer are decimals"
        )
    clamped = call("mysql_clamp_to_decimal", coerce(value, SqlType.NUMBER), exp.Literal.number(precision), exp.Literal.number(scale))
    return with_type(cast(clamped, f"decimal({precision}, {scale})"), SqlType.NUMBER)


def _double(value: exp.Expr, _arguments: list[int]) -> exp.Expr:
    return with_type(cast(coerce(value, SqlType.NUMBER), "double"), SqlType.NUMBER)


def _date(value: exp.Expr, _arguments: list[int]) -> exp.Expr:
    return with_type(cast(coerce(value, SqlType.TIMESTAMP), "date"), SqlType.DATE)


def _datetime(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    return call(
        "mysql_rounded_timestamp",
        coerce(value, SqlType.TIMESTAMP),
        exp.Literal.number(arguments[0] if arguments else 0),
        result_type=SqlType.TIMESTAMP,
    )


def _timestamp(value: exp.Expr, _arguments: list[int]) -> exp.Expr:
    return coerce(value, SqlType.TIMESTAMP)


def _time(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    return call(
        "mysql_rounded_time_of_day",
        coerce(value, SqlType.TIME_OF_DAY),
        exp.Literal.number(arguments[0] if arguments else 0),
        result_type=SqlType.STRING,
    )


def _year(value: exp.Expr, arguments: list[int]) -> exp.Expr:
    is_date = type_of(value) in {SqlType.TIMESTAMP, SqlType.DATE}
    return call("year", value, result_type=SqlType.INTEGER) if is_date else _signed(value, arguments)


def _json(value: exp.Expr, _arguments: list[int]) -> exp.Expr:
    """Return a JSON document: a string is parsed as a document, any other value becomes a JSON value."""
    if type_of(value) is SqlType.JSON:
        return value
    return coerce(value, SqlType.JSON if type_of(value) is SqlType.STRING else SqlType.JSON_VALUE)


#: The function that returns a cast to each type, from a value and the numbers in parentheses after the type.
_BUILDERS: Mapping[exp.DType, Callable[[exp.Expr, list[int]], exp.Expr]] = {
    **dict.fromkeys((exp.DType.BIGINT, exp.DType.INT), _signed),
    **dict.fromkeys((exp.DType.UBIGINT, exp.DType.UINT), _unsigned),
    **dict.fromkeys((exp.DType.CHAR, exp.DType.NCHAR, exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.BINARY, exp.DType.CHARACTER_SET), _char),
    **dict.fromkeys((exp.DType.DECIMAL, exp.DType.UDECIMAL), _decimal),
    **dict.fromkeys((exp.DType.DOUBLE, exp.DType.FLOAT), _double),
    exp.DType.DATE: _date,
    exp.DType.DATETIME: _datetime,
    **dict.fromkeys((exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ), _timestamp),
    exp.DType.TIME: _time,
    exp.DType.YEAR: _year,
    exp.DType.JSON: _json,
}


def build_cast(value: exp.Expr, target: exp.DataType) -> exp.Expr:
    """Return the value cast to a type. Raises InvalidStatement if the type is unknown."""
    arguments = [int(parameter.name) for parameter in target.expressions if parameter.name.isdigit()]
    build = _BUILDERS.get(target.this)
    if build is None or len(arguments) != len(target.expressions):
        raise InvalidStatement(
            f"CAST to {target.sql('mysql')} is unknown; use SIGNED, UNSIGNED, DOUBLE, DECIMAL, CHAR, DATE, DATETIME, TIME, YEAR or JSON"
        )
    return build(value, arguments)
