"""Functions of dates and times. Timestamps are in UTC; a MySQL TIME is a string such as ``12:30:00``."""

import re
from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql import formats
from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro, string_literal
from dashwright.expressions.sql.functions import time_macros
from dashwright.expressions.sql.functions.function import Builder, SqlFunction, alias, custom, overload, scalar
from dashwright.expressions.sql.sql_type import TEMPORAL_TYPES, SqlType, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement
from dashwright.expressions.sql.units import COMPOUND_UNITS, DATE_UNITS, TIME_UNITS, interval, is_date_unit, unit_of_name

_INTEGER, _STRING = SqlType.INTEGER, SqlType.STRING
#: The number of the day 1970-01-01 since year 0.
_EPOCH_DAY = 719_528
_DAY_MICROSECONDS = 86_400_000_000
_UTC_NOW = "cast(get_current_timestamp() as timestamp)"


def add_interval(timestamp: exp.Expr, mysql_interval: exp.Interval, sign: int) -> exp.Expr:
    """Return the timestamp plus the interval, or minus it if ``sign`` is negative. Dates remain dates, strings remain strings."""
    unit = unit_of_name(mysql_interval.text("unit") or "DAY")
    amount = mysql_interval.this
    if sign < 0 and unit not in COMPOUND_UNITS:
        # The amount of a compound unit is a string, which cannot be negated. The interval is subtracted instead, see below.
        amount = with_type(
            exp.Neg(this=exp.paren(coerce(amount, SqlType.NUMBER), copy=False)),
            _INTEGER if type_of(amount) is _INTEGER else SqlType.NUMBER,
        )
    duckdb_interval = interval(amount, unit)
    if duckdb_interval is None:
        raise InvalidStatement(
            f"'{unit}' is not supported by INTERVAL here; the amount of a compound unit such as DAY_HOUR must be a string"
        )
    add = exp.Sub if sign < 0 and unit in COMPOUND_UNITS else exp.Add
    match type_of(timestamp):
        case SqlType.DATE if is_date_unit(unit):
            return with_type(cast(add(this=timestamp, expression=duckdb_interval), "date"), SqlType.DATE)
        case SqlType.STRING:
            offset = exp.Neg(this=duckdb_interval) if add is exp.Sub else duckdb_interval
            if is_date_unit(unit):
                return call("mysql_add_to_date_string", timestamp, offset, result_type=_STRING)
            return with_type(cast(exp.Add(this=coerce(timestamp, SqlType.TIMESTAMP), expression=offset), "varchar"), _STRING)
    return with_type(exp.paren(add(this=coerce(timestamp, SqlType.TIMESTAMP), expression=duckdb_interval), copy=False), SqlType.TIMESTAMP)


def _date_addition(sign: int, *, allow_days: bool = False) -> Builder:
    """Return a builder for a timestamp plus or minus an interval, or a number of days if ``allow_days``."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        timestamp, interval_or_days = arguments
        if isinstance(interval_or_days, exp.Interval):
            return add_interval(timestamp, interval_or_days, sign)
        if not allow_days:
            raise InvalidStatement("date_add and date_sub take an interval: date_add(t, INTERVAL 1 DAY)")
        return add_interval(timestamp, exp.Interval(this=interval_or_days, unit=exp.var("DAY")), sign)

    return build


def _timestampadd(arguments: Sequence[exp.Expr]) -> exp.Expr:
    unit, amount, timestamp = arguments
    return add_interval(timestamp, exp.Interval(this=amount, unit=exp.var(unit_of_name(unit.name))), 1)


def _timestampdiff(arguments: Sequence[exp.Expr]) -> exp.Expr:
    unit = unit_of_name(arguments[0].name)
    start, end = (coerce(argument, SqlType.TIMESTAMP) for argument in arguments[1:])
    if unit in {"MONTH", "QUARTER", "YEAR"}:
        _, months_per_unit = DATE_UNITS[unit]
        return _integer_quotient(call("mysql_months_between", start, end), months_per_unit)
    microseconds = {"DAY": _DAY_MICROSECONDS, "WEEK": 7 * _DAY_MICROSECONDS, **TIME_UNITS}.get(unit)
    if microseconds is None:
        raise InvalidStatement(f"'{arguments[0].name}' is not a unit of time")
    return _integer_quotient(exp.paren(exp.Sub(this=call("epoch_us", end), expression=call("epoch_us", start)), copy=False), microseconds)


def _integer_quotient(dividend: exp.Expr, divisor: int) -> exp.Expr:
    return call("divide", dividend, exp.Literal.number(divisor), result_type=_INTEGER)


def extract(unit: str, value: exp.Expr) -> exp.Expr:
    """Return one field of a timestamp. The fields of a compound unit such as DAY_HOUR are concatenated as digits."""
    units = COMPOUND_UNITS.get(unit, (unit,))
    date_units = set(units) & set(time_macros.DATE_PARTS)
    if not date_units and not set(units) <= set(time_macros.TIME_OF_DAY_PARTS):
        raise InvalidStatement(f"'{unit}' is not a unit that EXTRACT supports")
    return call(f"mysql_part_{unit.lower()}", coerce(value, SqlType.TIMESTAMP if date_units else SqlType.TIME_OF_DAY), result_type=_INTEGER)


def _format_time_call(pattern: str | None, pattern_node: exp.Expr, timestamp: exp.Expr) -> exp.Expr:
    """Return the formatted timestamp. ``pattern`` is the format if it is a literal, else None."""
    # As in MySQL, an empty format gives NULL.
    if pattern == "":
        return with_type(exp.null(), SqlType.NULL)
    duckdb_pattern = formats.strftime_format(pattern) if pattern is not None else None
    if duckdb_pattern is not None:
        return call("strftime", timestamp, string_literal(duckdb_pattern), result_type=_STRING)
    return call("mysql_format_time", timestamp, coerce(pattern_node, _STRING), result_type=_STRING)


#: Punctuation with optional spaces, whose number may differ between the format and the parsed string.
_SPACED_PUNCTUATION = re.compile(r"\s*([^\w\s%])\s*")


def _string_of_literal(node: exp.Expr) -> str | None:
    """Return the string of a string literal; None for any other expression."""
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _date_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    timestamp, pattern = arguments
    return _format_time_call(_string_of_literal(pattern), pattern, coerce(timestamp, SqlType.TIMESTAMP))


def _time_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    time_of_day, pattern = arguments
    return _format_time_call(_string_of_literal(pattern), pattern, call("make_timestamp", coerce(time_of_day, SqlType.TIME_OF_DAY)))


def _from_unixtime(arguments: Sequence[exp.Expr]) -> exp.Expr:
    timestamp = call("mysql_from_unixtime", coerce(arguments[0], SqlType.NUMBER), result_type=SqlType.TIMESTAMP)
    return _date_format([timestamp, arguments[1]]) if len(arguments) == 2 else timestamp


def _str_to_date(arguments: Sequence[exp.Expr]) -> exp.Expr:
    pattern = _string_of_literal(arguments[1])
    duckdb_pattern = formats.strftime_format(pattern) if pattern is not None else None
    if pattern is None or duckdb_pattern is None:
        raise InvalidStatement("the format of str_to_date must be a string literal without %D, %U, %u, %V and %X")
    # The ``-`` of ``%-m`` omits leading zeros in output; a parsed number may have them.
    parsing_pattern = _SPACED_PUNCTUATION.sub(r"\1", duckdb_pattern.replace("%-", "%").strip())
    parsed = call("mysql_str_to_date", coerce(arguments[0], _STRING), string_literal(parsing_pattern), result_type=SqlType.TIMESTAMP)
    has_date, has_time_of_day = formats.date_and_time_parts(pattern)
    if has_date and not has_time_of_day:
        return with_type(cast(parsed, "date"), SqlType.DATE)
    if has_time_of_day and not has_date:
        return call("mysql_time_of_day_to_string", coerce(parsed, SqlType.TIME_OF_DAY), result_type=_STRING)
    return parsed


def _get_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    type_name, style = arguments[0].name.upper(), arguments[1].name.upper()
    pattern = formats.GET_FORMAT.get(("DATETIME" if type_name == "TIMESTAMP" else type_name, style))
    if pattern is None:
        raise InvalidStatement("get_format takes DATE, TIME or DATETIME, and 'EUR', 'USA', 'JIS', 'ISO' or 'INTERNAL'")
    return string_literal(pattern)


def _timediff(arguments: Sequence[exp.Expr]) -> exp.Expr:
    first, second = (_timediff_operand(argument) for argument in arguments)
    return call("mysql_time_of_day_to_string", exp.Sub(this=first, expression=second), result_type=_STRING)


def _timediff_operand(node: exp.Expr) -> exp.Expr:
    """Return the microseconds of an argument of TIMEDIFF: since 1970 for a timestamp, since midnight for a time of day."""
    match type_of(node):
        case sql_type if sql_type in TEMPORAL_TYPES:
            return call("epoch_us", coerce(node, SqlType.TIMESTAMP))
        case SqlType.STRING:
            return call("mysql_string_timediff_operand", node)
        case SqlType.UNKNOWN:
            return call("mysql_timediff_operand", node)
    return coerce(node, SqlType.TIME_OF_DAY)


def _now_functions(result_type: SqlType, body: str, *names: str, doc: str) -> list[SqlFunction]:
    """Return a function for each name, all of which return the current time as the SQL ``body`` does."""

    def build(_arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call("mysql_" + names[0], result_type=result_type)

    # The optional argument, a number of fractional digits, is ignored.
    max_arguments = 0 if result_type is SqlType.DATE else 1
    function = custom(names[0], f"{names[0]}()", doc, build, macro(f"{names[0]}()", body), min_arguments=0, max_arguments=max_arguments)
    return [function, *(alias(function, name) for name in names[1:])]


def _part_function(name: str, unit: str, doc: str) -> SqlFunction:
    return custom(name, f"{name}(t)", doc, lambda arguments: extract(unit, arguments[0]), min_arguments=1, max_arguments=1)


TIMES = [
    custom(
        "str_to_date",
        "str_to_date(x, format)",
        "`x` parsed as a date or time by the format; NULL if it does not match",
        _str_to_date,
        # One function has the macros of all functions of this module, because macros are collected from functions.
        *time_macros.MACROS,
        *time_macros.part_macros(),
        min_arguments=2,
        max_arguments=2,
    ),
    custom("date_format", "date_format(t, format)", "`t` in the format", _date_format, min_arguments=2, max_arguments=2),
    custom("time_format", "time_format(t, format)", "the time of day of `t` in the format", _time_format, min_arguments=2, max_arguments=2),
    custom(
        "get_format",
        "get_format(DATE, 'ISO')",
        "the format string of a region or standard: `EUR`, `USA`, `JIS`, `ISO`, `INTERNAL`",
        _get_format,
        min_arguments=2,
        max_arguments=2,
    ),
    custom("date_add", "date_add(t, INTERVAL n unit)", "`t` plus the interval", _date_addition(1), min_arguments=2, max_arguments=2),
    custom("date_sub", "date_sub(t, INTERVAL n unit)", "`t` minus the interval", _date_addition(-1), min_arguments=2, max_arguments=2),
    custom(
        "adddate",
        "adddate(t, INTERVAL n unit)",
        "`t` plus the interval, or plus `n` days for `adddate(t, n)`",
        _date_addition(1, allow_days=True),
        min_arguments=2,
        max_arguments=2,
    ),
    custom(
        "subdate",
        "subdate(t, INTERVAL n unit)",
        "`t` minus the interval, or minus `n` days for `subdate(t, n)`",
        _date_addition(-1, allow_days=True),
        min_arguments=2,
        max_arguments=2,
    ),
    custom("timestampadd", "timestampadd(unit, n, t)", "`t` plus `n` units", _timestampadd, min_arguments=3, max_arguments=3),
    custom(
        "timestampdiff",
        "timestampdiff(unit, a, b)",
        "the number of whole units from `a` to `b`",
        _timestampdiff,
        min_arguments=3,
        max_arguments=3,
    ),
    _part_function("year", "YEAR", "the year"),
    _part_function("quarter", "QUARTER", "the quarter, 1 to 4"),
    _part_function("month", "MONTH", "the month, 1 to 12"),
    day := _part_function("day", "DAY", "the day of the month"),
    alias(day, "dayofmonth"),
    _part_function("hour", "HOUR", "the hour"),
    _part_function("minute", "MINUTE", "the minute"),
    _part_function("second", "SECOND", "the second"),
    _part_function("microsecond", "MICROSECOND", "the microseconds within the second"),
    scalar("weekday", _INTEGER, "0 for Monday to 6 for Sunday", overload("t: timestamp", "isodow(t) - 1")),
    scalar("dayofweek", _INTEGER, "1 for Sunday to 7 for Saturday", overload("t: timestamp", "dayofweek(t) + 1")),
    scalar("dayofyear", _INTEGER, "the day of the year", overload("t: timestamp", "dayofyear(t)")),
    scalar("dayname", _STRING, "the English name of the day", overload("t: timestamp", "dayname(t)")),
    scalar("monthname", _STRING, "the English name of the month", overload("t: timestamp", "monthname(t)")),
    scalar("last_day", SqlType.DATE, "the last date of the month", overload("t: timestamp", "last_day(t)")),
    scalar(
        "week",
        _INTEGER,
        "the week of the year in mode `m` (0 to 7, default 0)",
        overload("t: timestamp", let("mysql_week_in_mode($t, 0)", t="t")),
        overload("t: timestamp, m: integer", let("mysql_week_in_mode($t, $m)", t="t", m="m")),
    ),
    scalar(
        "yearweek",
        _INTEGER,
        "the year and week as `YYYYWW`, in mode `m` (default 0)",
        overload("t: timestamp", "mysql_yearweek_in_mode(t, 0)"),
        overload("t: timestamp, m: integer", "mysql_yearweek_in_mode(t, m)"),
    ),
    scalar("weekofyear", _INTEGER, "the ISO 8601 week", overload("t: timestamp", "week(t)")),
    scalar(
        "datediff",
        _INTEGER,
        "the number of days from `b` to `a`",
        overload("a: timestamp, b: timestamp", "date_diff('day', b::date, a::date)"),
    ),
    scalar(
        "from_days",
        SqlType.DATE,
        "the date of day number `n` since year 0",
        overload("n: integer", f"date '1970-01-01' + cast(n - {_EPOCH_DAY} as int)"),
    ),
    scalar(
        "to_days",
        _INTEGER,
        "the number of the day since year 0",
        overload("t: timestamp", f"date_diff('day', date '1970-01-01', t::date) + {_EPOCH_DAY}"),
    ),
    scalar(
        "makedate",
        SqlType.DATE,
        "the `n`-th day of year `y`",
        overload("y: integer, n: integer", "make_date(y, 1, 1) + cast(n - 1 as int)"),
    ),
    scalar(
        "unix_timestamp",
        SqlType.NUMBER,
        "the seconds from 1970-01-01 UTC to `t`; without an argument, to the current time",
        overload("", f"floor(epoch({_UTC_NOW}))"),
        overload("t: timestamp", "epoch(t)"),
    ),
    custom(
        "from_unixtime",
        "from_unixtime(n[, format])",
        "the time `n` seconds after 1970-01-01 UTC, as a string if there is a format",
        _from_unixtime,
        macro("from_unixtime(n)", "case when $n >= 0 then make_timestamp(cast(round($n * 1000000) as bigint)) end", n="n"),
        min_arguments=1,
        max_arguments=2,
    ),
    scalar("date", SqlType.DATE, "the date of `t`", overload("t: timestamp", "t::date")),
    scalar("timestamp", SqlType.TIMESTAMP, "`t` as a date and time", overload("t: timestamp", "t")),
    scalar("time", _STRING, "the time of day of `t`", overload("t: time_of_day", "mysql_time_of_day_to_string(t)")),
    scalar("time_to_sec", _INTEGER, "the time of day of `t`, in seconds", overload("t: time_of_day", "t // 1000000")),
    scalar(
        "sec_to_time",
        _STRING,
        "`n` seconds as a time of day",
        overload("n: number", "mysql_time_of_day_to_string(cast(round(n * 1000000) as bigint))"),
    ),
    custom("timediff", "timediff(a, b)", "`a - b` as a time of day, at most 838:59:59", _timediff, min_arguments=2, max_arguments=2),
    *_now_functions(
        SqlType.TIMESTAMP,
        _UTC_NOW,
        "now",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "sysdate",
        "utc_timestamp",
        doc="the current date and time, UTC",
    ),
    *_now_functions(SqlType.DATE, f"{_UTC_NOW}::date", "curdate", "current_date", "utc_date", doc="the current date, UTC"),
    *_now_functions(
        SqlType.STRING, f"strftime({_UTC_NOW}, '%H:%M:%S')", "curtime", "current_time", "utc_time", doc="the current time of day, UTC"
    ),
]
