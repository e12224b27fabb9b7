"""The columns of a panel's frames with their configuration, as Grafana's ``applyFieldOverrides`` prepares them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

import numpy as np

from dashwright.expressions.engine.frame import Field, Frame
from dashwright.expressions.javascript.values import float_of
from dashwright.expressions.pictures.display.column_ranges import ColumnRanges
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
    ranges = ColumnRanges([source for frame_sources in sources for source in frame_sources])
    result: list[list[DisplayColumn]] = []
    index = 0
    for frame_sources in sources:
        columns = []
        for source in frame_sources:
            # The configuration may guess another type.
            stored_type = source.type
            config = configs.configure(source)
            traits = ColumnTraits(source.type, ranges.of(source, stored_type), index, source.display_name, _date_context(source, settings))
            columns.append(DisplayColumn(source, config, DisplayProcessor(config, settings.theme, traits)))
            # Columns of times take no colour of the palette.
            index += source.type != "time"
        result.append(columns)
    return result


def _date_context(source: PanelColumn, settings: FieldSettings) -> DateContext:
    """Return how a column shows dates: in the zone, and with milliseconds if its times are close to each other."""
    now = datetime.now(settings.zone)
    if source.type != "time":
        return DateContext(settings.zone, now)
    span = abs(_time_at(source, -1) - _time_at(source, 0)) if len(source.field) > 1 else math.inf
    is_detailed = span < _MAX_DETAILED_SPAN
    return DateContext(settings.zone, now, with_milliseconds=is_detailed)


def _time_at(source: PanelColumn, index: int) -> float:
    """Return the first (0) or last (-1) time of a column in milliseconds since 1970; NaN if it is not known.

    As in Grafana, a null is 0, but a cell that a join added is not known, and neither is a text at the start.
    """
    absent, value = source.field.absent, source.field.values[index]
    if (absent is not None and absent[index]) or (isinstance(value, str) and not index):
        return math.nan
    if source.field.values.dtype == np.object_:
        return 0.0 if value is None else float_of(value)
    return float(np.nan_to_num(source.numbers[index]))
