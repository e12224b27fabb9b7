"""Formatted values, and the functions that format them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo


@dataclass(frozen=True, slots=True)
class FormattedValue:
    """A value as text, in the parts that Grafana draws with different sizes."""

    text: str
    prefix: str = ""  #: Such as a currency sign.
    suffix: str = ""  #: Such as a unit, with the space before it.

    def __str__(self) -> str:
        return self.prefix + self.text + self.suffix


@dataclass(frozen=True, slots=True)
class DateContext:
    """The settings of a picture that affect the texts of dates."""

    zone: tzinfo = UTC
    now: datetime | None = None  #: The time to which *5 minutes ago* is relative. None: the time of the call.
    with_milliseconds: bool = False  #: True to show the milliseconds of dates without a format of their own.

    @property
    def current_time(self) -> datetime:
        """The current time in the zone."""
        return (self.now or datetime.now(UTC)).astimezone(self.zone)


#: A function that returns the text of a number. Its arguments are the number, the decimals (None: automatic) and the context.
ValueFormat = Callable[[float, int | None, DateContext], FormattedValue]
