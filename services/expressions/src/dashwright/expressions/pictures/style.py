"""Style of a panel's values: units, decimals, minimum and maximum, thresholds, mappings and colours, with overrides."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.display.defaults import completed_defaults
from dashwright.expressions.pictures.display.processor import DisplayProcessor
from dashwright.expressions.pictures.display.thresholds import thresholds_of
from dashwright.expressions.pictures.display_names import ColumnNames
from dashwright.expressions.pictures.field_overrides import FieldConfigs, PanelColumn
from dashwright.expressions.pictures.series import PlotSeries
from dashwright.expressions.pictures.theme import Theme

_MAX_TEXT_LENGTH: Final = 200
_MAX_DECIMALS: Final = 10


@dataclass(frozen=True, slots=True)
class ThresholdStep:
    """A step of thresholds: the colour of the values from ``value`` up to the next step."""

    value: float | None  #: None for the first step.
    colour: str


# Not with slots, because the display of values is cached in an attribute.
@dataclass(frozen=True)
class Style:
    """The field configuration of a panel or series: the defaults, with overrides applied."""

    config: Mapping[str, Any]
    theme: Theme
    name: str = ""  #: The display name of the series; empty for a panel.

    @cached_property
    def processor(self) -> DisplayProcessor:
        """The display of numbers."""
        return DisplayProcessor(self.config, self.theme)

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
        return str(self.processor.display(value))[:_MAX_TEXT_LENGTH] or ("No data" if value is None else "")

    def thresholds(self, *, minimum: float, maximum: float) -> list[ThresholdStep]:
        """Return the steps by ascending value. Percentages are relative to the range from ``minimum`` to ``maximum``."""
        thresholds = thresholds_of(self.config, self.theme)
        starts = sorted(zip(thresholds.starts(minimum, maximum), thresholds.steps, strict=True), key=lambda pair: pair[0])
        return [ThresholdStep(None if math.isinf(start) else start, step.colour) for start, step in starts]


def style_of(panel: Panel, theme: Theme) -> Style:
    """Return the style of a panel without its overrides."""
    return Style(completed_defaults(panel.type, panel.defaults), theme)


def styles_of(panel: Panel, theme: Theme, all_series: Sequence[PlotSeries]) -> list[Style]:
    """Return the style of each series of a panel."""
    configs = FieldConfigs(completed_defaults(panel.type, panel.defaults), panel.overrides)
    return [_style(configs, _column(series), theme) for series in all_series]


def _style(configs: FieldConfigs, column: PanelColumn, theme: Theme) -> Style:
    """Return the style of a column after the rules of the panel."""
    # The name of a column depends on its configuration, so the column is configured first.
    config = configs.configure(column)
    return Style(config, theme, column.display_name[:_MAX_TEXT_LENGTH])


def _column(series: PlotSeries) -> PanelColumn:
    """Return the column that a series comes from, or a column for a series without one."""
    if source := series.source:
        return PanelColumn(source.field, source.frame, source.names)
    field = Field(series.name, FieldType.FLOAT64, series.values)
    return PanelColumn(field, Frame([field], ref_id=series.ref_id), ColumnNames(()))
