"""Formats of values in text, such as ``${name:csv}``, by Grafana's rules. A new format is one entry in ``FORMATS``."""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final
from urllib.parse import quote

from dashwright.expressions.value_formats.moment import LocalTime, format_date, local_time
from dashwright.expressions.variables.values import ALL, ALL_TEXT, Value

_REGEX_CHARACTERS: Final = re.compile(r"[\\^$*+?.()|\[\]{}/]")
_LUCENE_CHARACTERS: Final = re.compile(r'[!*+\-=<>\s&|()\[\]{}^~?:\\/"]')
_PROMETHEUS_CHARACTERS: Final = re.compile(r"[$^*{}\[\]'+?.()|]")
#: Characters that JavaScript's ``encodeURIComponent`` and ``encodeURI`` keep, without those that Grafana encodes in addition.
_COMPONENT_SAFE: Final = "-_.~"
_ADDRESS_SAFE: Final = ";,/?:@&=+$#-_.~"
#: Characters that Grafana keeps in parameters of its URLs.
_PARAMETER_SAFE: Final = "@:$,;-_.~"
_ISO_DATE: Final = "YYYY-MM-DD[T]HH:mm:ss.SSS[Z]"
#: The format of a reference without one.
DEFAULT: Final = "glob"


@dataclass(frozen=True, slots=True)
class FormatContext:
    """The name of the variable, the arguments of the format, and the time zone of dates."""

    name: str
    arguments: Sequence[str] = ()
    zone: tzinfo = UTC


Format = Callable[[Value, FormatContext], str]


def _join(value: Value, separator: str) -> str:
    return separator.join(value.values)


def _braced(value: Value) -> str:
    """Return several values as ``{a,b}``, and a single value unchanged."""
    return f"{{{_join(value, ',')}}}" if len(value.values) > 1 else value.first


def _alternatives(values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"({'|'.join(values)})"


def _quoted(mark: str, replace: Callable[[str], str]) -> Format:
    return lambda value, _: ",".join(f"{mark}{replace(item)}{mark}" for item in value.values)


def _regex(value: Value, _: FormatContext) -> str:
    return _alternatives([_REGEX_CHARACTERS.sub(r"\\\g<0>", item) for item in value.values])


def _lucene(value: Value, _: FormatContext) -> str:
    escaped = [_LUCENE_CHARACTERS.sub(r"\\\g<0>", item) for item in value.values]
    if not value.is_list:
        return escaped[0]
    quoted = [f'"{item}"' for item in escaped]
    # Grafana's word for an empty list, which no document contains.
    return f"({' OR '.join(quoted)})" if quoted else "__empty__"


def _distributed(value: Value, context: FormatContext) -> str:
    """Return the values as ``a,name=b,name=c``, to which a query in the notation of OpenTSDB prepends ``name=``."""
    return ",".join(item if index == 0 else f"{context.name}={item}" for index, item in enumerate(value.values))


def _json(value: Value, _: FormatContext) -> str:
    return json.dumps(value.values, ensure_ascii=False, separators=(",", ":")) if value.is_list else value.first


def _percent_encoded(safe: str) -> Format:
    return lambda value, _: quote(f"{{{_join(value, ',')}}}" if value.is_list else value.first, safe=safe)


def _text(value: Value, _: FormatContext) -> str:
    return ALL_TEXT if value.is_all else " + ".join(value.texts)


def _query_parameter(value: Value, context: FormatContext) -> str:
    values = (ALL,) if value.is_all else value.values or ("",)
    return "&".join(f"var-{context.name}={quote(item, safe=_PARAMETER_SAFE)}" for item in values)


def _custom_query_parameter(value: Value, context: FormatContext) -> str:
    name, prefix, *_ = (*context.arguments, "", "")
    start = f"{quote(name or context.name, safe=_COMPONENT_SAFE)}={quote(prefix, safe=_COMPONENT_SAFE)}"
    return "&".join(start + quote(item, safe=_COMPONENT_SAFE) for item in value.values)


def _date(value: Value, context: FormatContext) -> str:
    """Return milliseconds as a date: in ISO 8601, in seconds, or in a format of Moment.js; ``NaN`` for any other value."""
    try:
        milliseconds = None if value.is_list else int(value.first)
    except ValueError:
        milliseconds = None
    time = None if milliseconds is None else local_time(milliseconds, context.zone)
    if time is None:
        return "NaN"
    pattern = ":".join(context.arguments)
    if pattern == "seconds":
        return str(time.milliseconds // 1000)
    if pattern in ("", "iso"):
        return format_date(LocalTime(time.time.astimezone(UTC), time.cycles), _ISO_DATE)
    return format_date(time, pattern)


def _prometheus(value: Value, _: FormatContext) -> str:
    """Return the value for a string in PromQL: values of a selection are regular expressions."""
    if not value.is_selection:
        return _braced(value).replace("\\", "\\\\")
    # Backslashes of the regular expression are doubled, because PromQL reads escapes in strings.
    escaped = [_PROMETHEUS_CHARACTERS.sub(r"\\\\\g<0>", item.replace("\\", "\\\\\\\\").replace('"', '\\"')) for item in value.values]
    return _alternatives(escaped) if escaped else ""


def _sql(value: Value, _: FormatContext) -> str:
    """Return the value for a SQL statement: values of a selection are string literals."""
    escaped = [item.replace("'", "''") for item in value.values]
    return ",".join(f"'{item}'" for item in escaped) if value.is_selection or value.is_list else "".join(escaped)


#: The formats by name. The last two are defaults of data sources, which no dashboard names.
FORMATS: Final[Mapping[str, Format]] = {
    "csv": lambda value, _: _join(value, ","),
    "raw": lambda value, _: _join(value, ","),
    "pipe": lambda value, _: _join(value, "|"),
    "glob": lambda value, _: _braced(value),
    "join": lambda value, context: _join(value, context.arguments[0] if context.arguments else ","),
    "regex": _regex,
    "lucene": _lucene,
    "distributed": _distributed,
    "html": lambda value, _: html.escape(_join(value, ", ")).replace("&#x27;", "&#39;"),
    "json": _json,
    "percentencode": _percent_encoded(_COMPONENT_SAFE),
    "uriencode": _percent_encoded(_ADDRESS_SAFE),
    "singlequote": _quoted("'", lambda item: item.replace("'", "\\'")),
    "doublequote": _quoted('"', lambda item: item.replace('"', '\\"')),
    "sqlstring": _quoted("'", lambda item: item.replace("'", "''").replace('"', '\\"')),
    "text": _text,
    "queryparam": _query_parameter,
    "customqueryparam": _custom_query_parameter,
    "date": _date,
    ":prometheus": _prometheus,
    ":sql": _sql,
}

#: Formats that apply to *All* even if the variable has a text of its own for it.
_FORMATS_OF_ALL: Final = ("text", "queryparam")


def format_value(value: Value, name: str, format_name: str, arguments: Sequence[str] = (), zone: tzinfo = UTC) -> str:
    """Return the value in a format. An unknown format is ``glob``. The text that replaces *All* is not formatted."""
    if value.custom_all is not None and format_name not in _FORMATS_OF_ALL:
        # As in Grafana, the variables in the text are not replaced before it is encoded.
        return quote(value.custom_all_template, safe=_COMPONENT_SAFE) if format_name == "percentencode" else value.custom_all
    return FORMATS.get(format_name, FORMATS[DEFAULT])(value, FormatContext(name, arguments, zone))
