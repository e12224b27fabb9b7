"""The columns of table panels: which are shown, in which order of rows, and how wide."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from dashwright.common.json_shapes import list_of, member_at, number_of, object_of, objects_of, string_of
from dashwright.expressions.engine.frame import Field, FieldType, Frame
from dashwright.expressions.pictures.display.columns import DisplayColumn, columns_of
from dashwright.expressions.pictures.display.values import Value, values_of
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.svg import text_width

#: The least width of a column without a configured one, in pixels.
_DEFAULT_MIN_WIDTH: Final = 150.0
_MIN_WIDTH: Final = 40.0
_MAX_COLUMNS: Final = 50
MIN_ROW_HEIGHT: Final = 36.0
#: The number of rows by which the widths of columns are computed.
_MEASURED_ROWS: Final = 50
#: Further rows are neither sorted nor shown.
_MAX_ROWS: Final = 100_000

Align = Literal["start", "middle", "end"]
_ALIGNMENTS: Final[dict[str, Align]] = {"left": "start", "center": "middle", "right": "end"}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table."""

    source: DisplayColumn
    values: Sequence[Value]  #: The values in the first rows of the table, at most as many as the panel may show.
    row_count: int  #: The number of rows of the whole table.

    @property
    def custom(self) -> dict[str, Any]:
        """The settings of tables in the configuration of the column."""
        return object_of(self.source.config.get("custom"))

    @property
    def align(self) -> Align:
        """The side at which texts are: the configured one, else the right for numbers."""
        return _ALIGNMENTS.get(string_of(self.custom.get("align")), "end" if self.source.type == "number" else "start")


def table_columns(props: PanelProps) -> list[TableColumn]:
    """Return the columns that are not hidden, with their rows in the order of the panel. Raises NothingToDraw if all are hidden."""
    frames = [frame for frame in props.frames if frame.fields]
    if not frames:
        raise NothingToDraw("No data")
    found = columns_of([_shown_frame(frames, props.panel.options.get("frameIndex"))], props.field_settings)[0]
    visible = [column for column in found if not _is_hidden(column)][:_MAX_COLUMNS]
    if not visible:
        raise NothingToDraw("All columns are hidden")
    order = _order_of_rows(found, objects_of(props.panel.options.get("sortBy")))
    first_rows = order[: int(props.height // MIN_ROW_HEIGHT) + 1]
    return [TableColumn(column, _values_at(column.field, first_rows), len(column.field)) for column in visible]


def widths(columns: Sequence[TableColumn], texts: Sequence[Sequence[str]], size: float, available: float) -> list[float]:
    """Return the widths of columns in pixels. ``texts`` are those of the header and of the first rows of each column.

    Columns without a configured width share the rest equally, or by their content if the rest is too narrow.
    """
    fixed = [min(width, available) if (width := number_of(column.custom.get("width"))) and width > 0 else None for column in columns]
    rest = available - sum(width for width in fixed if width)
    automatic = [index for index, width in enumerate(fixed) if width is None]
    if not automatic:
        return [width or 0.0 for width in fixed]
    least = [number_of(columns[index].custom.get("minWidth")) or _DEFAULT_MIN_WIDTH for index in automatic]
    if rest / len(automatic) >= max(least):
        shares = [rest / len(automatic)] * len(automatic)
    else:
        contents = [_content_width(texts[index], size) for index in automatic]
        rest = max(rest, _MIN_WIDTH * len(automatic))
        shares = [content * rest / sum(contents) for content in contents]
    by_index = dict(zip(automatic, shares, strict=True))
    return [by_index[index] if width is None else width for index, width in enumerate(fixed)]


def _content_width(texts: Sequence[str], size: float) -> float:
    return max([_MIN_WIDTH, *(text_width(text[:200], size) + 16 for text in texts[:_MEASURED_ROWS])])


def _values_at(field: Field, rows: Sequence[int]) -> list[Value]:
    nulls = None if field.nulls is None else field.nulls[rows]
    return values_of(replace(field, values=field.values[rows], nulls=nulls))


def _is_hidden(column: DisplayColumn) -> bool:
    custom = object_of(column.config.get("custom"))
    return custom.get("hidden") is True or member_at(custom, "hideFrom", "viz") is True


def _order_of_rows(columns: Sequence[DisplayColumn], sorting: Sequence[dict[str, Any]]) -> list[int]:
    """Return the indexes of rows sorted by the columns that the panel names, the first one first."""
    order = list(range(min(len(columns[0].field), _MAX_ROWS)))
    for rule in reversed(sorting[:10]):
        column = next((column for column in columns if column.name == rule.get("displayName")), None)
        if column is not None:
            keys = [_sort_key(value) for value in column.values(_MAX_ROWS)]
            order.sort(key=keys.__getitem__, reverse=rule.get("desc") is True)
    return order


def _sort_key(value: Value) -> tuple[int, float, str]:
    """Return a key that sorts null and NaN before numbers, and numbers before text."""
    if isinstance(value, str):
        return 2, 0.0, value.casefold()
    if value is None or math.isnan(value):
        return 0, 0.0, ""
    return 1, float(value), ""


def _shown_frame(frames: Sequence[Frame], index: Any) -> Frame:
    """Return the frame that the panel selects, by default the first one; series become a frame with a row for each of them."""
    if isinstance(index, int) and 0 <= index < len(frames):
        return frames[index]
    are_series = len(frames) > 1 and all(_is_series(frame) for frame in frames)
    return _joined(frames) if are_series else frames[0]


def _is_series(frame: Frame) -> bool:
    return [field.type is FieldType.TIME for field in frame.fields] == [True, False] and frame.fields[1].type.is_numeric


def _joined(frames: Sequence[Frame]) -> Frame:
    """Return a frame with a row for each series: its last time, its labels and its last value."""
    rows = [frame for frame in frames if frame.row_count]
    fields = [frame.fields[1] for frame in rows]
    label_names = sorted({label_name for field in fields if field.labels for label_name in field.labels.keys})
    times = np.array([frame.fields[0].values[-1] for frame in rows], dtype=np.int64)
    columns = [Field(rows[0].fields[0].name if rows else "Time", FieldType.TIME, times)]
    for label_name in label_names:
        values = np.array([dict(field.labels.pairs).get(label_name) if field.labels else None for field in fields], dtype=object)
        columns.append(Field(label_name, FieldType.STRING, values))
    last_numbers = np.array([_last_number(field) for field in fields], dtype=np.float64)
    config = fields[0].config if fields else None
    columns.append(Field("Value", FieldType.FLOAT64, last_numbers, np.isnan(last_numbers), config=config))
    return Frame(columns, ref_id=frames[0].ref_id)


def _last_number(field: Field) -> float:
    """Return the last value of a column; NaN if it is null."""
    is_null = field.nulls is not None and field.nulls[-1]
    return math.nan if is_null else float(field.values[-1])


def strings_of(value: Any) -> list[str]:
    """Return the strings of a list."""
    return [item for item in list_of(value) if isinstance(item, str)]
