"""Columns of any type with the names and styles that series have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dashwright.common.json_shapes import object_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.panels.drawing import PanelProps
from dashwright.expressions.pictures.series import MAX_SERIES, series_of
from dashwright.expressions.pictures.style import Style, display_name, style_of


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column with its display name and style."""

    field: Field
    name: str
    style: Style

    @property
    def is_hidden(self) -> bool:
        """True if the panel does not draw the column."""
        return object_of(self.style.custom.get("hideFrom")).get("viz") is True


def named_columns(props: PanelProps, columns: Sequence[tuple[Frame, Field]]) -> list[NamedColumn]:
    """Return columns, given with their frames, with their names and styles. Columns after the first ``MAX_SERIES`` are omitted."""
    columns = columns[:MAX_SERIES]
    # Only numbers are series, so that each column is named like a number in its place.
    all_series = series_of([Frame([_as_number(field)], frame.name, frame.ref_id) for frame, field in columns])
    styles = [style_of(props.panel, props.theme, series) for series in all_series]
    return [
        NamedColumn(field, display_name(style, series), style)
        for (_, field), series, style in zip(columns, all_series, styles, strict=True)
    ]


def _as_number(field: Field) -> Field:
    return replace(field, type=FieldType.FLOAT64, values=np.zeros(1), nulls=None)
