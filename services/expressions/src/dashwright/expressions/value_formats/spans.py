"""Units of time whose values are shown in the largest fitting unit, such as *1.5 hours*."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.expressions.value_formats.formatted import DateContext, FormattedValue, ValueFormat
from dashwright.expressions.value_formats.numbers import fixed_text


@dataclass(frozen=True, slots=True)
class _Step:
    """A unit in which a value is shown if its magnitude is below ``limit``."""

    limit: float
    size: float  #: In units of the value.
    name: str
    has_plural: bool = False  #: True if the name has an *s* for numbers above 1.


def span(unit: str) -> ValueFormat:
    """Return the format of values in ``unit``, a key of ``SPANS``. The steps and sizes are those of Grafana."""
    steps = SPANS[unit]

    def format_span(value: float, decimals: int | None, _context: DateContext) -> FormattedValue:
        # As in Grafana, only 0 seconds are not shown in a smaller unit.
        if not value and unit == "s":
            return FormattedValue("0", suffix=" s")
        # NaN is below no limit.
        step = next((step for step in steps if abs(value) < step.limit), steps[-1])
        # Sizes below 1, such as 1e-9, are inexact, but their inverses are whole numbers.
        scaled = value / step.size if step.size >= 1 else value * round(1 / step.size)
        plural = "s" if step.has_plural and abs(scaled) > 1 else ""
        return FormattedValue(fixed_text(scaled, decimals), suffix=f" {step.name}{plural}")

    return format_span


def time_ticks() -> ValueFormat:
    """Return the format of hundredths of seconds."""
    format_seconds = span("s")
    return lambda value, decimals, context: format_seconds(value / 100, decimals, context)


_INFINITE: Final = float("inf")
#: The steps of values by their unit.
SPANS: Final[dict[str, Sequence[_Step]]] = {
    "ns": (
        _Step(1e3, 1, "ns"),
        _Step(1e6, 1e3, "µs"),
        _Step(1e9, 1e6, "ms"),
        _Step(6e10, 1e9, "s"),
        _Step(3.6e12, 6e10, "min", True),
        _Step(8.64e13, 3.6e12, "hour", True),
        _Step(_INFINITE, 8.64e13, "day", True),
    ),
    "µs": (_Step(1e3, 1, "µs"), _Step(1e6, 1e3, "ms"), _Step(_INFINITE, 1e6, "s")),
    "ms": (
        _Step(1e3, 1, "ms"),
        _Step(6e4, 1e3, "s"),
        _Step(3.6e6, 6e4, "min", True),
        _Step(8.64e7, 3.6e6, "hour", True),
        _Step(3.1536e10, 8.64e7, "day", True),
        _Step(_INFINITE, 3.1536e10, "year", True),
    ),
    "s": (
        _Step(1e-6, 1e-9, "ns"),
        _Step(1e-3, 1e-6, "µs"),
        _Step(1, 1e-3, "ms"),
        _Step(60, 1, "s"),
        _Step(3600, 60, "min", True),
        _Step(86400, 3600, "hour", True),
        _Step(604800, 86400, "day", True),
        _Step(31536000, 604800, "week", True),
        _Step(_INFINITE, 3.15569e7, "year", True),
    ),
    "m": (
        _Step(60, 1, "min"),
        _Step(1440, 60, "hour", True),
        _Step(10080, 1440, "day", True),
        _Step(604800, 10080, "week", True),
        _Step(_INFINITE, 5.25948e5, "year", True),
    ),
    "h": (
        _Step(24, 1, "hour"),
        _Step(168, 24, "day", True),
        _Step(8760, 168, "week", True),
        _Step(_INFINITE, 8760, "year", True),
    ),
    "d": (
        _Step(7, 1, "day", True),
        _Step(365, 7, "week", True),
        _Step(_INFINITE, 365, "year", True),
    ),
}
