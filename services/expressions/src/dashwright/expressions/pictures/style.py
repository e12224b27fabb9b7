"""Style of a panel's values: units, decimals, minimum and maximum, thresholds, mappings and colours, with overrides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dashwright.common.json_shapes import object_of, objects_of, string_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.display_names import DisplayNames
from dashwright.expressions.pictures.field_overrides import Column, FieldConfigs
from dashwright.expressions.pictures.sections import number_of
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.theme import PALETTE, Theme, colour_of
from dashwright.expressions.pictures.units import Unit, unit_of

_MAX_TEXT_LENGTH: Final = 200
_MAX_UNIT_LENGTH: Final = 20
_MAX_DECIMALS: Final = 10
#: The colour of a threshold that is not drawn.
TRANSPARENT: Final = "transparent"


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """A step of thresholds: the colour of the values from ``value`` up to the next step."""

    value: float | None  #: None for the first step.
    colour: str


@dataclass(frozen=True, slots=True)
class Style:
    """The field configuration of a panel or series: the defaults, with overrides applied."""

    config: Mapping[str, Any]
    theme: Theme

    @property
    def unit(self) -> Unit:
        """The unit of the values."""
        return unit_of(string_of(self.config.get("unit")))

    @property
    def decimals(self) -> int | None:
        """The number of decimals, or None."""
        decimals = number_of(self.config.get("decimals"))
        return None if decimals is None else min(max(int(decimals), 0), _MAX_DECIMALS)

    @property
    def minimum(self) -> float | None:
        """The configured minimum, or None."""
        return number_of(self.config.get("min"))

    @property
    def maximum(self) -> float | None:
        """The configured maximum, or None."""
        return number_of(self.config.get("max"))

    @property
    def custom(self) -> Mapping[str, Any]:
        """The settings of the panel's type, such as the line width of a time series."""
        return object_of(self.config.get("custom"))

    def custom_string(self, setting: str, key: str) -> str:
        """Return the string ``key`` of the object ``setting`` in the custom settings; empty if it is missing."""
        return string_of(object_of(self.custom.get(setting)).get(key))

    def format_value(self, value: float | None) -> str:
        """Return the value as text: the text of a value mapping if one matches, else the value with its unit."""
        if (mapping_result := self._mapping_result(value)) and (mapped_text := string_of(mapping_result.get("text"))):
            return mapped_text[:_MAX_TEXT_LENGTH]
        if value is None:
            return string_of(self.config.get("noValue"))[:_MAX_TEXT_LENGTH] or "No data"
        return self._with_custom_unit(self.unit.format_value(value, self.decimals))

    def colour(self, value: float | None) -> str:
        """Return the colour of a value: that of a value mapping if one matches, else the fixed colour, else that of a threshold."""
        if (mapping_result := self._mapping_result(value)) and (mapped_colour := colour_of(mapping_result.get("color"), self.theme)):
            return mapped_colour
        if fixed_colour := self.fixed_colour:
            return fixed_colour
        steps = self.thresholds(minimum=self.minimum or 0, maximum=100 if self.maximum is None else self.maximum)
        return threshold_colour(steps, value, self.theme)

    @property
    def fixed_colour(self) -> str | None:
        """The fixed colour, or None."""
        colour_config = object_of(self.config.get("color"))
        return colour_of(colour_config.get("fixedColor"), self.theme) if colour_config.get("mode") in ("fixed", "shades") else None

    def thresholds(self, *, minimum: float, maximum: float) -> list[ThresholdStep]:
        """Return the steps by ascending value. Percentages are relative to the range from ``minimum`` to ``maximum``."""
        threshold_config = object_of(self.config.get("thresholds"))
        steps = []
        for step in objects_of(threshold_config.get("steps")):
            value = number_of(step.get("value"))
            if value is not None and threshold_config.get("mode") == "percentage":
                value = minimum + (maximum - minimum) * value / 100
            steps.append(ThresholdStep(value, _colour_of_step(step.get("color"), self.theme)))
        return sorted(steps, key=lambda step: float("-inf") if step.value is None else step.value)

    def _mapping_result(self, value: float | None) -> Mapping[str, Any] | None:
        return next(_mapping_results(objects_of(self.config.get("mappings")), value), None)

    def _with_custom_unit(self, text: str) -> str:
        """Return the text with a user-defined unit: ``suffix:``, ``prefix:`` or ``currency:`` followed by the unit."""
        kind, colon, unit = string_of(self.config.get("unit")).partition(":")
        unit = unit[:_MAX_UNIT_LENGTH]
        if colon and kind == "suffix":
            return f"{text} {unit}"
        return f"{unit}{text}" if colon and kind in ("prefix", "currency") else text


def style_of(panel: Panel, theme: Theme, series: PlotSeries | None = None) -> Style:
    """Return the style of the panel, or of one of its series."""
    return Style(panel.defaults, theme) if series is None else styles_of(panel, theme, [series])[0]


def styles_of(panel: Panel, theme: Theme, all_series: Sequence[PlotSeries]) -> list[Style]:
    """Return the style of each series of a panel."""
    configs = FieldConfigs(panel.defaults, panel.overrides)
    return [Style(configs.configure(_column(series)), theme) for series in all_series]


def display_name(style: Style, series: PlotSeries) -> str:
    """Return the configured display name, or the name of the series."""
    return (string_of(style.config.get("displayName")) or series.name)[:_MAX_TEXT_LENGTH]


def _column(series: PlotSeries) -> Column:
    if source := series.source:
        return Column(source.field, source.frame, source.names)
    field = Field(series.name, FieldType.FLOAT64, series.values)
    return Column(field, Frame([field], ref_id=series.ref_id), DisplayNames(()))


def series_colours(styles: Sequence[Style]) -> list[str]:
    """Return a colour for each style: its fixed colour, else the next one of the palette."""
    return [style.fixed_colour or PALETTE[index % len(PALETTE)] for index, style in enumerate(styles)]


def threshold_colour(steps: Sequence[ThresholdStep], value: float | None, theme: Theme) -> str:
    """Return the colour of the last step that the value reaches.

    It is the first colour of the palette if there are no steps, and the colour of text if the value is below all of them.
    """
    if not steps:
        return PALETTE[0]
    reached_steps = [step for step in steps if step.value is None or (value is not None and value >= step.value)]
    return reached_steps[-1].colour if reached_steps else theme.text


def _colour_of_step(value: Any, theme: Theme) -> str:
    return TRANSPARENT if value == TRANSPARENT else colour_of(value, theme) or theme.text


def _mapping_results(mappings: Sequence[Mapping[str, Any]], value: float | None) -> Iterator[Mapping[str, Any]]:
    """Yield the results of the value mappings that match. A result is an object with a ``text`` and a ``color``."""
    for mapping in mappings:
        kind, options = mapping.get("type"), object_of(mapping.get("options"))
        if kind == "value":
            for mapped_value, result in options.items():
                if value is not None and number_of(mapped_value) == value and isinstance(result, dict):
                    yield result
        elif kind == "range":
            start, end = number_of(options.get("from")), number_of(options.get("to"))
            if value is not None and (start is None or start <= value) and (end is None or value <= end):
                yield object_of(options.get("result"))
        elif kind == "special" and value is None and options.get("match") in ("null", "null+nan"):
            yield object_of(options.get("result"))
