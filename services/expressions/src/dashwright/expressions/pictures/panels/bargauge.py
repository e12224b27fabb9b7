"""Bar gauges: a bar for each value, from a minimum to a maximum, in a row or in a column."""

import math
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.display.colour_math import mixed
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.panels.bar_fills import FILLS, GaugeBar, gradient_fill
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import (
    LINE_HEIGHT,
    content_area,
    font_size,
    longest,
    names_of,
    omission_notes,
    panel_items,
)
from dashwright.expressions.pictures.panels.scale_of_item import scale_of
from dashwright.expressions.pictures.svg import BASELINE, BOLD_WIDTH, rectangle, text_element, text_width, truncated

# Most sizes, in pixels, and shares are those of Grafana's component ``BarGauge``.
#: The gaps between bars by display mode.
_GAPS: Final = {"lcd": 2.0}
_DEFAULT_GAP: Final = 10.0
_TITLE_SIZE: Final = 14.0
_MIN_TITLE_SIZE: Final = 9.0
_TITLE_LINE_HEIGHT: Final = 1.5
#: The minimum height of a row whose name is above the bar.
_MIN_HEIGHT_WITH_TITLE: Final = 40.0
#: The minimum and maximum height of a name above a bar, and its share of the height of the row between these limits.
_TITLE_HEIGHTS: Final = (17.0, 50.0)
_TITLE_SHARE: Final = 0.45
#: The minimum height of a name to the left of a bar, and its shares of the height and width of the row.
_MIN_LEFT_HEIGHT: Final = 18.0
_LEFT_HEIGHT_SHARE: Final = 0.6
_LEFT_WIDTH_SHARE: Final = 0.4
_LEFT_PADDING: Final = 10.0
#: The width of a value at the end of a bar: the usual share of the row, the pixels up to which this share applies, and the
#: share for a long value.
_VALUE_SHARE: Final = 0.2
_MAX_VALUE_WIDTH: Final = 150.0
_MAX_VALUE_SHARE: Final = 0.5
_VALUE_PADDING: Final = 10.0
_MIN_VALUE_SIZE: Final = 12.0
#: The minimum and maximum height of a value above an upright bar, and its share of the cell's height between these limits.
_VALUE_HEIGHTS: Final = (18.0, 50.0)
_VALUE_HEIGHT_SHARE: Final = 0.1
#: The minimum width and height of a panel that has bars, and of a bar.
_MIN_SIZE: Final = 4.0
#: The maximum size of a text that a panel configures.
_MAX_TEXT_SIZE: Final = 200.0
#: The default minimums of the width and height of a bar that a panel may configure.
_DEFAULT_MIN_WIDTH: Final = 8.0
_DEFAULT_MIN_HEIGHT: Final = 16.0
#: The height of rows if the panel does not configure sizes.
_MAX_HEIGHT: Final = 300.0


@dataclass(frozen=True, slots=True)
class _Look:
    """The settings of a panel, and the longest texts, which decide the sizes of all bars."""

    props: PanelProps
    longest_title: str
    longest_value: str

    @property
    def has_values(self) -> bool:
        return self.props.panel.options.get("valueMode") != "hidden"

    @property
    def is_filled_up(self) -> bool:
        """True if the part of the range beyond the value is drawn, so that values are at its end."""
        options = self.props.panel.options
        return options.get("displayMode") == "lcd" or options.get("showUnfilled") is not False

    def text_size(self, name: str, size: float) -> float:
        """Return the configured size of a text, or ``size``."""
        configured = number_of(object_of(self.props.panel.options.get("text")).get(name))
        return min(max(configured, 1.0), _MAX_TEXT_SIZE) if configured else size


def draw(props: PanelProps) -> PanelDrawing:
    """Return a bar for each value that fits. Raises NothingToDraw if the panel has no room for a bar."""
    options = props.panel.options
    items = panel_items(props)
    orientation = string_of(options.get("orientation"))
    is_vertical = orientation == "vertical" or (orientation != "horizontal" and props.width > props.height)
    fitting_items = items[: _fitting_count(props, is_vertical=is_vertical)]
    placement = string_of(options.get("namePlacement")) or "auto"
    titles = [name if placement != "hidden" else "" for name in names_of(props, items)][: len(fitting_items)]
    look = _Look(props, longest(titles), longest([str(item.display) for item in fitting_items]))
    elements: list[str] = []
    for item, title, cell in zip(fitting_items, titles, _cells(props, len(fitting_items), is_vertical=is_vertical), strict=True):
        if is_vertical:
            elements += _column(item, title, cell, look)
        elif placement == "left" or (placement != "top" and cell.height <= _MIN_HEIGHT_WITH_TITLE):
            elements += _row(item, title, cell, look)
        else:
            elements += _row_with_title(item, title, cell, look)
    return PanelDrawing(elements, notes=omission_notes(len(items) - len(fitting_items)))


def _fitting_count(props: PanelProps, *, is_vertical: bool) -> int:
    """Return the number of bars for which the panel has room. Raises NothingToDraw if no bar fits."""
    name, default = ("minVizWidth", _DEFAULT_MIN_WIDTH) if is_vertical else ("minVizHeight", _DEFAULT_MIN_HEIGHT)
    min_size = min(max(_size_limit(props, name) or default, _MIN_SIZE), 1000.0)
    area = content_area(props)
    available = area.width if is_vertical else area.height
    if props.width < _MIN_SIZE or props.height < _MIN_SIZE:
        raise NothingToDraw("No room for bars")
    return max(1, int((available + _gap(props)) // (min_size + _gap(props))))


def _gap(props: PanelProps) -> float:
    """Return the number of pixels between two bars."""
    return _GAPS.get(string_of(props.panel.options.get("displayMode")), _DEFAULT_GAP)


def _size_limit(props: PanelProps, name: str) -> float | None:
    """Return a configured limit of the size of bars; None without one, or if the panel chooses the sizes."""
    options = props.panel.options
    return number_of(options.get(name)) if options.get("sizing") == "manual" else None


def _cells(props: PanelProps, count: int, *, is_vertical: bool) -> list[Cell]:
    """Return the cell of each bar: next to each other if bars are vertical, otherwise below each other."""
    area, gap = content_area(props), _gap(props)
    size = ((area.width if is_vertical else area.height) - (count - 1) * gap) / count
    if is_vertical:
        return [Cell(area.x + index * (size + gap), area.y, size, area.height) for index in range(count)]
    limit = _size_limit(props, "maxVizHeight") or _MAX_HEIGHT
    height = min(size, max(limit, _MIN_SIZE))
    return [Cell(area.x, area.y + index * (height + gap), area.width, height) for index in range(count)]


def _row(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return a bar with the name to the left and the value to the right."""
    height = max(cell.height * _LEFT_HEIGHT_SHARE, _MIN_LEFT_HEIGHT)
    size = look.text_size("titleSize", _readable_size(look.longest_title, cell.width * _LEFT_WIDTH_SHARE - _LEFT_PADDING, height))
    width = min(text_width(look.longest_title, size) + 1.5 * _LEFT_PADDING, cell.width * _LEFT_WIDTH_SHARE) if title else 0.0
    name = truncated(title, size, width - _LEFT_PADDING)
    x, y = cell.x + width - _LEFT_PADDING, cell.y + cell.height / 2 + size * BASELINE
    elements = [text_element(name, x, y, size=size, colour=look.props.theme.text, anchor="end")] if title else []
    return elements + _bar_with_value(item, Cell(cell.x + width, cell.y, cell.width - width, cell.height), look, size)


def _row_with_title(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return a bar with the name above it and the value to the right."""
    min_height, max_height = _TITLE_HEIGHTS
    automatic = _readable_size(look.longest_title, cell.width, min(max(cell.height * _TITLE_SHARE, min_height), max_height))
    size = look.text_size("titleSize", automatic) if title else 0.0
    height = size * _TITLE_LINE_HEIGHT
    name = truncated(title, size, cell.width)
    elements = [text_element(name, cell.x, cell.y + height * 0.7, size=size, colour=look.props.theme.text)] if title else []
    return elements + _bar_with_value(item, Cell(cell.x, cell.y + height, cell.width, cell.height - height), look, size)


def _readable_size(title: str, width: float, height: float) -> float:
    """Return the size of a name for a line of a height. A long name is smaller, because a picture cannot show the rest of it."""
    size = height / _TITLE_LINE_HEIGHT
    return min(size, max(font_size(title, width, math.inf), _MIN_TITLE_SIZE))


def _bar_with_value(item: DisplayItem, cell: Cell, look: _Look, title_size: float) -> list[str]:
    """Return a horizontal bar and the value to the right of it, or only the bar if the panel hides values."""
    if not look.has_values:
        return _filled(GaugeBar(item, scale_of(item), cell, is_vertical=False), look.props)
    needed_width = text_width(look.longest_value, look.text_size("valueSize", max(title_size, _MIN_VALUE_SIZE))) * BOLD_WIDTH
    value_width = max(min(cell.width * _VALUE_SHARE, _MAX_VALUE_WIDTH), needed_width + 2 * _VALUE_PADDING)
    value_width = min(value_width, cell.width * _MAX_VALUE_SHARE)
    size = font_size(look.longest_value, value_width - 2 * _VALUE_PADDING, cell.height * LINE_HEIGHT)
    if size < _MIN_VALUE_SIZE:
        # In a narrow panel, the value needs the padding too.
        size = min(font_size(look.longest_value, value_width - 4, cell.height * LINE_HEIGHT), _MIN_VALUE_SIZE)
    size = look.text_size("valueSize", size)
    bar = GaugeBar(item, scale_of(item), Cell(cell.x, cell.y, max(cell.width - value_width, 1), cell.height), is_vertical=False)
    y = cell.y + cell.height / 2 + size * BASELINE
    padding = min(_VALUE_PADDING, max(value_width - text_width(look.longest_value, size) * BOLD_WIDTH, 0.0) / 2)
    text, colour = truncated(str(item.display), size, value_width), _value_colour(item, look)
    if look.is_filled_up:
        return [*_filled(bar, look.props), text_element(text, cell.x + cell.width - padding, y, size=size, colour=colour, anchor="end")]
    return [*_filled(bar, look.props), text_element(text, bar.cell.x + bar.cell.width * bar.share + padding, y, size=size, colour=colour)]


def _column(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return an upright bar with the value above it and the name below."""
    value_size = title_size = top = 0.0
    if look.has_values:
        min_height, max_height = _VALUE_HEIGHTS
        value_height = min(max(cell.height * _VALUE_HEIGHT_SHARE, min_height), max_height)
        # Values of narrow bars are smaller than configured, because they would cover each other.
        fitting_size = font_size(look.longest_value, cell.width + _DEFAULT_GAP / 2, math.inf)
        value_size = min(look.text_size("valueSize", min(fitting_size, value_height)), fitting_size)
        top = max(value_size, value_height if value_size < value_height else 0.0)
    if title:
        size = min(font_size(look.longest_title, cell.width, math.inf), _TITLE_SIZE)
        title_size = look.text_size("titleSize", max(size, _MIN_TITLE_SIZE))
    bottom = title_size * _TITLE_LINE_HEIGHT
    area = Cell(cell.x, cell.y + top, cell.width, max(cell.height - top - bottom, 1))
    bar = GaugeBar(item, scale_of(item), area, is_vertical=True)
    elements = _filled(bar, look.props)
    centre = cell.x + cell.width / 2
    if look.has_values:
        # A value may extend into the gaps at both sides of its bar.
        value = truncated(str(item.display), value_size, cell.width * 1.2)
        y = cell.y + top / 2 + value_size * BASELINE
        if not look.is_filled_up:
            # The value is just above the end of the bar.
            y += area.height * (1 - bar.share)
        elements.append(text_element(value, centre, y, size=value_size, colour=_value_colour(item, look), anchor="middle"))
    if title:
        name = truncated(title, title_size, cell.width)
        y = cell.y + cell.height - title_size * 0.4
        elements.append(text_element(name, centre, y, size=title_size, colour=look.props.theme.text, anchor="middle"))
    return elements


def _filled(bar: GaugeBar, props: PanelProps) -> list[str]:
    """Return the bar in the display mode of the panel, over the part that is not filled."""
    mode = string_of(props.panel.options.get("displayMode"))
    elements: list[str] = []
    if mode != "lcd" and props.panel.options.get("showUnfilled") is not False:
        cell = bar.cell
        elements.append(rectangle(cell.x, cell.y, cell.width, cell.height, mixed(props.theme.grid, props.theme.panel, 0.5), radius=2))
    return elements + FILLS.get(mode, gradient_fill)(bar, props)


def _value_colour(item: DisplayItem, look: _Look) -> str:
    """Return the colour of the value as text: that of the item, unless the panel shows values in the colour of text."""
    if look.props.panel.options.get("valueMode") == "text" or item.column is None or item.display.colour == TRANSPARENT:
        return look.props.theme.text
    return item.display.colour
