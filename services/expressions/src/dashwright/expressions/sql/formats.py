"""MySQL's formats of times, as formats of DuckDB."""

import re

from dashwright.expressions.sql import duckdb_sql

_SPECIFIER = re.compile(r"%(.)", re.DOTALL)

#: Specifiers that ``strftime`` has under the same or another letter.
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

#: SQL of the specifiers that ``strftime`` lacks.
COMPUTED = {
    "D": "day($t)::varchar || case when day($t) in (11, 12, 13) then 'th' when day($t) % 10 = 1 then 'st'"
    " when day($t) % 10 = 2 then 'nd' when day($t) % 10 = 3 then 'rd' else 'th' end",
    "U": "printf('%02d', mysql_week_by($t, 0))",
    "u": "printf('%02d', mysql_week_by($t, 1))",
    "V": "printf('%02d', mysql_week_by($t, 2))",
    "X": "printf('%04d', mysql_yearweek_by($t, 2) // 100)",
}

_TIME_OF_DAY = frozenset("fHhIiklprSsT")


def plain(pattern: str) -> str | None:
    """Return the format in DuckDB's specifiers, or None if one of them must be computed."""
    if any(letter in COMPUTED for letter in _SPECIFIER.findall(pattern)):
        return None
    return _SPECIFIER.sub(lambda found: SPECIFIERS.get(found[1], found[1].replace("%", "%%")), _lone_percent(pattern))


def _lone_percent(pattern: str) -> str:
    return pattern[:-1] + "%%" if pattern.endswith("%") and not pattern.endswith("%%") else pattern


def parts(pattern: str) -> tuple[bool, bool]:
    """Return whether a format has a part of a date, and one of a time of day."""
    letters = {letter for letter in _SPECIFIER.findall(pattern) if letter in SPECIFIERS or letter in COMPUTED} - {"%"}
    return bool(letters - _TIME_OF_DAY), bool(letters & _TIME_OF_DAY)


def macro() -> str:
    """Return the macro that writes a time ``t`` in any format ``f``, one specifier after another."""
    cases = [f"when '%{letter}' then strftime($t, '{written}')" for letter, written in SPECIFIERS.items() if letter != "%"]
    cases += [f"when '%{letter}' then {written}" for letter, written in COMPUTED.items()]
    specifiers = "list_transform(regexp_extract_all($f, '(?s)%.|[^%]+|%$'), lambda w: " + _CHOICE.format(cases=" ".join(cases)) + ")"
    return duckdb_sql.macro("format_time(t, f)", f"case when $t is not null then array_to_string({specifiers}, '') end", t="t", f="f")


_CHOICE = "case w {cases} else case when starts_with(w, '%') and length(w) > 1 then w[2:] else w end end"

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
