"""MySQL's units of time, as in INTERVAL, EXTRACT and TIMESTAMPDIFF."""

import re
from collections.abc import Mapping

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.duckdb_sql import call, text
from dashwright.expressions.sql.sql_type import SqlType, type_of

DATE_UNITS = {
    "DAY": ("to_days", 1),
    "WEEK": ("to_days", 7),
    "MONTH": ("to_months", 1),
    "QUARTER": ("to_months", 3),
    "YEAR": ("to_months", 12),
}
TIME_UNITS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MICROSECOND": 1}

COMPOUND: Mapping[str, tuple[str, ...]] = {
    "SECOND_MICROSECOND": ("SECOND", "MICROSECOND"),
    "MINUTE_MICROSECOND": ("MINUTE", "SECOND", "MICROSECOND"),
    "MINUTE_SECOND": ("MINUTE", "SECOND"),
    "HOUR_MICROSECOND": ("HOUR", "MINUTE", "SECOND", "MICROSECOND"),
    "HOUR_SECOND": ("HOUR", "MINUTE", "SECOND"),
    "HOUR_MINUTE": ("HOUR", "MINUTE"),
    "DAY_MICROSECOND": ("DAY", "HOUR", "MINUTE", "SECOND", "MICROSECOND"),
    "DAY_SECOND": ("DAY", "HOUR", "MINUTE", "SECOND"),
    "DAY_MINUTE": ("DAY", "HOUR", "MINUTE"),
    "DAY_HOUR": ("DAY", "HOUR"),
    "YEAR_MONTH": ("YEAR", "MONTH"),
}
UNITS = frozenset(DATE_UNITS) | frozenset(TIME_UNITS)


def unit_named(name: str) -> str:
    """Return the unit of TIMESTAMPDIFF and similar functions without its prefix; an unknown one is unchanged."""
    return name.upper().removeprefix("SQL_TSI_")


def is_of_dates(unit: str) -> bool:
    """Return whether a date remains a date if this unit is added."""
    return unit in DATE_UNITS or unit == "YEAR_MONTH"


def interval(amount: exp.Expr, unit: str) -> exp.Expr | None:
    """Return DuckDB's interval of an amount of the unit.

    Returns None if the unit is unknown, or if it has several parts and the amount is not a text.
    """
    if unit in COMPOUND:
        return _compound(amount, COMPOUND[unit]) if isinstance(amount, exp.Literal) else None
    if unit in DATE_UNITS:
        function, each = DATE_UNITS[unit]
        whole = coerced(amount, SqlType.INTEGER)
        return call(function, exp.cast(_times(whole, each), "int", dialect="duckdb"))
    if unit not in TIME_UNITS:
        return None
    if unit == "SECOND" and type_of(amount) is not SqlType.INTEGER:
        micros = coerced(
            exp.Mul(this=exp.paren(coerced(amount, SqlType.NUMBER), copy=False), expression=exp.Literal.number(1_000_000)),
            SqlType.INTEGER,
        )
        return call("to_microseconds", micros)
    return call("to_microseconds", _times(coerced(amount, SqlType.INTEGER), TIME_UNITS[unit]))


def _times(whole: exp.Expr, each: int) -> exp.Expr:
    return whole if each == 1 else exp.Mul(this=exp.paren(whole, copy=False), expression=exp.Literal.number(each))


def _compound(amount: exp.Literal, units: tuple[str, ...]) -> exp.Expr:
    """Return an interval of several units. The numbers of the text belong to the last units; a leading minus negates all."""
    written = str(amount.this)
    sign = -1 if written.lstrip().startswith("-") else 1
    numbers = re.findall(r"\d+", written)[: len(units)]
    months = days = micros = 0
    for unit, digits in zip(units[len(units) - len(numbers) :], numbers, strict=True):
        number = int(digits.ljust(6, "0")[:6]) if unit == "MICROSECOND" and units[-1] == "MICROSECOND" and len(numbers) > 1 else int(digits)
        match unit:
            case "YEAR":
                months += 12 * number
            case "MONTH":
                months += number
            case "DAY":
                days += number
            case _:
                micros += TIME_UNITS[unit] * number
    return exp.cast(text(f"{sign * months} months {sign * days} days {sign * micros} microseconds"), "interval", dialect="duckdb")
