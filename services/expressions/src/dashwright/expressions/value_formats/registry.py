"""The units of Grafana by id, and the units that users define with a prefix such as ``suffix:``."""

from collections.abc import Callable
from typing import Final

from dashwright.expressions.value_formats import dates, durations, notations, scales, spans
from dashwright.expressions.value_formats.currencies import CURRENCIES, custom_amount
from dashwright.expressions.value_formats.data_units import DATA_UNITS
from dashwright.expressions.value_formats.formatted import ValueFormat
from dashwright.expressions.value_formats.physical_units import PHYSICAL_UNITS

#: The maximum number of characters of a unit that a user defined.
_MAX_CUSTOM_LENGTH: Final = 100
#: The unit of times without a configured one.
SYSTEM_DATE: Final = "dateTimeAsSystem"

_PLAIN: Final = scales.suffixed("")
#: The format of values by the id of their unit.
VALUE_FORMATS: Final[dict[str, ValueFormat]] = {
    "": _PLAIN,
    "none": _PLAIN,
    "string": notations.unchanged,
    "short": scales.short(),
    "sishort": scales.si(""),
    "percent": notations.percent(1),
    "percentunit": notations.percent(100),
    "hex": notations.hexadecimal(""),
    "hex0x": notations.hexadecimal("0x"),
    "sci": notations.scientific,
    "locale": notations.grouped,
    "bool": notations.truth("True", "False"),
    "bool_yes_no": notations.truth("Yes", "No"),
    "bool_on_off": notations.truth("On", "Off"),
    **DATA_UNITS,
    **PHYSICAL_UNITS,
    **CURRENCIES,
    **{unit: spans.span(unit) for unit in spans.SPANS},
    "timeticks": spans.time_ticks(),
    "dtdurations": durations.words(1000, "second"),
    "dtdurationms": durations.words(1, "millisecond"),
    "dthms": durations.clock_of_seconds(with_days=False),
    "dtdhms": durations.clock_of_seconds(with_days=True),
    "clocks": durations.stopwatch(1000),
    "clockms": durations.stopwatch(1),
    "dateTimeAsIso": dates.date(dates.ISO),
    "dateTimeAsIsoNoDateIfToday": dates.date(dates.ISO, "HH:mm:ss"),
    "dateTimeAsUS": dates.date(dates.US),
    "dateTimeAsUSNoDateIfToday": dates.date(dates.US, "h:mm:ss a"),
    "dateTimeAsLocal": dates.date(dates.LOCAL),
    "dateTimeAsLocalNoDateIfToday": dates.date(dates.LOCAL, "hh:mm:ss\u202fA"),
    SYSTEM_DATE: dates.system_date(),
    "dateTimeFromNow": dates.relative_date(),
}

#: The format of a unit that a user defined, by the word before its colon. The argument is the text after the colon.
_CUSTOM_FORMATS: Final[dict[str, Callable[[str], ValueFormat]]] = {
    "suffix": scales.suffixed,
    "prefix": scales.prefixed,
    "time": dates.date,
    "si": scales.si_with_prefix,
    "count": scales.count,
    "currency": custom_amount,
    "bool": notations.custom_truth,
}


def value_format(unit_id: str) -> ValueFormat:
    """Return the format of a unit. An unknown id is the suffix of the values, as in Grafana."""
    if known_format := VALUE_FORMATS.get(unit_id):
        return known_format
    kind, colon, notation = unit_id.partition(":")
    if colon and (custom_format := _CUSTOM_FORMATS.get(kind)):
        return custom_format(notation[:_MAX_CUSTOM_LENGTH])
    return scales.suffixed(unit_id[:_MAX_CUSTOM_LENGTH])
