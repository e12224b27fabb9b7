"""MySQL's time formats, such as ``%Y-%m-%d %H:%i``, in DuckDB's notation."""

import re

from dashwright.expressions.sql import duckdb_sql

_SPECIFIER = re.compile(r"%(.)", re.DOTALL)

#: The specifier of DuckDB's ``strftime`` for each letter of MySQL's.
SPECIFIERS = {
    "a": "%a",
    "b": "%b",
    "c": "%-m",
    "d": "%d",
    "e": "%-d",
    "f": "%f",
    "H": "%H",
    "h": "%I",
    "I": "%I",
    "i": "%M",
    "j": "%j",
    "k": "%-H",
    "l": "%-I",
    "M": "%B",
    "m": "%m",
    "p": "%p",
    "r": "%I:%M:%S %p",
    "S": "%S",
    "s": "%S",
    "T": "%H:%M:%S",
    "v": "%V",
    "W": "%A",
    "w": "%w",
    "x": "%G",
    "Y": "%Y",
    "y": "%y",
    "%": "%%",
}

#: SQL for the specifiers that ``strftime`` does not have, by letter. It formats the timestamp ``$t``.
COMPUTED_SPECIFIERS = {
    "D": "day($t)::varchar || case when day($t) in (11, 12, 13) then 'th' when day($t) % 10 = 1 then 'st'"
    " when day($t) % 10 = 2 then 'nd' when day($t) % 10 = 3 then 'rd' else 'th' end",
    "U": "printf('%02d', mysql_week_in_mode($t, 0))",
    "u": "printf('%02d', mysql_week_in_mode($t, 1))",
    "V": "printf('%02d', mysql_week_in_mode($t, 2))",
    "X": "printf('%04d', mysql_yearweek_in_mode($t, 2) // 100)",
}

_TIME_OF_DAY_LETTERS = frozenset("fHhIiklprSsT")


def strftime_format(pattern: str) -> str | None:
    """Return the format for DuckDB's ``strftime``, or None if it has a specifier that must be computed."""
    if any(letter in COMPUTED_SPECIFIERS for letter in _SPECIFIER.findall(pattern)):
        return None
    return _SPECIFIER.sub(lambda match: SPECIFIERS.get(match[1], match[1].replace("%", "%%")), _escape_last_percent(pattern))


def _escape_last_percent(pattern: str) -> str:
    """Return the format with a single ``%`` at its end, which begins no specifier, doubled."""
    return pattern[:-1] + "%%" if pattern.endswith("%") and not pattern.endswith("%%") else pattern


def date_and_time_parts(pattern: str) -> tuple[bool, bool]:
    """Return whether a format has specifiers of a date, and whether it has specifiers of a time of day."""
    letters = {letter for letter in _SPECIFIER.findall(pattern) if letter in SPECIFIERS or letter in COMPUTED_SPECIFIERS} - {"%"}
    return bool(letters - _TIME_OF_DAY_LETTERS), bool(letters & _TIME_OF_DAY_LETTERS)


def macro() -> str:
    """Return the macro that formats a timestamp ``t`` by any format ``f``, one specifier after another."""
    cases = [f"when '%{letter}' then strftime($t, '{specifier}')" for letter, specifier in SPECIFIERS.items() if letter != "%"]
    cases += [f"when '%{letter}' then {expression}" for letter, expression in COMPUTED_SPECIFIERS.items()]
    # A chunk ``w`` of the format is a specifier, or other characters. The result of an unknown specifier is its letter.
    formatted_chunk = f"case w {' '.join(cases)} else case when starts_with(w, '%') and length(w) > 1 then w[2:] else w end end"
    formatted_chunks = f"list_transform(regexp_extract_all($f, '(?s)%.|[^%]+|%$'), lambda w: {formatted_chunk})"
    return duckdb_sql.macro("format_time(t, f)", f"case when $t is not null then array_to_string({formatted_chunks}, '') end", t="t", f="f")


#: Results of MySQL's GET_FORMAT by type and region or standard.
GET_FORMAT = {
    ("DATE", "USA"): "%m.%d.%Y",
    ("DATE", "JIS"): "%Y-%m-%d",
    ("DATE", "ISO"): "%Y-%m-%d",
    ("DATE", "EUR"): "%d.%m.%Y",
    ("DATE", "INTERNAL"): "%Y%m%d",
    ("DATETIME", "USA"): "%Y-%m-%d %H.%i.%s",
    ("DATETIME", "JIS"): "%Y-%m-%d %H:%i:%s",
    ("DATETIME", "ISO"): "%Y-%m-%d %H:%i:%s",
    ("DATETIME", "EUR"): "%Y-%m-%d %H.%i.%s",
    ("DATETIME", "INTERNAL"): "%Y%m%d%H%i%s",
    ("TIME", "USA"): "%h:%i:%s %p",
    ("TIME", "JIS"): "%H:%i:%s",
    ("TIME", "ISO"): "%H:%i:%s",
    ("TIME", "EUR"): "%H.%i.%s",
    ("TIME", "INTERNAL"): "%H%i%s",
}
