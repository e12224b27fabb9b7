"""Macros of DuckDB for the functions of dates and times."""

from dashwright.expressions.sql import formats
from dashwright.expressions.sql.coercion import IS_STRING
from dashwright.expressions.sql.duckdb_sql import let, macro
from dashwright.expressions.sql.units import COMPOUND_UNITS

# For MySQL's WEEK(t, mode ``m``). Of the mode's bits, 1 means that weeks start on Monday and 2 that the days before the first
# week of a year belong to the last week of the previous year. A week belongs to the year of its anchor: its first day if
# the bits 4 and 1 are equal, else its fourth day.
_WEEK_ANCHOR = let(
    "$d - (case when $m & 1 = 1 then isodow($d) - 1 else isodow($d) % 7 end)::int"
    " + (case when ($m & 4 = 4) = ($m & 1 = 1) then 0 else 3 end)",
    d="t::date",
    m="m",
)
_WEEK = let(
    "case when $m & 2 = 2 or year($anchor) = $year then (dayofyear($anchor) - 1) // 7 + 1"
    " when year($anchor) < $year then 0 else (dayofyear($anchor - 7) - 1) // 7 + 2 end",
    anchor="mysql_week_anchor(t, m)",
    year="year(t)",
    m="m",
)
_YEARWEEK = let("year($anchor) * 100 + (dayofyear($anchor) - 1) // 7 + 1", anchor="mysql_week_anchor(t, m)")
# The number of whole months from ``w['a']`` to ``w['b']``: one less than the difference of the months if the later time is earlier
# within its month.
_MONTHS_BETWEEN = let(
    "$months - case when $months > 0 and $b_offset < $a_offset then 1 when $months < 0 and $b_offset > $a_offset then -1 else 0 end",
    months="(year(w['b']) - year(w['a'])) * 12 + month(w['b']) - month(w['a'])",
    a_offset="w['a'] - date_trunc('month', w['a'])",
    b_offset="w['b'] - date_trunc('month', w['b'])",
)
_STARTS_WITH_DATE = r"regexp_matches(x, '^\s*\d+-\d+-\d+')"

MACROS = (
    macro("week_anchor(t, m)", _WEEK_ANCHOR),
    macro("week_in_mode(t, m)", _WEEK),
    macro("yearweek_in_mode(t, m)", _YEARWEEK),
    macro("months_between(a, b)", "list_transform([{'a': a, 'b': b}], lambda w: " + _MONTHS_BETWEEN + ")[1]"),
    macro(
        "string_timediff_operand(x)",
        f"case when {_STARTS_WITH_DATE} then epoch_us(mysql_string_to_timestamp(x)) else mysql_string_to_time_of_day(x) end",
    ),
    macro(
        "timediff_operand(x)",
        f"case when {IS_STRING} then mysql_string_timediff_operand(cast(x as varchar))"
        " when try_cast(x as timestamp) is null then mysql_to_time_of_day(x) else epoch_us(try_cast(x as timestamp)) end",
    ),
    macro(
        "add_to_date_string(string, offset_interval)",
        "case when contains(string, ':') then cast(mysql_string_to_timestamp(string) + offset_interval as varchar)"
        " else strftime(mysql_string_to_timestamp(string) + offset_interval, '%Y-%m-%d') end",
    ),
    macro("str_to_date(string, format)", r"try_strptime(regexp_replace(trim(string), '\s*([^\w\s])\s*', '\1', 'g'), format)"),
    formats.macro(),
)


#: SQL for each field of a time of day ``x`` in microseconds.
TIME_OF_DAY_PARTS = {
    "HOUR": "abs(x) // 3600000000",
    "MINUTE": "abs(x) // 60000000 % 60",
    "SECOND": "abs(x) // 1000000 % 60",
    "MICROSECOND": "abs(x) % 1000000",
}
#: SQL for each field of a timestamp ``t``.
DATE_PARTS = {
    "YEAR": "year(t)",
    "QUARTER": "quarter(t)",
    "MONTH": "month(t)",
    "WEEK": "mysql_week_in_mode(t, 0)",
    "DAY": "day(t)",
}
#: The factor by which the preceding fields of a compound unit are multiplied before a field is added.
_WIDTHS = {"YEAR": 10_000, "MONTH": 100, "DAY": 100, "HOUR": 100, "MINUTE": 100, "SECOND": 100, "MICROSECOND": 1_000_000}


def part_macros() -> list[str]:
    """Return the macros that ``extract`` calls, one for each unit."""
    macros = [macro(f"part_{unit.lower()}(t)", body) for unit, body in DATE_PARTS.items()]
    macros += [macro(f"part_{unit.lower()}(x)", body) for unit, body in TIME_OF_DAY_PARTS.items()]
    for name, units in COMPOUND_UNITS.items():
        has_date = bool(set(units) & set(DATE_PARTS))
        time_of_day = "(epoch_us($x) % 86400000000)" if has_date else "$x"
        expression = ""
        for unit in units:
            if unit in DATE_PARTS:
                part = DATE_PARTS[unit].replace("(t", "($x")
            else:
                part = TIME_OF_DAY_PARTS[unit].replace("(x)", f"({time_of_day})")
            expression = f"({expression}) * {_WIDTHS[unit]} + {part}" if expression else part
        macros.append(macro(f"part_{name.lower()}(x)", expression, x="x"))
    return macros
