"""Functions of dates and times. Timestamps are in UTC; a MySQL TIME is a string such as ``12:30:00``."""

import re
from collections.abc import Sequence

from sqlglot import exp

from dashwright.expressions.sql import formats
from dashwright.expressions.sql.coercion import IS_TEXT, coerced
from dashwright.expressions.sql.duckdb_sql import call, cast, let, macro, text
from dashwright.expressions.sql.functions.function import Build, SqlFunction, alias, form, scalar, written
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import MOMENTS, SqlType, marked, type_of
from dashwright.expressions.sql.units import COMPOUND, DATE_UNITS, TIME_UNITS, interval, is_of_dates, unit_named

_I, _T = SqlType.INTEGER, SqlType.TEXT
_UTC_NOW = "cast(get_current_timestamp() as timestamp)"

# MySQL's WEEK(date, mode): depending on the mode, a week belongs to the year of its first or of its fourth day.
_ANCHOR = let(
    "$d - (case when $m & 1 = 1 then isodow($d) - 1 else isodow($d) % 7 end)::int"
    " + (case when ($m & 4 = 4) = ($m & 1 = 1) then 0 else 3 end)",
    d="t::date",
    m="m",
)
_WEEK = let(
    "case when $m & 2 = 2 or year($a) = $y then (dayofyear($a) - 1) // 7 + 1"
    " when year($a) < $y then 0 else (dayofyear($a - 7) - 1) // 7 + 2 end",
    a="mysql_week_anchor(t, m)",
    y="year(t)",
    m="m",
)
_YEARWEEK = let("year(v) * 100 + (dayofyear(v) - 1) // 7 + 1", a="mysql_week_anchor(t, m)")
_MONTHS = let(
    "$m - case when $m > 0 and $to < $from then 1 when $m < 0 and $to > $from then -1 else 0 end",
    **{
        "m": "(year(w['b']) - year(w['a'])) * 12 + month(w['b']) - month(w['a'])",
        "from": "w['a'] - date_trunc('month', w['a'])",
        "to": "w['b'] - date_trunc('month', w['b'])",
    },
)
_STARTS_WITH_DATE = r"regexp_matches(x, '^\s*\d+-\d+-\d+')"

MACROS = (
    macro("week_anchor(t, m)", _ANCHOR),
    macro("week_by(t, m)", _WEEK),
    macro("yearweek_by(t, m)", _YEARWEEK),
    macro("months_between(a, b)", "list_transform([{'a': a, 'b': b}], lambda w: " + _MONTHS + ")[1]"),
    macro("text_span(x)", f"case when {_STARTS_WITH_DATE} then epoch_us(mysql_text_time(x)) else mysql_text_clock(x) end"),
    macro(
        "span(x)",
        f"case when {IS_TEXT} then mysql_text_span(cast(x as varchar)) when try_cast(x as timestamp) is null then mysql_as_clock(x)"
        " else epoch_us(try_cast(x as timestamp)) end",
    ),
    macro(
        "shifted_date(x, i)",
        "case when contains(x, ':') then cast(mysql_text_time(x) + i as varchar) else strftime(mysql_text_time(x) + i, '%Y-%m-%d') end",
    ),
    macro("str_to_date(x, f)", r"try_strptime(regexp_replace(trim(x), '\s*([^\w\s])\s*', '\1', 'g'), f)"),
    formats.macro(),
)


def add_interval(moment: exp.Expr, amount: exp.Interval, sign: int) -> exp.Expr:
    """Return the timestamp plus the interval, or minus it if ``sign`` is negative. Dates remain dates, strings remain strings."""
    unit = unit_named(amount.text("unit") or "DAY")
    number = amount.this
    if sign < 0 and unit not in COMPOUND:
        number = marked(
            exp.Neg(this=exp.paren(coerced(number, SqlType.NUMBER), copy=False)), _I if type_of(number) is _I else SqlType.NUMBER
        )
    step = interval(number, unit)
    if step is None:
        raise InvalidStatement(
            f"'{unit}' is not supported by INTERVAL here; the amount of a compound unit such as DAY_HOUR must be a string"
        )
    add = exp.Sub if sign < 0 and unit in COMPOUND else exp.Add
    match type_of(moment):
        case SqlType.DATE if is_of_dates(unit):
            return marked(cast(add(this=moment, expression=step), "date"), SqlType.DATE)
        case SqlType.TEXT:
            offset = exp.Neg(this=step) if add is exp.Sub else step
            if is_of_dates(unit):
                return call("mysql_shifted_date", moment, offset, kind=_T)
            return marked(cast(exp.Add(this=coerced(moment, SqlType.TIME), expression=offset), "varchar"), _T)
    return marked(exp.paren(add(this=coerced(moment, SqlType.TIME), expression=step), copy=False), SqlType.TIME)


def _shift(sign: int, *, days: bool = False) -> Build:
    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        moment, amount = arguments
        if not isinstance(amount, exp.Interval):
            if not days:
                raise InvalidStatement("date_add and date_sub take an interval: date_add(t, INTERVAL 1 DAY)")
            amount = exp.Interval(this=amount, unit=exp.var("DAY"))
        return add_interval(moment, amount, sign)

    return build


def _timestampadd(arguments: Sequence[exp.Expr]) -> exp.Expr:
    unit, number, moment = arguments
    return add_interval(moment, exp.Interval(this=number, unit=exp.var(unit_named(unit.name))), 1)


def _timestampdiff(arguments: Sequence[exp.Expr]) -> exp.Expr:
    unit = unit_named(arguments[0].name)
    start, end = (coerced(argument, SqlType.TIME) for argument in arguments[1:])
    if unit in {"MONTH", "QUARTER", "YEAR"}:
        return _integer_quotient(call("mysql_months_between", start, end), DATE_UNITS[unit][1])
    micros = {"DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000, **TIME_UNITS}.get(unit)
    if micros is None:
        raise InvalidStatement(f"'{arguments[0].name}' is not a unit of time")
    return _integer_quotient(exp.paren(exp.Sub(this=call("epoch_us", end), expression=call("epoch_us", start)), copy=False), micros)


def _integer_quotient(number: exp.Expr, part: int) -> exp.Expr:
    return call("divide", number, exp.Literal.number(part), kind=_I)


_CLOCK_PARTS = {
    "HOUR": "abs(x) // 3600000000",
    "MINUTE": "abs(x) // 60000000 % 60",
    "SECOND": "abs(x) // 1000000 % 60",
    "MICROSECOND": "abs(x) % 1000000",
}
_DATE_PARTS = {
    "YEAR": "year(t)",
    "QUARTER": "quarter(t)",
    "MONTH": "month(t)",
    "WEEK": "mysql_week_by(t, 0)",
    "DAY": "day(t)",
}
_WIDTHS = {"YEAR": 10_000, "MONTH": 100, "DAY": 100, "HOUR": 100, "MINUTE": 100, "SECOND": 100, "MICROSECOND": 1_000_000}


def extract(unit: str, value: exp.Expr) -> exp.Expr:
    """Return one field of a timestamp, or the digits of several concatenated for a compound unit such as DAY_HOUR."""
    units = COMPOUND.get(unit, (unit,))
    of_dates = set(units) & set(_DATE_PARTS)
    if not of_dates and not set(units) <= set(_CLOCK_PARTS):
        raise InvalidStatement(f"'{unit}' is not a unit that EXTRACT supports")
    return call(f"mysql_part_{unit.lower()}", coerced(value, SqlType.TIME if of_dates else SqlType.CLOCK), kind=_I)


def _part_macros() -> list[str]:
    macros = [macro(f"part_{unit.lower()}(t)", body) for unit, body in _DATE_PARTS.items()]
    macros += [macro(f"part_{unit.lower()}(x)", body) for unit, body in _CLOCK_PARTS.items()]
    for name, units in COMPOUND.items():
        dated = bool(set(units) & set(_DATE_PARTS))
        clock = "(epoch_us(v) % 86400000000)" if dated else "v"
        total = ""
        for unit in units:
            one = _DATE_PARTS[unit].replace("(t", "(v") if unit in _DATE_PARTS else _CLOCK_PARTS[unit].replace("(x)", f"({clock})")
            total = f"({total}) * {_WIDTHS[unit]} + {one}" if total else one
        macros.append(macro(f"part_{name.lower()}(x)", total, x="x"))
    return macros


def _format(pattern: str | None, written: exp.Expr, moment: exp.Expr) -> exp.Expr:
    if pattern == "":
        return marked(exp.null(), SqlType.NULL)
    simple = formats.plain(pattern) if pattern is not None else None
    if simple is not None:
        return call("strftime", moment, text(simple), kind=_T)
    return call("mysql_format_time", moment, coerced(written, _T), kind=_T)


#: Punctuation with optional spaces, whose number may differ between format and parsed text.
_SPACED_PUNCTUATION = re.compile(r"\s*([^\w\s%])\s*")


def _literal(node: exp.Expr) -> str | None:
    return node.name if isinstance(node, exp.Literal) and node.is_string else None


def _date_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    moment, pattern = arguments
    return _format(_literal(pattern), pattern, coerced(moment, SqlType.TIME))


def _time_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    clock, pattern = arguments
    return _format(_literal(pattern), pattern, call("make_timestamp", coerced(clock, SqlType.CLOCK)))


def _from_unixtime(arguments: Sequence[exp.Expr]) -> exp.Expr:
    moment = call("mysql_from_unixtime", coerced(arguments[0], SqlType.NUMBER), kind=SqlType.TIME)
    return _date_format([moment, arguments[1]]) if len(arguments) == 2 else moment


def _str_to_date(arguments: Sequence[exp.Expr]) -> exp.Expr:
    pattern = _literal(arguments[1])
    simple = formats.plain(pattern) if pattern is not None else None
    if pattern is None or simple is None:
        raise InvalidStatement("the format of str_to_date must be a string literal without %D, %U, %u, %V and %X")
    read = call(
        "mysql_str_to_date",
        coerced(arguments[0], _T),
        text(_SPACED_PUNCTUATION.sub(r"\1", simple.replace("%-", "%").strip())),
        kind=SqlType.TIME,
    )
    match formats.parts(pattern):
        case True, False:
            return marked(cast(read, "date"), SqlType.DATE)
        case False, True:
            return call("mysql_clock_text", coerced(read, SqlType.CLOCK), kind=_T)
    return read


def _get_format(arguments: Sequence[exp.Expr]) -> exp.Expr:
    kind, style = arguments[0].name.upper(), arguments[1].name.upper()
    found = formats.GET_FORMAT.get(("DATETIME" if kind == "TIMESTAMP" else kind, style))
    if found is None:
        raise InvalidStatement("get_format takes DATE, TIME or DATETIME, and 'EUR', 'USA', 'JIS', 'ISO' or 'INTERNAL'")
    return text(found)


def _timediff(arguments: Sequence[exp.Expr]) -> exp.Expr:
    first, second = (_span(argument) for argument in arguments)
    return call("mysql_clock_text", exp.Sub(this=first, expression=second), kind=_T)


def _span(node: exp.Expr) -> exp.Expr:
    match type_of(node):
        case kind if kind in MOMENTS:
            return call("epoch_us", coerced(node, SqlType.TIME))
        case SqlType.TEXT:
            return call("mysql_text_span", node)
        case SqlType.UNKNOWN:
            return call("mysql_span", node)
    return coerced(node, SqlType.CLOCK)


def _now(gives: SqlType, body: str, *names: str, doc: str) -> list[SqlFunction]:
    def build(_arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call("mysql_" + names[0], kind=gives)

    # The optional argument, a number of fractional digits, is ignored.
    digits = 0 if gives is SqlType.DATE else 1
    first = written(names[0], f"{names[0]}()", doc, build, 0, digits, macro(f"{names[0]}()", body))
    return [first, *(alias(first, name) for name in names[1:])]


def _part(name: str, unit: str, doc: str) -> SqlFunction:
    return written(name, f"{name}(t)", doc, lambda arguments: extract(unit, arguments[0]), 1, 1)


TIMES = [
    written(
        "str_to_date",
        "str_to_date(x, format)",
        "`x` parsed as a date or time by the format; NULL if it does not match",
        _str_to_date,
        2,
        2,
        *MACROS,
        *_part_macros(),
    ),
    written("date_format", "date_format(t, format)", "`t` in the format", _date_format, 2, 2),
    written("time_format", "time_format(t, format)", "the time of day of `t` in the format", _time_format, 2, 2),
    written(
        "get_format",
        "get_format(DATE, 'ISO')",
        "the format string of a region or standard: `EUR`, `USA`, `JIS`, `ISO`, `INTERNAL`",
        _get_format,
        2,
        2,
    ),
    written("date_add", "date_add(t, INTERVAL n unit)", "`t` plus the interval", _shift(1), 2, 2),
    written("date_sub", "date_sub(t, INTERVAL n unit)", "`t` minus the interval", _shift(-1), 2, 2),
    written(
        "adddate", "adddate(t, INTERVAL n unit)", "`t` plus the interval, or plus `n` days for `adddate(t, n)`", _shift(1, days=True), 2, 2
    ),
    written(
        "subdate",
        "subdate(t, INTERVAL n unit)",
        "`t` minus the interval, or minus `n` days for `subdate(t, n)`",
        _shift(-1, days=True),
        2,
        2,
    ),
    written("timestampadd", "timestampadd(unit, n, t)", "`t` plus `n` units", _timestampadd, 3, 3),
    written("timestampdiff", "timestampdiff(unit, a, b)", "the number of whole units from `a` to `b`", _timestampdiff, 3, 3),
    _part("year", "YEAR", "the year"),
    _part("quarter", "QUARTER", "the quarter, 1 to 4"),
    _part("month", "MONTH", "the month, 1 to 12"),
    day := _part("day", "DAY", "the day of the month"),
    alias(day, "dayofmonth"),
    _part("hour", "HOUR", "the hour"),
    _part("minute", "MINUTE", "the minute"),
    _part("second", "SECOND", "the second"),
    _part("microsecond", "MICROSECOND", "the microseconds within the second"),
    scalar("weekday", _I, "0 for Monday to 6 for Sunday", form("t: time", "isodow(t) - 1")),
    scalar("dayofweek", _I, "1 for Sunday to 7 for Saturday", form("t: time", "dayofweek(t) + 1")),
    scalar("dayofyear", _I, "the day of the year", form("t: time", "dayofyear(t)")),
    scalar("dayname", _T, "the English name of the day", form("t: time", "dayname(t)")),
    scalar("monthname", _T, "the English name of the month", form("t: time", "monthname(t)")),
    scalar("last_day", SqlType.DATE, "the last date of the month", form("t: time", "last_day(t)")),
    scalar(
        "week",
        _I,
        "the week of the year in mode `m` (0 to 7, default 0)",
        form("t: time", let("mysql_week_by(v, 0)", t="t")),
        form("t: time, m: integer", let("mysql_week_by($t, $m)", t="t", m="m")),
    ),
    scalar(
        "yearweek",
        _I,
        "the year and week as `YYYYWW`, in mode `m` (default 0)",
        form("t: time", "mysql_yearweek_by(t, 0)"),
        form("t: time, m: integer", "mysql_yearweek_by(t, m)"),
    ),
    scalar("weekofyear", _I, "the ISO 8601 week", form("t: time", "week(t)")),
    scalar("datediff", _I, "the number of days from `b` to `a`", form("a: time, b: time", "date_diff('day', b::date, a::date)")),
    scalar(
        "from_days",
        SqlType.DATE,
        "the date of day number `n` since year 0",
        form("n: integer", "date '1970-01-01' + cast(n - 719528 as int)"),
    ),
    scalar("to_days", _I, "the number of the day since year 0", form("t: time", "date_diff('day', date '1970-01-01', t::date) + 719528")),
    scalar(
        "makedate", SqlType.DATE, "the `n`-th day of year `y`", form("y: integer, n: integer", "make_date(y, 1, 1) + cast(n - 1 as int)")
    ),
    scalar(
        "unix_timestamp",
        SqlType.NUMBER,
        "the seconds from 1970-01-01 UTC to `t`; without an argument, to the current time",
        form("", f"floor(epoch({_UTC_NOW}))"),
        form("t: time", "epoch(t)"),
    ),
    written(
        "from_unixtime",
        "from_unixtime(n[, format])",
        "the time `n` seconds after 1970-01-01 UTC, as a string if there is a format",
        _from_unixtime,
        1,
        2,
        macro("from_unixtime(n)", "case when v >= 0 then make_timestamp(cast(round(v * 1000000) as bigint)) end", n="n"),
    ),
    scalar("date", SqlType.DATE, "the date of `t`", form("t: time", "t::date")),
    scalar("timestamp", SqlType.TIME, "`t` as a date and time", form("t: time", "t")),
    scalar("time", _T, "the time of day of `t`", form("t: clock", "mysql_clock_text(t)")),
    scalar("time_to_sec", _I, "the time of day of `t`, in seconds", form("t: clock", "t // 1000000")),
    scalar("sec_to_time", _T, "`n` seconds as a time of day", form("n: number", "mysql_clock_text(cast(round(n * 1000000) as bigint))")),
    written("timediff", "timediff(a, b)", "`a - b` as a time of day, at most 838:59:59", _timediff, 2, 2),
    *_now(
        SqlType.TIME,
        _UTC_NOW,
        "now",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "sysdate",
        "utc_timestamp",
        doc="the current date and time, UTC",
    ),
    *_now(SqlType.DATE, f"{_UTC_NOW}::date", "curdate", "current_date", "utc_date", doc="the current date, UTC"),
    *_now(SqlType.TEXT, f"strftime({_UTC_NOW}, '%H:%M:%S')", "curtime", "current_time", "utc_time", doc="the current time of day, UTC"),
]
