"""Data of bar charts: categories, and a value and a colour for each category and series."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.display.columns import columns_of
from dashwright.expressions.pictures.panels.columns import as_series, is_hidden, series_colour
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.plots.time_ticks import local_time
from dashwright.expressions.pictures.series import MAX_SERIES, float_values
from dashwright.expressions.pictures.style import Style

#: The minimum width of a category in pixels.
MIN_CATEGORY_SIZE: Final = 3.0
#: The maximum number of categories that are read from a frame. In a single frame, further ones are counted.
_MAX_CATEGORIES: Final = 4_000
#: The maximum number of characters of a category.
_MAX_LENGTH: Final = 100
_DAY_MS: Final = 86_400_000
_MINUTE_NS: Final = 60_000_000_000
_MILLISECOND_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class BarSeries:
    """A series of bars, one for each category."""

    name: str
    style: Style
    colour: str  #: The colour in the legend.
    values: NDArray[np.float64]  #: NaN for a category without a bar.
    colours: Sequence[str]  #: The colour of each bar.


@dataclass(frozen=True, slots=True)
class BarTable:
    """The categories and the bars of a panel."""

    categories: Sequence[str]
    series: Sequence[BarSeries]
    category_count: int  #: The number of categories, including the omitted ones.
    has_times: bool  #: True if the categories are times.


def bar_table(props: PanelProps) -> BarTable:
    """Return the bars of a panel's frames. Raises NothingToDraw if there are no categories or no numbers.

    As in Grafana, the categories are the texts of the configured column, else of the first column of texts, else times. Frames are
    joined by their categories.
    """
    x_name = props.panel.options.get("xField")
    category_fields = [(frame, x_field) for frame in props.frames if frame.row_count and (x_field := _category_field(frame, x_name))]
    category_fields = category_fields[:MAX_SERIES]
    if not category_fields:
        is_empty = not any(frame.row_count for frame in props.frames)
        raise NothingToDraw("No data" if is_empty else "No categories in the data, which bars need: a column of texts or times")
    labels = [_labels(props, x_field) for _, x_field in category_fields]
    # A single frame has one category for each row, even for equal texts. Several frames share equal categories.
    categories = (
        list(labels[0]) if len(category_fields) == 1 else list(dict.fromkeys(label for frame_labels in labels for label in frame_labels))
    )
    category_count = category_fields[0][0].row_count if len(category_fields) == 1 else len(categories)
    # As many as fit along the longer side of the panel.
    categories = categories[: max(int(max(props.width, props.height) // MIN_CATEGORY_SIZE), 1)]
    # Reversed, so that the first of equal categories remains.
    indexes = {label: index for index, label in reversed(list(enumerate(categories)))}
    numbers, rows_of = [], []
    for columns, (_, x_field), frame_labels in zip(
        columns_of([frame for frame, _ in category_fields], props.field_settings), category_fields, labels, strict=True
    ):
        # The category of each row of the frame; -1 for an omitted one.
        rows = range(len(categories)) if len(category_fields) == 1 else [indexes.get(label, -1) for label in frame_labels]
        number_columns = [column for column in columns if column.type == "number" and column.field is not x_field]
        numbers += number_columns
        rows_of += [rows] * len(number_columns)
    if not numbers:
        raise NothingToDraw("No numbers in the data")
    row_colours = _row_colours(props, category_fields, len(categories))
    all_series = []
    for column, rows in zip(as_series(numbers[:MAX_SERIES], props.theme), rows_of, strict=False):
        if is_hidden(column):
            continue
        values = np.full(len(categories), np.nan)
        for value, row in zip(float_values(column.field).tolist(), rows, strict=False):
            if row >= 0:
                values[row] = value
        colours = row_colours or [column.processor.display(value).colour for value in values.tolist()]
        all_series.append(BarSeries(column.name, Style(column.config, props.theme), series_colour(column), values, colours))
    if not any(np.isfinite(series.values).any() for series in all_series):
        raise NothingToDraw("No data")
    return BarTable(categories, all_series, category_count, category_fields[0][1].type is FieldType.TIME)


def _category_field(frame: Frame, name: Any) -> Field | None:
    """Return the column with a name, else the first one of texts, else of times, or None."""
    fields_of_name = [field for field in frame.fields if field.name == name]
    texts = [field for field in frame.fields if field.type in (FieldType.STRING, FieldType.BOOL, FieldType.ENUM)]
    times = [field for field in frame.fields if field.type is FieldType.TIME]
    return next(iter([*fields_of_name, *texts, *times]), None)


def _labels(props: PanelProps, field: Field) -> list[str]:
    """Return the categories of a column as text."""
    if field.type is FieldType.TIME:
        times = field.values[:_MAX_CATEGORIES]
        time_format = _time_format(times, props.end - props.start)
        return [f"{local_time(time / _MILLISECOND_NS, props.zone):{time_format}}" for time in times.tolist()]
    ((column,),) = columns_of([Frame([field])], props.field_settings)
    return [str(column.processor.display(value))[:_MAX_LENGTH] for value in column.values(_MAX_CATEGORIES)]


def _time_format(times: NDArray[np.int64], length: float) -> str:
    """Return the format of times in a range of a length in milliseconds: with dates, or with seconds if not all are whole minutes."""
    if length > _DAY_MS:
        return "%m/%d %H:%M"
    return "%H:%M:%S" if (times % _MINUTE_NS).any() else "%H:%M"


def _row_colours(props: PanelProps, category_fields: Sequence[tuple[Frame, Field]], count: int) -> list[str]:
    """Return the colours of categories, if the panel colours bars by a column; empty otherwise."""
    name = props.panel.options.get("colorByField")
    frame = category_fields[0][0]
    field = next((field for field in frame.fields if field.name == name), None)
    if not isinstance(name, str) or field is None or len(category_fields) > 1:
        return []
    ((column,),) = columns_of([Frame([field])], props.field_settings)
    return [column.processor.display(value).colour for value in column.values(count)]
