"""Bar gauges: a bar for each value, from a minimum to a maximum, in a row or in a column."""

from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.display.colour_math import mixed
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.panels.bar_fills import FILLS, GaugeBar, gradient_fill
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import (
    GAP,
    LINE_HEIGHT,
    content_area,
    font_size,
    longest,
    omitted_values,
    panel_items,
)
from dashwright.expressions.pictures.panels.scale_of_item import scale_of
from dashwright.expressions.pictures.svg import rectangle, text_element, text_width, truncated

_BASELINE: Final = 0.36
_MAX_TITLE_SIZE: Final = 20.0
_MIN_TITLE_SIZE: Final = 9.0
_MAX_VALUE_SIZE: Final = 50.0
#: The height from which a row has its name above the bar.
_MIN_HEIGHT_WITH_TITLE: Final = 40.0
_TITLE_SHARE: Final = 0.4
#: The widths of values at the ends of bars.
_VALUE_SHARE: Final = 0.2
_MAX_VALUE_WIDTH: Final = 150.0
_MAX_VALUE_SHARE: Final = 0.5
_MIN_SIZE: Final = 4.0
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

    def text_size(self, name: str, size: float) -> float:
        """Return the configured size of a text, or ``size``."""
        configured = number_of(object_of(self.props.panel.options.get("text")).get(name))
        return min(max(configured, 1.0), 200.0) if configured else size


def draw(props: PanelProps) -> PanelDrawing:
    """Return a bar for each value that fits. Raises NothingToDraw if the panel has no room for a bar."""
    options = props.panel.options
    items = panel_items(props)
    orientation = string_of(options.get("orientation"))
    is_vertical = orientation == "vertical" or (orientation != "horizontal" and props.width > props.height)
    shown = items[: _fitting_count(props, is_vertical=is_vertical)]
    placement = string_of(options.get("namePlacement")) or "auto"
    titles = [item.title if len(items) > 1 and placement != "hidden" else "" for item in shown]
    look = _Look(props, longest(titles), longest([str(item.display) for item in shown]))
    elements: list[str] = []
    for item, title, cell in zip(shown, titles, _cells(props, len(shown), is_vertical=is_vertical), strict=True):
        if is_vertical:
            elements += _column(item, title, cell, look)
        elif placement == "left" or (placement != "top" and cell.height <= _MIN_HEIGHT_WITH_TITLE):
            elements += _row(item, title, cell, look)
        else:
            elements += _row_with_title(item, title, cell, look)
    return PanelDrawing(elements, notes=omitted_values(len(items) - len(shown)))


def _fitting_count(props: PanelProps, *, is_vertical: bool) -> int:
    """Return the number of bars for which the panel has room. Raises NothingToDraw if no bar fits."""
    name, default = ("minVizWidth", 8.0) if is_vertical else ("minVizHeight", 16.0)
    least = min(max(_size_limit(props, name) or default, _MIN_SIZE), 1000.0)
    area = content_area(props)
    room = area.width if is_vertical else area.height
    if props.width < _MIN_SIZE or props.height < _MIN_SIZE:
        raise NothingToDraw("No room for bars")
    return max(1, int((room + GAP) // (least + GAP)))


def _size_limit(props: PanelProps, name: str) -> float | None:
    """Return a configured limit of the size of bars, which applies unless the panel chooses the sizes."""
    options = props.panel.options
    return number_of(options.get(name)) if options.get("sizing") == "manual" else None


def _cells(props: PanelProps, count: int, *, is_vertical: bool) -> list[Cell]:
    area = content_area(props)
    size = ((area.width if is_vertical else area.height) - (count - 1) * GAP) / count
    if is_vertical:
        return [Cell(area.x + index * (size + GAP), area.y, size, area.height) for index in range(count)]
    limit = _size_limit(props, "maxVizHeight") or _MAX_HEIGHT
    height = min(size, max(limit, _MIN_SIZE))
    return [Cell(area.x, area.y + index * (height + GAP), area.width, height) for index in range(count)]


def _row(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return a bar with the name to the left and the value to the right."""
    title_size = look.text_size("titleSize", font_size(look.longest_title, cell.width * _TITLE_SHARE, cell.height, _MAX_TITLE_SIZE))
    title_width = min(text_width(look.longest_title, title_size) + 10, cell.width * _TITLE_SHARE) if title else 0.0
    middle = cell.y + cell.height / 2 + title_size * _BASELINE
    name = truncated(title, title_size, title_width - 8)
    colour = look.props.theme.text
    elements = [text_element(name, cell.x, middle, size=title_size, colour=colour)] if title else []
    return elements + _bar_with_value(item, Cell(cell.x + title_width, cell.y, cell.width - title_width, cell.height), look)


def _row_with_title(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return a bar with the name above it and the value to the right."""
    size = look.text_size("titleSize", font_size(look.longest_title, cell.width, cell.height * 0.45, 14.0)) if title else 0.0
    height = size * LINE_HEIGHT
    name = truncated(title, size, cell.width)
    elements = [text_element(name, cell.x, cell.y + height * 0.8, size=size, colour=look.props.theme.text)] if title else []
    return elements + _bar_with_value(item, Cell(cell.x, cell.y + height, cell.width, cell.height - height), look)


def _bar_with_value(item: DisplayItem, cell: Cell, look: _Look) -> list[str]:
    if not look.has_values:
        return _filled(GaugeBar(item, scale_of(item), cell, is_vertical=False), look.props)
    share_width = min(cell.width * _VALUE_SHARE, _MAX_VALUE_WIDTH)
    size = look.text_size("valueSize", font_size(look.longest_value, share_width, cell.height, _MAX_VALUE_SIZE))
    if size < 10:
        size = font_size(look.longest_value, cell.width * _MAX_VALUE_SHARE, cell.height, 12.0)
    width = min(max(text_width(look.longest_value, size) * 1.15 + 10, share_width), cell.width * _MAX_VALUE_SHARE)
    bar = Cell(cell.x, cell.y, max(cell.width - width, 1), cell.height)
    text = truncated(str(item.display), size, width)
    baseline = cell.y + cell.height / 2 + size * _BASELINE
    value = text_element(text, cell.x + cell.width, baseline, size=size, colour=_value_colour(item, look), anchor="end", bold=True)
    return [*_filled(GaugeBar(item, scale_of(item), bar, is_vertical=False), look.props), value]


def _column(item: DisplayItem, title: str, cell: Cell, look: _Look) -> list[str]:
    """Return an upright bar with the value above it and the name below."""
    value_size = title_size = 0.0
    if look.has_values:
        value_size = look.text_size("valueSize", font_size(look.longest_value, cell.width, cell.height * 0.2, _MAX_VALUE_SIZE))
    if title:
        size = font_size(look.longest_title, cell.width, cell.height * 0.15, _MAX_TITLE_SIZE)
        title_size = look.text_size("titleSize", max(size, _MIN_TITLE_SIZE))
    top, bottom = value_size * LINE_HEIGHT + 2, title_size * LINE_HEIGHT + 2
    bar = Cell(cell.x, cell.y + top, cell.width, max(cell.height - top - bottom, 1))
    elements = _filled(GaugeBar(item, scale_of(item), bar, is_vertical=True), look.props)
    centre = cell.x + cell.width / 2
    if look.has_values:
        value = truncated(str(item.display), value_size, cell.width * 1.2)
        y = cell.y + value_size
        elements.append(text_element(value, centre, y, size=value_size, colour=_value_colour(item, look), anchor="middle", bold=True))
    if title:
        name = truncated(title, title_size, cell.width)
        y = cell.y + cell.height - title_size * 0.3
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
    if look.props.panel.options.get("valueMode") == "text" or item.column is None or item.display.colour == TRANSPARENT:
        return look.props.theme.text
    return item.display.colour
