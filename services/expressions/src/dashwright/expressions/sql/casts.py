"""The functions CAST and CONVERT."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dashwright.expressions.sql.coercion import IS_TEXT, coerced
from dashwright.expressions.sql.duckdb_sql import call, cast, macro
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import SqlType, marked, type_of

#: Most digits of DuckDB's exact numbers.
_DIGITS = 38

MACROS = (
    macro("cut(x)", "try_cast(trunc(mysql_text_number(x)) as bigint)"),
    macro("signed(x)", "try_cast(round(x) as bigint)"),
    macro("as_signed(x)", f"case when {IS_TEXT} then mysql_cut(cast(x as varchar)) else mysql_signed(mysql_as_number(x)) end"),
    macro("unsigned(n)", "case when v < 0 then 18446744073709551616::hugeint + v else v end", n="cast(n as hugeint)"),
    macro("not_negative(n)", "case when v < 0 then 0 else v end", n="n"),
    macro(
        "as_unsigned(x)",
        f"case when {IS_TEXT} or typeof(x) like '%INT%' then mysql_unsigned(mysql_as_signed(x))"
        " else mysql_not_negative(mysql_as_signed(x)) end",
    ),
    macro("rounded_clock(us, d)", "mysql_clock_text(cast(round(us / pow(10, 6 - d)) * pow(10, 6 - d) as bigint))"),
    macro("rounded_time(t, d)", "make_timestamp(cast(round(epoch_us(t) / pow(10, 6 - d)) * pow(10, 6 - d) as bigint))"),
    macro(
        "exact(x, p, s)",
        "case when $x > $m then $m when $x < -$m then -$m else $x end",
        x="round(x, s)",
        m="(pow(10::double, p) - 1) / pow(10::double, s)",
    ),
)


def _signed(value: exp.Expr, _size: list[int]) -> exp.Expr:
    match type_of(value):
        case SqlType.INTEGER:
            return value
        case SqlType.TEXT:
            return call("mysql_cut", value, kind=SqlType.INTEGER)
        case SqlType.UNKNOWN if isinstance(value, exp.Column):
            return call("mysql_as_signed", value, kind=SqlType.INTEGER)
    return call("mysql_signed", coerced(value, SqlType.NUMBER), kind=SqlType.INTEGER)


def _unsigned(value: exp.Expr, size: list[int]) -> exp.Expr:
    """Return an unsigned integer: a negative integer is read as its bits, any other negative number is 0."""
    if isinstance(value, exp.Column):
        return call("mysql_as_unsigned", value, kind=SqlType.INTEGER)
    whole = type_of(value) in {SqlType.INTEGER, SqlType.TEXT}
    return call("mysql_unsigned" if whole else "mysql_not_negative", _signed(value, size), kind=SqlType.INTEGER)


def _char(value: exp.Expr, size: list[int]) -> exp.Expr:
    text = coerced(value, SqlType.TEXT)
    return call("left", text, exp.Literal.number(size[0]), kind=SqlType.TEXT) if size else text


def _decimal(value: exp.Expr, size: list[int]) -> exp.Expr:
    precision, scale = [*size, *[10, 0][len(size) :]]
    if scale > precision or precision > _DIGITS:
        raise InvalidStatement(f"DECIMAL takes at most {_DIGITS} digits, and no more after the point than in total")
    clamped = call("mysql_exact", coerced(value, SqlType.NUMBER), exp.Literal.number(precision), exp.Literal.number(scale))
    return marked(cast(clamped, f"decimal({precision}, {scale})"), SqlType.NUMBER)


def _double(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return marked(cast(coerced(value, SqlType.NUMBER), "double"), SqlType.NUMBER)


def _date(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return marked(cast(coerced(value, SqlType.TIME), "date"), SqlType.DATE)


def _datetime(value: exp.Expr, size: list[int]) -> exp.Expr:
    return call("mysql_rounded_time", coerced(value, SqlType.TIME), exp.Literal.number(size[0] if size else 0), kind=SqlType.TIME)


def _timestamp(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return coerced(value, SqlType.TIME)


def _time(value: exp.Expr, size: list[int]) -> exp.Expr:
    return call("mysql_rounded_clock", coerced(value, SqlType.CLOCK), exp.Literal.number(size[0] if size else 0), kind=SqlType.TEXT)


def _year(value: exp.Expr, _size: list[int]) -> exp.Expr:
    moment = type_of(value) in {SqlType.TIME, SqlType.DATE}
    return call("year", value, kind=SqlType.INTEGER) if moment else _signed(value, _size)


def _json(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return (
        coerced(value, SqlType.JSON if type_of(value) is SqlType.TEXT else SqlType.VALUE) if type_of(value) is not SqlType.JSON else value
    )


_T = exp.DType
_TYPES: Mapping[exp.DType, Callable[[exp.Expr, list[int]], exp.Expr]] = {
    **dict.fromkeys((_T.BIGINT, _T.INT), _signed),
    **dict.fromkeys((_T.UBIGINT, _T.UINT), _unsigned),
    **dict.fromkeys((_T.CHAR, _T.NCHAR, _T.VARCHAR, _T.TEXT, _T.BINARY, _T.CHARACTER_SET), _char),
    **dict.fromkeys((_T.DECIMAL, _T.UDECIMAL), _decimal),
    **dict.fromkeys((_T.DOUBLE, _T.FLOAT), _double),
    _T.DATE: _date,
    _T.DATETIME: _datetime,
    **dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ), _timestamp),
    _T.TIME: _time,
    _T.YEAR: _year,
    _T.JSON: _json,
}


def converted(value: exp.Expr, to: exp.DataType) -> exp.Expr:
    """Return the value cast to a type. Raises InvalidStatement."""
    size = [int(parameter.name) for parameter in to.expressions if parameter.name.isdigit()]
    build = _TYPES.get(to.this)
    if build is None or len(size) != len(to.expressions):
        raise InvalidStatement(
            f"CAST to {to.sql('mysql')} is unknown; use SIGNED, UNSIGNED, DOUBLE, DECIMAL, CHAR, DATE, DATETIME, TIME, YEAR or JSON"
        )
    return build(value, size)
