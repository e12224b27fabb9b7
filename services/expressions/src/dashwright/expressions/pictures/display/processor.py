"""The display of single values of a column, by the rules of Grafana's ``getDisplayProcessor``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from dashwright.common.json_shapes import list_of, member_at, number_of, string_of
from dashwright.expressions.javascript import values as javascript
from dashwright.expressions.javascript.comparisons import quotient
from dashwright.expressions.pictures.display.colour_math import text_colour_on
from dashwright.expressions.pictures.display.colour_modes import ColourContext, colouring_of, scheme_colours
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.display.value_mappings import mappings_of
from dashwright.expressions.pictures.display.values import Value, text_of
from dashwright.expressions.pictures.theme import Theme, colour_of
from dashwright.expressions.value_formats.formatted import DateContext
from dashwright.expressions.value_formats.registry import SYSTEM_DATE, value_format

_MAX_TEXT_LENGTH: Final = 1_000
#: The maximum of ``toFixed`` in JavaScript. Formats may use fewer.
_MAX_DECIMALS: Final = 100
#: The range of a column without numbers.
_DEFAULT_RANGE: Final = (0.0, 100.0)
#: The starts of the units of dates: of those of Grafana, and of those that users define.
_DATE_PREFIXES: Final = ("dateTime", "time:")
_STRING_UNIT: Final = "string"
#: The default unit of booleans. The other units of booleans begin with it.
_BOOLEAN_UNIT: Final = "bool"


@dataclass(frozen=True, slots=True)
class DisplayValue:
    """A value as a panel shows it."""

    text: str
    number: float  #: NaN for null and for text that is not a number.
    colour: str  #: As ``#rrggbb``, or ``transparent``.
    prefix: str = ""
    suffix: str = ""
    share: float | None = None  #: The place in the range of the column, 0 at its start and 1 at its end; None if a mapping coloured it.

    def __str__(self) -> str:
        return self.prefix + self.text + self.suffix

    @property
    def text_colour(self) -> str:
        """The colour, light or dark, of text on a background with the colour of the value."""
        return text_colour_on(self.colour) if self.colour.startswith("#") else "#ffffff"


@dataclass(frozen=True, slots=True)
class ColumnTraits:
    """Properties of a column, in addition to its configuration, on which the display of its values depends."""

    type: str = "number"  #: Grafana's name of the column's type.
    range: tuple[float | None, float | None] = (None, None)  #: The lowest and the highest number of the column or panel.
    series_index: int = 0  #: The position of the column among all columns of the panel that are not times.
    name: str = ""  #: The display name.
    dates: DateContext = field(default_factory=DateContext)


class DisplayProcessor:
    """The display of the values of a column."""

    def __init__(self, config: Mapping[str, Any], theme: Theme, traits: ColumnTraits | None = None) -> None:
        self.traits = traits or ColumnTraits()
        self.config = config
        self._theme = theme
        self._unit = self._effective_unit()
        self._format = value_format(self._unit)
        decimals = number_of(config.get("decimals"))
        self._decimals = None if decimals is None else int(min(max(decimals, 0), _MAX_DECIMALS))
        self._mapping_result = mappings_of(config)
        self._colouring = colouring_of(ColourContext(config, theme, self.traits.series_index, self.traits.name))
        self.range = self._effective_range()

    def with_unit(self, unit: str) -> "DisplayProcessor":
        """Return the display of values in another unit."""
        return DisplayProcessor({**self.config, "unit": unit}, self._theme, self.traits)

    def display(self, value: Value) -> DisplayValue:
        """Return the display of a value."""
        # Mappings of an enumeration replace the texts and colours of its members.
        if self.traits.type == "enum" and not self.config.get("mappings") and (member_display := self._enum_member(value)):
            return member_display
        if self._is_date and isinstance(value, str):
            value = _milliseconds(value)
        number = self._number(value)
        result = self._mapping_result(value)
        text = result.text if result else None
        colour = self._mapped_colour(result.colour) if result and result.colour else None
        prefix = suffix = ""
        if text is None and not math.isnan(number) and not isinstance(value, bool):
            formatted = self._format(number, self._decimals, self.traits.dates)
            text, prefix, suffix = formatted.text, formatted.prefix, formatted.suffix
        if text is None:
            text = text_of(value) or self._text_without_value()
        share = None
        if colour is None:
            share = self._share(number)
            colour = self._colour(number, share)
        return DisplayValue(text[:_MAX_TEXT_LENGTH], number, colour, prefix, suffix, share)

    def _mapped_colour(self, name: str) -> str | None:
        """Return the colour that a mapping names, or None if it is unknown."""
        return TRANSPARENT if name == TRANSPARENT else colour_of(name, self._theme)

    def _text_without_value(self) -> str:
        """Return the configured text of null and of empty text."""
        no_value = self.config.get("noValue")
        return text_of(no_value) if isinstance(no_value, str | int | float) else ""

    def number_text(self, number: float) -> str:
        """Return a number with the unit and decimals of the column, without mappings."""
        return str(self._format(number, self._decimals, self.traits.dates))

    def colour_at(self, number: float) -> str:
        """Return the colour of a number by the colour mode, without mappings."""
        return self._colour(number, self._share(number))

    @property
    def _is_date(self) -> bool:
        """True if the unit shows numbers as dates."""
        return self._unit.startswith(_DATE_PREFIXES)

    def _effective_unit(self) -> str:
        """Return the configured unit if it fits the type of the column, else the default unit of the type."""
        unit = string_of(self.config.get("unit"))
        if self.traits.type == "time":
            return unit if unit.startswith(_DATE_PREFIXES) else SYSTEM_DATE
        if self.traits.type == "boolean":
            return unit if unit.startswith(_BOOLEAN_UNIT) else _BOOLEAN_UNIT
        return _STRING_UNIT if self.traits.type == "string" and not unit else unit

    def _effective_range(self) -> tuple[float, float]:
        """Return the configured range, with missing ends taken from the numbers. Only numbers may have a single configured end."""
        low, high = self.traits.range
        if low is None or high is None:
            low, high = _DEFAULT_RANGE
        if self.traits.type not in ("number", "other"):
            return low, high
        configured_low, configured_high = number_of(self.config.get("min")), number_of(self.config.get("max"))
        return low if configured_low is None else configured_low, high if configured_high is None else configured_high

    def _number(self, value: Value) -> float:
        """Return a value as a number; NaN if it has none, or if the unit is that of texts."""
        if value is None or self._unit == _STRING_UNIT:
            return math.nan
        if not isinstance(value, str):
            return float(value)
        return javascript.number_of(value) if value else math.nan

    def _share(self, number: float) -> float:
        """Return the place of a number in the range, 0 at its start and 1 at its end.

        NaN and negative infinity are at the start. In an empty range, the place of any other number is infinite. Booleans are at 0 or 1.
        """
        if self.traits.type == "boolean":
            return float(math.isnan(number) or number != 0)
        low, high = self.range
        share = quotient(number - low, high - low)
        return 0.0 if math.isnan(share) or number == -math.inf else share

    def _colour(self, number: float, share: float) -> str:
        """Return the colour of a number at a place of the range: for booleans one of two, for others by the colour mode."""
        if self.traits.type == "boolean":
            colours = scheme_colours(self.config, self._theme) or [colour_of(name, self._theme) or "" for name in ("red", "green")]
            return colours[-1] if share else colours[0]
        # As in Grafana, NaN has the colour of the lowest numbers.
        return self._colouring(-math.inf if math.isnan(number) else number, share)

    def _enum_member(self, value: Value) -> DisplayValue | None:
        """Return the display of a member of an enumeration by its number, or None if the column is not an enumeration."""
        names = member_at(self.config, "type", "enum", "text")
        if not isinstance(names, list):
            return None
        if not isinstance(value, int | float) or math.isnan(value):
            return DisplayValue("", math.nan, self._theme.text)
        index = int(value)
        name = names[index] if 0 <= index < len(names) else index
        colours = list_of(member_at(self.config, "type", "enum", "color"))
        colour = colour_of(colours[index], self._theme) if 0 <= index < len(colours) else None
        context = ColourContext({"color": {"mode": "palette-classic"}}, self._theme, index, "")
        return DisplayValue(text_of(name)[:_MAX_TEXT_LENGTH], float(index), colour or colouring_of(context)(0, 0))


def _milliseconds(text: str) -> float:
    """Return the milliseconds since 1970 of a time in ISO 8601; NaN for other text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000
