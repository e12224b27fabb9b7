"""CAST and CONVERT."""

from collections.abc import Callable, Mapping

from sqlglot import exp

from dashwright.expressions.sql.coercion import PREFIX, call, cast, coerced, let
from dashwright.expressions.sql.kind import Kind, kind_of, marked
from dashwright.expressions.sql.refusals import Unreadable

_DIGITS = 38
"""What DuckDB's exact numbers have at most."""

MACROS = (
    f"create macro {PREFIX}signed(x) as try_cast(round(x) as bigint)",
    f"create macro {PREFIX}cut(x) as try_cast(trunc({PREFIX}text_number(x)) as bigint)",
    f"create macro {PREFIX}unsigned(n) as {let('case when v < 0 then 18446744073709551616::hugeint + v else v end', n='cast(n as hugeint)')}",
    f"create macro {PREFIX}rounded_time(t, d) as make_timestamp(cast(round(epoch_us(t) / pow(10, 6 - d)) * pow(10, 6 - d) as bigint))",
    f"create macro {PREFIX}exact(x, p, s) as"
    f" {let('case when $x > $m then $m when $x < -$m then -$m else $x end', x='round(x, s)', m='(pow(10::double, p) - 1) / pow(10::double, s)')}",
)


def _signed(value: exp.Expr, _size: list[int]) -> exp.Expr:
    match kind_of(value):
        case Kind.INTEGER:
            return value
        case Kind.TEXT:
            return call(PREFIX + "cut", value, kind=Kind.INTEGER)
    return call(PREFIX + "signed", coerced(value, Kind.NUMBER), kind=Kind.INTEGER)


def _unsigned(value: exp.Expr, size: list[int]) -> exp.Expr:
    return call(PREFIX + "unsigned", _signed(value, size), kind=Kind.INTEGER)


def _char(value: exp.Expr, size: list[int]) -> exp.Expr:
    text = coerced(value, Kind.TEXT)
    return call("left", text, exp.Literal.number(size[0]), kind=Kind.TEXT) if size else text


def _decimal(value: exp.Expr, size: list[int]) -> exp.Expr:
    precision, scale = [*size, *[10, 0][len(size) :]]
    if scale > precision or precision > _DIGITS:
        raise Unreadable(f"DECIMAL takes at most {_DIGITS} digits, and no more behind the point than in all")
    clamped = call(PREFIX + "exact", coerced(value, Kind.NUMBER), exp.Literal.number(precision), exp.Literal.number(scale))
    return marked(cast(clamped, f"decimal({precision}, {scale})"), Kind.NUMBER)


def _double(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return marked(cast(coerced(value, Kind.NUMBER), "double"), Kind.NUMBER)


def _date(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return marked(cast(coerced(value, Kind.TIME), "date"), Kind.DATE)


def _datetime(value: exp.Expr, size: list[int]) -> exp.Expr:
    return call(PREFIX + "rounded_time", coerced(value, Kind.TIME), exp.Literal.number(size[0] if size else 0), kind=Kind.TIME)


def _timestamp(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return coerced(value, Kind.TIME)


def _time(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return call(PREFIX + "clock_text", coerced(value, Kind.CLOCK), kind=Kind.TEXT)


def _year(value: exp.Expr, _size: list[int]) -> exp.Expr:
    moment = kind_of(value) in {Kind.TIME, Kind.DATE}
    return call("year", value, kind=Kind.INTEGER) if moment else _signed(value, _size)


def _json(value: exp.Expr, _size: list[int]) -> exp.Expr:
    return coerced(value, Kind.JSON if kind_of(value) is Kind.TEXT else Kind.VALUE) if kind_of(value) is not Kind.JSON else value


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
    """The value as CAST makes it. Raises Unreadable."""
    size = [int(parameter.name) for parameter in to.expressions if parameter.name.isdigit()]
    build = _TYPES.get(to.this)
    if build is None or len(size) != len(to.expressions):
        raise Unreadable(f"CAST to {to.sql('mysql')} is not known; take SIGNED, UNSIGNED, DOUBLE, DECIMAL, CHAR, DATE, DATETIME, TIME, YEAR or JSON")
    return build(value, size)
