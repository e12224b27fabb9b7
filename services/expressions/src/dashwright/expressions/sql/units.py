"""MySQL's units of time, as in INTERVAL, EXTRACT and TIMESTAMPDIFF."""

import re
from collections.abc import Mapping

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.duckdb_sql import call, string_literal
from dashwright.expressions.sql.sql_type import SqlType, type_of

#: The function of DuckDB that returns an interval of each unit, and the factor by which its argument is multiplied.
DATE_UNITS = {
    "DAY": ("to_days", 1),
    "WEEK": ("to_days", 7),
    "MONTH": ("to_months", 1),
    "QUARTER": ("to_months", 3),
    "YEAR": ("to_months", 12),
}
#: The number of microseconds in each unit.
TIME_UNITS = {"HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000, "MICROSECOND": 1}

#: The units of which each compound unit consists.
COMPOUND_UNITS: Mapping[str, tuple[str, ...]] = {
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


def unit_of_name(name: str) -> str:
    """Return the name of a unit in upper case, without the prefix ``SQL_TSI_`` that TIMESTAMPDIFF allows."""
    return name.upper().removeprefix("SQL_TSI_")


def is_date_unit(unit: str) -> bool:
    """Return whether a date remains a date if this unit is added."""
    return unit in DATE_UNITS or unit == "YEAR_MONTH"


def interval(amount: exp.Expr, unit: str) -> exp.Expr | None:
    """Return DuckDB's interval of an amount of the unit.

    Returns None if the unit is unknown, or if it is compound and the amount is not a literal.
    """
    if unit in COMPOUND_UNITS:
        return _compound(amount, COMPOUND_UNITS[unit]) if isinstance(amount, exp.Literal) else None
    if unit in DATE_UNITS:
        function, factor = DATE_UNITS[unit]
        count = coerce(amount, SqlType.INTEGER)
        return call(function, exp.cast(_multiply(count, factor), "int", dialect="duckdb"))
    if unit not in TIME_UNITS:
        return None
    # Only seconds may have a fraction.
    if unit == "SECOND" and type_of(amount) is not SqlType.INTEGER:
        microseconds = coerce(
            exp.Mul(this=exp.paren(coerce(amount, SqlType.NUMBER), copy=False), expression=exp.Literal.number(1_000_000)),
            SqlType.INTEGER,
        )
        return call("to_microseconds", microseconds)
    return call("to_microseconds", _multiply(coerce(amount, SqlType.INTEGER), TIME_UNITS[unit]))


def _multiply(count: exp.Expr, factor: int) -> exp.Expr:
    return count if factor == 1 else exp.Mul(this=exp.paren(count, copy=False), expression=exp.Literal.number(factor))


def _compound(amount: exp.Literal, units: tuple[str, ...]) -> exp.Expr:
    """Return the interval of a compound unit, such as ``'1 12'`` of DAY_HOUR.

    If there are fewer numbers than units, they belong to the last units. A leading minus negates all numbers.
    """
    source = str(amount.this)
    sign = -1 if source.lstrip().startswith("-") else 1
    numbers = re.findall(r"\d+", source)[: len(units)]
    months = days = microseconds = 0
    for unit, digits in zip(units[len(units) - len(numbers) :], numbers, strict=True):
        # After another number, the digits of microseconds are a fraction of a second: those of 1.5 are 500000 microseconds.
        is_fraction = unit == "MICROSECOND" and len(numbers) > 1
        value = int(digits.ljust(6, "0")[:6]) if is_fraction else int(digits)
        match unit:
            case "YEAR":
                months += 12 * value
            case "MONTH":
                months += value
            case "DAY":
                days += value
            case _:
                microseconds += TIME_UNITS[unit] * value
    return exp.cast(
        string_literal(f"{sign * months} months {sign * days} days {sign * microseconds} microseconds"), "interval", dialect="duckdb"
    )
