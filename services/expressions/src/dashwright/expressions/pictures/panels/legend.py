"""Legends of charts: names with their colours, as a list or as a table with values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.panels.distinct_names import distinct_names
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.svg import BOLD_WIDTH, path, rectangle, text_element, text_width, truncated

# Sizes are in pixels.
_SIZE: Final = 11.0
_ROW_HEIGHT: Final = 17.0
#: The possible heights of the rows of a table. The largest one with which all entries fit is used.
_TABLE_ROW_HEIGHTS: Final = (_ROW_HEIGHT, 15.0, 13.0)
_SWATCH_WIDTH: Final = 14.0
_SWATCH_HEIGHT: Final = 4.0
#: Between two entries of a list.
_GAP: Final = 14.0
#: Between a legend below the drawing and the left and right borders of the panel.
_MARGIN: Final = 8.0
#: Added to a height before rows are counted, because sums of row heights have rounding errors.
_TOLERANCE: Final = 0.1
#: Between a legend and the nearest border of the panel, and between the drawing and a legend to the right or below.
_BORDER_GAP: Final = 4
_GAP_TO_RIGHT: Final = 8
_GAP_TO_BOTTOM: Final = 6
#: Above and below a legend to the right.
_VERTICAL_MARGIN: Final = 6
#: From the middle of a row to the baseline of its text.
_BASELINE: Final = 4
#: Longer names are cut.
_MAX_NAME_WIDTH: Final = 320.0
#: The parts of a panel that a legend may take below and to the right, as in Grafana.
_BOTTOM_SHARE: Final = 0.35
_RIGHT_SHARE: Final = 0.6
#: The possible font sizes of a table. The largest one with which all columns fit is used.
_TABLE_SIZES: Final = (_SIZE, 10.0, 9.0)
#: The share of a table's width up to which names are not cut. To fit into it, they may have a smaller font.
_MAX_NAME_SHARE: Final = 0.6
#: The share of a table's width that names have at least.
_MIN_NAME_SHARE: Final = 0.25
#: Pixels between a swatch and a name.
_SWATCH_GAP: Final = 5.0
#: Pixels of the sign after the title of the column that orders a table, and of the gap before it.
_SIGN_WIDTH: Final = 10.0
#: Pixels between the title and the sign: of names, and of values, whose signs are at the right end.
_SIGN_GAP: Final = 4
_SIGN_GAP_AT_END: Final = 3
NAME_COLUMN: Final = "Name"
#: The size of the smallest panel that has a legend.
_MIN_PANEL_HEIGHT: Final = 100
_MIN_PANEL_WIDTH: Final = 140


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """An entry of a legend."""

    name: str
    colour: str
    values: Sequence[str] = ()  #: As text, one for each column of the legend.
    is_disabled: bool = False  #: True for a series that is not drawn.


@dataclass(frozen=True, slots=True)
class _Header:
    """The titles of the columns of values of a table, and its order."""

    columns: Sequence[str]
    sorted_title: str  #: The title of the column that orders the table, if any.
    is_descending: bool

    @staticmethod
    def of(options: Mapping[str, Any], columns: Sequence[str]) -> "_Header":
        """Return the header of a table with the options of its legend."""
        return _Header(columns, string_of(options.get("sortBy")), options.get("sortDesc") is True)

    def title_width(self, title: str, size: float) -> float:
        """Return the width in pixels of a title with its sign."""
        return text_width(title, size) * BOLD_WIDTH + (_SIGN_WIDTH if title == self.sorted_title else 0)

    def sign(self, x: float, y: float, colour: str) -> str:
        """Return an arrow head at the left and middle position x and y, which points down in a descending order."""
        height = 3 if self.is_descending else -3
        return path(f"M{x:.1f} {y - height / 2:.1f}l3 {height}l3 {-height}", stroke=colour, width=1.5)


def with_legend(
    props: PanelProps, entries: Sequence[LegendEntry], columns: Sequence[str] = (), *, default_placement: str = "bottom"
) -> tuple[list[str], Cell]:
    """Return the elements of a legend, and the rectangle that remains for the drawing. ``columns`` are the titles of values.

    A legend is omitted if the panel's options hide it, if the panel is too small, or if it has no entries.
    """
    options = object_of(props.panel.options.get("legend"))
    is_hidden = options.get("showLegend") is False or options.get("displayMode") == "hidden"
    panel_cell = Cell(0, 0, props.width, props.height)
    if is_hidden or not entries or props.height < _MIN_PANEL_HEIGHT or props.width < _MIN_PANEL_WIDTH:
        return [], panel_cell
    header = _Header.of(options, columns) if options.get("displayMode") == "table" else None
    if options.get("placement", default_placement) == "right":
        width = min(number_of(options.get("width")) or _natural_width(entries, header), props.width * _RIGHT_SHARE)
        area = Cell(props.width - width - _BORDER_GAP, _VERTICAL_MARGIN, width, props.height - 2 * _VERTICAL_MARGIN)
        return _table(props, entries, header, area), Cell(0, 0, props.width - width - (_BORDER_GAP + _GAP_TO_RIGHT), props.height)
    height_limit = props.height * _BOTTOM_SHARE
    # A list of names needs less room than a table of them.
    if header and columns:
        height = min((len(entries) + 1) * _table_row_height(len(entries) + 1, height_limit), height_limit)
        area = Cell(_MARGIN, props.height - height - _BORDER_GAP, props.width - 2 * _MARGIN, height)
        remaining_height = props.height - height - (_BORDER_GAP + _GAP_TO_BOTTOM)
        return _table(props, entries, header, area), Cell(0, 0, props.width, remaining_height)
    # Less a pixel, which ``_texts_width`` adds to the width of texts.
    entries = _with_cut_names(entries, min(props.width - (2 * _MARGIN + 1) - _SWATCH_WIDTH - _SWATCH_GAP, _MAX_NAME_WIDTH))
    rows = _list_rows(entries, props.width - 2 * _MARGIN)[: max(1, int(height_limit // _ROW_HEIGHT))]
    height = len(rows) * _ROW_HEIGHT
    omitted_count = len(entries) - sum(len(row) for row in rows)
    remaining_height = props.height - height - (_BORDER_GAP + _GAP_TO_BOTTOM)
    return _list(props, rows, props.height - height - _BORDER_GAP, omitted_count), Cell(0, 0, props.width, remaining_height)


def _table_row_height(count: int, height_limit: float) -> float:
    """Return the largest row height with which ``count`` rows fit into a height, both in pixels, or else the medium row height."""
    return next((height for height in _TABLE_ROW_HEIGHTS if count * height <= height_limit), _TABLE_ROW_HEIGHTS[1])


def _texts_width(entry: LegendEntry) -> float:
    """Return the width in pixels of an entry of a list with its values, with one pixel more, so that no text that fits is cut."""
    text = "  ".join([entry.name, *entry.values])
    return min(text_width(text, _SIZE), _MAX_NAME_WIDTH) + _SWATCH_WIDTH + (_SWATCH_GAP + 1)


def _natural_width(entries: Sequence[LegendEntry], header: _Header | None) -> float:
    """Return the width in pixels of a legend to the right, if it may be as wide as needed."""
    if header is None:
        return max(_texts_width(entry) for entry in entries) + 8
    names_width = max(min(text_width(entry.name, _SIZE), _MAX_NAME_WIDTH) for entry in entries) + _SWATCH_WIDTH + 20
    if not header.columns:
        names_width = max(names_width, header.title_width(NAME_COLUMN, _SIZE) + _SWATCH_WIDTH + _SWATCH_GAP)
    return names_width + sum(_column_widths(entries, header, _SIZE))


def _column_widths(entries: Sequence[LegendEntry], header: _Header, size: float) -> list[float]:
    """Return the widths in pixels that the columns of values need, with a gap of one font size before each."""
    return [
        max(header.title_width(title, size), *(text_width(entry.values[index], size) for entry in entries)) + size
        for index, title in enumerate(header.columns)
    ]


def _list_rows(entries: Sequence[LegendEntry], width: float) -> list[list[LegendEntry]]:
    """Return the entries in rows that fit into a width in pixels."""
    rows: list[list[LegendEntry]] = [[]]
    used = 0.0
    for entry in entries:
        entry_width = _texts_width(entry) + _GAP
        if rows[-1] and used + entry_width > width:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += entry_width
    return rows


def _list(props: PanelProps, rows: Sequence[Sequence[LegendEntry]], top: float, omitted_count: int) -> list[str]:
    """Return the rows of a list below each other, and the number of omitted entries above the right end of the first one."""
    elements: list[str] = []
    for index, row in enumerate(rows):
        x, y = _MARGIN, top + index * _ROW_HEIGHT
        for entry in row:
            width = min(_texts_width(entry), props.width - x - _MARGIN)
            elements += _entry(props, entry, x, y, width)
            x += width + _GAP
    return elements if not omitted_count else [*elements, _omission(props, omitted_count, props.width - _MARGIN, top - 3)]


def _entry(
    props: PanelProps, entry: LegendEntry, x: float, y: float, width: float, size: float = _SIZE, height: float = _ROW_HEIGHT
) -> list[str]:
    """Return the swatch, the name and the values of an entry, in a row of a height."""
    text_x, baseline = x + _SWATCH_WIDTH + _SWATCH_GAP, y + height / 2 + _BASELINE
    text = truncated("  ".join([entry.name, *entry.values]), size, width - _SWATCH_WIDTH - _SWATCH_GAP + 1)
    colour = props.theme.muted if entry.is_disabled else props.theme.text
    return [_swatch(props, entry, x, y + (height - _SWATCH_HEIGHT) / 2), text_element(text, text_x, baseline, size=size, colour=colour)]


def _swatch(props: PanelProps, entry: LegendEntry, x: float, y: float) -> str:
    colour = props.theme.grid if entry.is_disabled else entry.colour
    return rectangle(x, y, _SWATCH_WIDTH, _SWATCH_HEIGHT, colour, radius=2)


def _table(props: PanelProps, entries: Sequence[LegendEntry], header: _Header | None, area: Cell) -> list[str]:
    """Return the entries one below another, with their values in columns or, without columns, next to their names."""
    columns = header.columns if header else ()
    header_rows = 1 if header else 0
    row_height = _table_row_height(len(entries) + header_rows, area.height + _TOLERANCE)
    fitting_count = max(1, int((area.height + _TOLERANCE) // row_height) - header_rows)
    visible_entries = entries[:fitting_count]
    size, widths = _fitting_widths(visible_entries, header, area.width) if header else (_SIZE, [])
    name_width = area.width - sum(widths)
    if columns:
        names = distinct_names([entry.name for entry in visible_entries], size, _names_width(area.width, widths))
        table_entries = [replace(entry, name=name, values=()) for entry, name in zip(visible_entries, names, strict=True)]
    else:
        table_entries = _with_cut_names(visible_entries, name_width - _SWATCH_WIDTH - _SWATCH_GAP)
    elements: list[str] = []
    for index, entry in enumerate(table_entries):
        y = area.y + (index + header_rows) * row_height
        elements += _entry(props, entry, area.x, y, name_width, size, row_height)
    if header:
        lines = "".join(f"M{area.x:.1f} {area.y + row * row_height:.1f}h{area.width:.1f}" for row in range(1, len(visible_entries) + 2))
        elements += [path(lines, stroke=props.theme.border), *_names_title(props, header, replace(area, height=row_height), widths, size)]
        rights = [area.x + name_width + total for total in accumulate(widths)]
        for index, (title, right) in enumerate(zip(columns, rights, strict=False)):
            elements += _values_title(props, header, title, (right, area.y + row_height / 2), size)
            for row, entry in enumerate(visible_entries):
                # Rows are below the header, and texts in their middle.
                y = area.y + (row + 1.5) * row_height + _BASELINE
                elements.append(text_element(entry.values[index], right, y, size=size, colour=props.theme.text, anchor="end"))
    omitted_count = len(entries) - len(visible_entries)
    return elements if not omitted_count else [*elements, _omission(props, omitted_count, area.x + area.width, area.y + area.height + 4)]


def _names_title(props: PanelProps, header: _Header, area: Cell, widths: Sequence[float], size: float) -> list[str]:
    """Return the title of the names, with the number of the columns that do not fit. ``widths`` are those of the columns that do."""
    left, middle = area.x + _SWATCH_WIDTH + _SWATCH_GAP, area.y + area.height / 2
    further = f" (+{len(header.columns) - len(widths)})" if len(widths) < len(header.columns) else ""
    title = truncated(f"{NAME_COLUMN}{further}", size, area.width - sum(widths))
    elements = [text_element(title, left, middle + _BASELINE, size=size, colour=props.theme.link, bold=True)]
    if header.sorted_title == NAME_COLUMN:
        elements.append(header.sign(left + text_width(title, size) * BOLD_WIDTH + _SIGN_GAP, middle, props.theme.link))
    return elements


def _values_title(props: PanelProps, header: _Header, title: str, position: tuple[float, float], size: float) -> list[str]:
    """Return the title of a column of values. ``position`` is that of its right end and of the middle of its height."""
    (right, middle), colour = position, props.theme.link
    is_sorted = title == header.sorted_title
    end = right - _SIGN_WIDTH if is_sorted else right
    text = text_element(title, end, middle + _BASELINE, size=size, colour=colour, anchor="end", bold=True)
    return [text, header.sign(end + _SIGN_GAP_AT_END, middle, colour)] if is_sorted else [text]


def _fitting_widths(entries: Sequence[LegendEntry], header: _Header, width: float) -> tuple[float, list[float]]:
    """Return the font size of a table, and the widths of its first columns, as many as leave enough of ``width`` to the names."""
    # Font sizes with which all columns fit if long names are cut, and the widths of the columns.
    fitting_choices: list[tuple[float, list[float]]] = []
    widths: list[float] = []
    values_limit = 0.0
    for size in _TABLE_SIZES:
        names_width = max(min(text_width(entry.name, size), _MAX_NAME_WIDTH) for entry in entries) + _SWATCH_WIDTH + size
        widths = _column_widths(entries, header, size)
        remaining = width - sum(widths)
        if remaining >= min(names_width, width * _MAX_NAME_SHARE):
            return size, widths
        values_limit = width - min(names_width, width * _MIN_NAME_SHARE)
        if sum(widths) <= values_limit:
            fitting_choices.append((size, widths))
    if fitting_choices:
        # The size with which most names remain distinct.
        names = [entry.name for entry in entries]
        return max(fitting_choices, key=lambda choice: len(set(distinct_names(names, choice[0], _names_width(width, choice[1])))))
    fitting_count = sum(total <= values_limit for total in accumulate(widths))
    return _TABLE_SIZES[-1], widths[:fitting_count]


def _names_width(width: float, widths: Sequence[float]) -> float:
    """Return the width in pixels of the names of a table with columns of some widths."""
    return width - sum(widths) - _SWATCH_WIDTH - 4


def _with_cut_names(entries: Sequence[LegendEntry], width: float) -> list[LegendEntry]:
    """Return entries of a list whose distinct names fit into a width in pixels next to their values, unless the values need too much."""
    values_width = max((text_width("  ".join(["", *entry.values]), _SIZE) for entry in entries), default=0.0)
    names_width = width - values_width
    names = distinct_names([entry.name for entry in entries], _SIZE, names_width if names_width >= width * _MIN_NAME_SHARE else width)
    return [replace(entry, name=name) for entry, name in zip(entries, names, strict=True)]


def _omission(props: PanelProps, count: int, right: float, y: float) -> str:
    return text_element(f"{count} more", right, y, size=9, colour=props.theme.muted, anchor="end")
