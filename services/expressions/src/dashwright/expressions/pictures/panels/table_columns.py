"""The columns of table panels: selection, width, and the order of rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from dashwright.common.json_shapes import list_of, member_at, number_of, object_of, objects_of, string_of
from dashwright.expressions.engine.frame import Field
from dashwright.expressions.pictures.display.columns import DisplayColumn, columns_of
from dashwright.expressions.pictures.display.values import Value, values_of
from dashwright.expressions.pictures.panels.drawing import NothingToDraw, PanelProps
from dashwright.expressions.pictures.panels.table_frames import shown_frame

#: The minimum width in pixels of a column without a configured width.
_DEFAULT_MIN_WIDTH: Final = 150.0
#: The minimum width in pixels of a column whose texts are cut.
_MIN_CUT_WIDTH: Final = 80.0
_MAX_COLUMNS: Final = 50
MIN_ROW_HEIGHT: Final = 36.0
#: Further rows are neither sorted nor shown.
_MAX_ROWS: Final = 100_000

_MAX_SORT_COLUMNS: Final = 10

Align = Literal["start", "middle", "end"]
_ALIGNMENTS: Final[dict[str, Align]] = {"left": "start", "center": "middle", "right": "end"}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table."""

    source: DisplayColumn
    siblings: Sequence[DisplayColumn]  #: All columns of the frame.
    rows: Sequence[int]  #: The positions in the frame of the first rows of the table, at most as many as the panel may show.
    values: Sequence[Value]  #: The values in these rows.
    raw: Sequence[Any]  #: The values in these rows as the query or a transformation returned them.
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
    columns = columns_of([shown_frame(frames, props.panel.options.get("frameIndex"))], props.field_settings)[0]
    visible = [column for column in columns if not _is_hidden(column)][:_MAX_COLUMNS]
    if not visible:
        raise NothingToDraw("All columns are hidden")
    order = _order_of_rows(columns, objects_of(props.panel.options.get("sortBy")))
    first_rows = order[: int(props.height // MIN_ROW_HEIGHT) + 1]
    return [
        TableColumn(
            source=column,
            siblings=columns,
            rows=first_rows,
            values=_values_at(column.field, first_rows),
            raw=column.field.values[first_rows].tolist(),
            row_count=len(column.field),
        )
        for column in visible
    ]


def widths(columns: Sequence[TableColumn], contents: Sequence[float], available: float) -> list[float]:
    """Return the widths of columns in pixels. ``contents`` are the widths that their texts need.

    As in Grafana, columns without a configured width share the rest equally, but none is narrower than its minimum. Pictures are
    not scrolled, so a table that would be wider than the panel is narrowed: columns become as wide as their texts, those with configured
    widths last. If that is not enough, the widest columns are cut, as long as they remain legible.
    """
    fixed = [min(width, available) if (width := number_of(column.custom.get("width"))) and width > 0 else None for column in columns]
    minimums = [number_of(column.custom.get("minWidth")) for column in columns]
    share = (available - sum(width for width in fixed if width)) / max(fixed.count(None), 1)
    column_widths = [
        max(min(minimum or _DEFAULT_MIN_WIDTH, available), share) if width is None else width
        for width, minimum in zip(fixed, minimums, strict=True)
    ]
    if sum(column_widths) <= available:
        return column_widths
    # First, columns without any configured width become as narrow as their texts, and share what is then left over.
    are_flexible = [width is None and not minimum for width, minimum in zip(fixed, minimums, strict=True)]
    column_widths = [
        min(width, content) if is_flexible else width
        for width, content, is_flexible in zip(column_widths, contents, are_flexible, strict=True)
    ]
    if any(are_flexible) and sum(column_widths) <= available:
        added = (available - sum(column_widths)) / are_flexible.count(True)
        return [width + added if is_flexible else width for width, is_flexible in zip(column_widths, are_flexible, strict=True)]
    # Then all columns lose an equal share of the width that their texts do not need.
    unused_widths = [max(width - content, 0.0) for width, content in zip(column_widths, contents, strict=True)]
    removed_share = min((sum(column_widths) - available) / (sum(unused_widths) or 1.0), 1.0)
    return _limited_widths([width - removed_share * unused for width, unused in zip(column_widths, unused_widths, strict=True)], available)


def _limited_widths(widths: Sequence[float], available: float) -> list[float]:
    """Return the widths, the largest reduced to one limit so that all fit. No width becomes less than ``_MIN_CUT_WIDTH``."""
    # From the narrowest on, widths are kept until all further ones, if they were equal, would need more than remains.
    remaining, limit = available, math.inf
    for count, width in zip(range(len(widths), 0, -1), sorted(widths), strict=True):
        if width * count > remaining:
            limit = remaining / count
            break
        remaining -= width
    return [min(width, max(limit, _MIN_CUT_WIDTH)) for width in widths]


def _values_at(field: Field, rows: Sequence[int]) -> list[Value]:
    """Return the values of a column in some rows."""
    nulls = None if field.nulls is None else field.nulls[rows]
    return values_of(replace(field, values=field.values[rows], nulls=nulls))


def _is_hidden(column: DisplayColumn) -> bool:
    custom = object_of(column.config.get("custom"))
    return custom.get("hidden") is True or member_at(custom, "hideFrom", "viz") is True


def _order_of_rows(columns: Sequence[DisplayColumn], sorting: Sequence[dict[str, Any]]) -> list[int]:
    """Return the indexes of rows sorted by the columns that the panel names; the first of these columns has priority."""
    order = list(range(min(len(columns[0].field), _MAX_ROWS)))
    for rule in reversed(sorting[:_MAX_SORT_COLUMNS]):
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


def strings_of(value: Any) -> list[str]:
    """Return the strings of a list."""
    return [item for item in list_of(value) if isinstance(item, str)]
