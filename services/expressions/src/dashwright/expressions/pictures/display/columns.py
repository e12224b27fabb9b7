"""The columns of a panel's frames with their configuration, as Grafana's ``applyFieldOverrides`` prepares them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import numpy as np

from dashwright.common.json_shapes import number_of
from dashwright.expressions.engine.frame import Field, Frame
from dashwright.expressions.pictures.display.processor import ColumnTraits, DisplayProcessor
from dashwright.expressions.pictures.display.values import Value, values_of
from dashwright.expressions.pictures.display_names import ColumnNames
from dashwright.expressions.pictures.field_overrides import FieldConfigs, PanelColumn
from dashwright.expressions.pictures.theme import Theme
from dashwright.expressions.value_formats.formatted import DateContext

#: Times are shown with milliseconds if the column covers less than this, in milliseconds.
_MAX_DETAILED_SPAN: Final = 60_000
#: Further columns of a panel are ignored.
_MAX_COLUMNS: Final = 2_000


@dataclass(frozen=True, slots=True)
class DisplayColumn:
    """A column of a frame, with its configuration and the display of its values."""

    source: PanelColumn
    config: Mapping[str, Any]
    processor: DisplayProcessor

    @property
    def field(self) -> Field:
        """The column as the query returned it."""
        return self.source.field

    @property
    def frame(self) -> Frame:
        """The frame of the column."""
        return self.source.frame

    @property
    def name(self) -> str:
        """The display name."""
        return self.processor.traits.name

    @property
    def type(self) -> str:
        """Grafana's name of the column's type."""
        return self.processor.traits.type

    def values(self, limit: int | None = None) -> list[Value]:
        """Return the values, or the first ``limit`` ones."""
        return values_of(self.field, limit)

    def with_series_index(self, index: int, theme: Theme) -> "DisplayColumn":
        """Return the column with another position in the palette."""
        traits = replace(self.processor.traits, series_index=index)
        return replace(self, processor=DisplayProcessor(self.config, theme, traits))


@dataclass(frozen=True, slots=True)
class FieldSettings:
    """The field configuration of a panel, and other inputs of the display of its columns."""

    defaults: Mapping[str, Any]
    overrides: Sequence[Mapping[str, Any]]
    theme: Theme
    zone: tzinfo = UTC  #: The time zone of times, and of numbers that are shown as dates.


def columns_of(frames: Sequence[Frame], settings: FieldSettings) -> list[list[DisplayColumn]]:
    """Return the columns of each frame, in order."""
    names = ColumnNames(frames)
    configs = FieldConfigs(settings.defaults, settings.overrides)
    sources = [[PanelColumn(field, frame, names) for field in frame.fields[:_MAX_COLUMNS]] for frame in frames]
    common_range: tuple[float | None, float | None] | None = None
    result: list[list[DisplayColumn]] = []
    index = 0
    for frame_sources in sources:
        columns = []
        for source in frame_sources:
            config = configs.configure(source)
            value_range: tuple[float | None, float | None] = (None, None)
            if source.type == "number" and config.get("fieldMinMax") is True:
                value_range = _range_of([source])
            elif source.type == "number" and (number_of(config.get("min")) is None or number_of(config.get("max")) is None):
                common_range = common_range or _range_of([other for others in sources for other in others])
                value_range = common_range
            traits = ColumnTraits(source.type, value_range, index, source.display_name, _dates(source, settings))
            columns.append(DisplayColumn(source, config, DisplayProcessor(config, settings.theme, traits)))
            index += source.type != "time"
        result.append(columns)
    return result


def _range_of(columns: Sequence[PanelColumn]) -> tuple[float | None, float | None]:
    """Return the least and the greatest number of the columns of numbers; None if they have no numbers."""
    parts = [column.numbers for column in columns if column.type == "number" and len(column.field)]
    finite = [part[np.isfinite(part)] for part in parts]
    lows = [float(part.min()) for part in finite if len(part)]
    highs = [float(part.max()) for part in finite if len(part)]
    return (min(lows), max(highs)) if lows else (None, None)


def _dates(source: PanelColumn, settings: FieldSettings) -> DateContext:
    now = datetime.now(settings.zone)
    if source.type != "time":
        return DateContext(settings.zone, now)
    numbers = source.numbers
    span = abs(float(numbers[-1] - numbers[0])) if len(numbers) > 1 else math.inf
    is_detailed = span < _MAX_DETAILED_SPAN
    return DateContext(settings.zone, now, with_milliseconds=is_detailed)
