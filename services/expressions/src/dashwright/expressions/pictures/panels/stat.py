"""Stat panels: single large values, each with a name, a sparkline and the change in percent if the panel wants them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.display.colour_math import brightened, darkened, spun, text_colour_on
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import (
    LINE_HEIGHT,
    cells,
    font_size,
    longest,
    omission_notes,
    panel_items,
)
from dashwright.expressions.pictures.panels.sparkline import series_of_column, sparkline
from dashwright.expressions.pictures.svg import BASELINE, BOLD_WIDTH, rectangle, text_element, text_width, truncated
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient
from dashwright.expressions.pictures.theme import Theme, colour_of

_MAX_TITLE_SIZE: Final = 30.0
_MIN_TITLE_SIZE: Final = 10.0
_MAX_VALUE_SIZE: Final = 300.0
#: The ratio of width to height above which a cell is wide: its name is next to the value instead of above it.
_WIDE: Final = 2.5
#: The heights in pixels above which a wide cell, or any other cell, has a chart.
_MIN_HEIGHT_OF_WIDE_CHART: Final = 50.0
_MIN_HEIGHT_OF_CHART: Final = 100.0
# Shares of the width or height of a cell.
_TITLE_SHARE: Final = 0.15
_WIDE_VALUE_SHARE: Final = 0.3
_WIDE_VALUE_SHARE_OVER_CHART: Final = 0.4
_WIDE_TITLE_SHARE: Final = 0.6
_WIDE_CHART_SHARE: Final = 0.5
_CHART_SHARE: Final = 0.25
#: The font size of a value next to a name up to which the value may exceed its share of the width, if the names leave room.
_LEGIBLE_SIZE: Final = 11.0
_GAP: Final = 8.0
#: The lightness in percent that the line of a chart has in addition to its background, and the colour of the area below it.
_CHART_BRIGHTNESS: Final = 40.0
_CHART_AREA: Final = ("#ffffff", 0.4)
# Font sizes relative to that of the value, and the minimum size of a change in pixels.
_TITLE_TO_VALUE: Final = 0.7
_CHANGE_TO_VALUE: Final = 0.35
_MIN_CHANGE_SIZE: Final = 9.0
#: The distance from the line of a value to the baseline of the change below it, in font sizes of the change.
_CHANGE_ASCENT: Final = 0.9
#: The gap between a name and its value in the middle of a wide cell, in digits of the name.
_GAP_CHARACTERS: Final = 0.75
_MAX_VALUE_LENGTH: Final = 200
#: The light theme has lighter rather than darker gradients.
_LIGHT_FACTOR: Final = -0.7
#: The ends of the gradient of backgrounds, which is turned by 120 degrees, relative to the cell.
_GRADIENT: Final = ((0.07, 0.25), (0.93, 0.75))


@dataclass(frozen=True, slots=True)
class _Look:
    """The settings of a panel, and the longest texts, which decide the sizes of all items."""

    options: Mapping[str, Any]
    theme: Theme
    longest_title: str
    longest_value: str

    @property
    def has_chart(self) -> bool:
        return string_of(self.options.get("graphMode")) != "none"

    @property
    def colour_mode(self) -> str:
        return string_of(self.options.get("colorMode")) or "value"

    @property
    def is_filled(self) -> bool:
        return self.colour_mode in ("background", "background_solid")

    def text_size(self, name: str, size: float) -> float:
        """Return the configured size of a text, or ``size``."""
        configured = number_of(object_of(self.options.get("text")).get(name))
        return min(max(configured, 1.0), _MAX_VALUE_SIZE) if configured else size


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts of an item."""

    title: str
    value: str
    change: str  #: The change in percent with an arrow; empty if it is not shown.
    change_colour: str


def draw(props: PanelProps) -> PanelDrawing:
    """Return a drawing with each value that fits in its own cell."""
    options = props.panel.options
    items = panel_items(props)
    areas = cells(props, len(items))
    texts = [_texts(item, options, props.theme, is_single=len(items) == 1) for item in items[: len(areas)]]
    look = _Look(options, props.theme, longest([text.title for text in texts]), longest([text.value for text in texts]))
    elements: list[str] = []
    for item, text, cell in zip(items, texts, areas, strict=False):
        elements += _draw_item(props, item, text, cell, look)
    return PanelDrawing(elements, notes=omission_notes(len(items) - len(areas)))


def _texts(item: DisplayItem, options: Mapping[str, Any], theme: Theme, *, is_single: bool) -> _Texts:
    """Return the texts that the mode of the panel shows. In the mode ``auto``, a single value has no name."""
    mode = string_of(options.get("textMode")) or "auto"
    title = "" if mode in ("value", "none") or (mode == "auto" and is_single) else item.title
    value = str(item.display)
    if mode == "name":
        title, value = "", item.title
    elif mode == "none":
        value = ""
    change = item.percent_change if options.get("showPercentChange") is True else None
    if change is None or mode == "none":
        return _Texts(title, value, "", "")
    arrow = "▲" if change > 0 else "▼" if change < 0 else "▶"
    return _Texts(title, value, f"{arrow} {_significant(abs(change))}%", _change_colour(change, item, options, theme))


def _significant(number: float) -> str:
    """Return a number with three significant digits, with commas between thousands."""
    # Two decimals follow one digit before the decimal point, and one follows two digits.
    decimals = max(0, 2 - len(str(int(number)))) + 1 if number < 100 else 0
    text = f"{float(f'{number:.3g}'):,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _change_colour(change: float, item: DisplayItem, options: Mapping[str, Any], theme: Theme) -> str:
    """Return the colour of a change in percent. In the mode ``inverted``, a decrease is good."""
    mode = string_of(options.get("percentChangeColorMode")) or "standard"
    if mode == "same_as_value":
        return item.display.colour
    if not change:
        return theme.muted
    is_good = (change > 0) != (mode == "inverted")
    return colour_of("green" if is_good else "red", theme) or theme.text


def _draw_item(props: PanelProps, item: DisplayItem, texts: _Texts, cell: Cell, look: _Look) -> list[str]:
    """Return the elements of an item: the background, the chart and the texts over it."""
    elements = _background(item, cell, look)
    # As in Grafana, a low cell has less padding.
    padding = 12.0 if cell.height > 100 else 8.0
    inner = Cell(cell.x + padding, cell.y + padding, max(cell.width - 2 * padding, 1), max(cell.height - 2 * padding, 1))
    is_wide = cell.width / cell.height > _WIDE and look.options.get("wideLayout") is not False
    chart_limit = _MIN_HEIGHT_OF_WIDE_CHART if is_wide else _MIN_HEIGHT_OF_CHART
    has_chart = bool(look.has_chart and cell.height > chart_limit and item.column and series_of_column(item.column))
    place_texts = _place_wide if is_wide else _place_stacked
    placed_texts, chart_height = place_texts(texts, inner, cell, look, has_chart=has_chart)
    if has_chart and chart_height > 0:
        chart = Cell(cell.x, cell.y + cell.height - chart_height, cell.width, chart_height)
        colour = item.display.colour
        if colour == TRANSPARENT:
            elements += sparkline(props, item.column, chart, props.theme.text)
        elif look.is_filled:
            elements += sparkline(props, item.column, chart, brightened(colour, _CHART_BRIGHTNESS), area=_CHART_AREA)
        else:
            elements += sparkline(props, item.column, chart, colour)
    return elements + [_drawn_text(text, item, look) for text in placed_texts if text.text]


@dataclass(frozen=True, slots=True)
class _PlacedText:
    """A text at a place. Its role, ``title`` or ``value``, determines its style."""

    text: str
    role: Literal["title", "value"]
    x: float
    y: float
    size: float
    anchor: Literal["start", "middle", "end"]
    colour: str = ""  #: Empty for the colour of the role.


def _limited_size(size: float, text: str, width: float) -> float:
    """Return a font size at which a text fits into a width. The fonts of pictures are wider than those of Grafana."""
    return min(size, font_size(text, width, math.inf))


def _place_wide(texts: _Texts, inner: Cell, cell: Cell, look: _Look, *, has_chart: bool) -> tuple[list[_PlacedText], float]:
    """Return the texts in one line, the name to the left and the value to the right, and the height of the chart below."""
    chart_height = cell.height * _WIDE_CHART_SHARE if has_chart else 0.0
    # Texts are above the chart, or over it in a very low cell.
    height = max(cell.height - chart_height - (inner.y - cell.y), inner.height * 0.3) if has_chart else inner.height
    share = _WIDE_VALUE_SHARE_OVER_CHART if has_chart else _WIDE_VALUE_SHARE
    value_width = inner.width * (share if look.longest_title else 1.0)
    value_size = look.text_size("valueSize", font_size(look.longest_value, value_width, height, _MAX_VALUE_SIZE))
    if look.longest_title and value_size < _LEGIBLE_SIZE:
        width_beside_title = inner.width - text_width(look.longest_title, _MIN_TITLE_SIZE) - _GAP
        value_size = max(value_size, min(font_size(look.longest_value, width_beside_title, height), _LEGIBLE_SIZE))
    value_size = _limited_size(value_size, look.longest_value, inner.width)
    title_size = font_size(look.longest_title, inner.width * _WIDE_TITLE_SHARE, height, _MAX_TITLE_SIZE)
    title_size = title_size if has_chart else min(title_size, value_size * _TITLE_TO_VALUE)
    title_size = look.text_size("titleSize", max(title_size, _MIN_TITLE_SIZE))
    middle = inner.y + height / 2
    if not texts.title:
        is_centred = string_of(look.options.get("justifyMode")) != "start"
        x = inner.x + inner.width / 2 if is_centred else inner.x
        return _value_and_change(texts, x, middle, value_size, "middle" if is_centred else "start"), chart_height
    if string_of(look.options.get("justifyMode")) == "center":
        return _centred_line(texts, inner, middle, title_size, value_size), chart_height
    # A configured size may make the value wider than its share.
    taken_width = max(value_width, text_width(texts.value, value_size) * BOLD_WIDTH)
    title = truncated(texts.title, title_size, inner.width - taken_width - _GAP)
    placed_texts = [_PlacedText(title, "title", inner.x, middle + title_size * BASELINE, title_size, "start")]
    return placed_texts + _value_and_change(texts, inner.x + inner.width, middle, value_size, "end"), chart_height


def _centred_line(texts: _Texts, inner: Cell, middle: float, title_size: float, value_size: float) -> list[_PlacedText]:
    """Return the name and the value next to each other, in the middle of the cell."""
    value_width = text_width(texts.value, value_size) * BOLD_WIDTH
    gap = text_width("0", title_size) * _GAP_CHARACTERS
    title = truncated(texts.title, title_size, max(inner.width - value_width - gap, 0))
    left = inner.x + max(inner.width - text_width(title, title_size) - gap - value_width, 0) / 2
    value_x = left + text_width(title, title_size) + gap
    placed_texts = [_PlacedText(title, "title", left, middle + title_size * BASELINE, title_size, "start")]
    return placed_texts + _value_and_change(texts, value_x, middle, value_size, "start")


def _place_stacked(texts: _Texts, inner: Cell, cell: Cell, look: _Look, *, has_chart: bool) -> tuple[list[_PlacedText], float]:
    """Return the texts, the name above the value, and the height of the chart below them."""
    title_size = font_size(look.longest_title, inner.width, inner.height * _TITLE_SHARE, _MAX_TITLE_SIZE) if look.longest_title else 0.0
    free_height = max(inner.height - (cell.height * _CHART_SHARE if has_chart else 0.0) - title_size * LINE_HEIGHT, 1.0)
    # The change below the value takes a part of the height that is proportional to the value.
    value_height = free_height / (1 + (_CHANGE_TO_VALUE if texts.change else 0))
    value_size = look.text_size("valueSize", font_size(look.longest_value, inner.width, value_height, _MAX_VALUE_SIZE))
    value_size = _limited_size(value_size, look.longest_value, inner.width)
    if look.longest_title:
        title_size = look.text_size("titleSize", max(min(value_size * _TITLE_TO_VALUE, title_size), _MIN_TITLE_SIZE))
    change_height = max(value_size * _CHANGE_TO_VALUE, _MIN_CHANGE_SIZE) * LINE_HEIGHT if texts.change else 0.0
    height = (title_size + value_size) * LINE_HEIGHT + change_height
    # Without a name, values are centered unless the panel aligns them.
    mode = string_of(look.options.get("justifyMode")) or "auto"
    is_centred = mode == "center" or (mode == "auto" and not look.longest_title)
    x = inner.x + inner.width / 2 if is_centred else inner.x
    anchor: Literal["start", "middle"] = "middle" if is_centred else "start"
    top = inner.y if has_chart else inner.y + max((inner.height - height) / 2, 0)
    title_y = top + title_size * (LINE_HEIGHT / 2 + BASELINE)
    title = _PlacedText(truncated(texts.title, title_size, inner.width), "title", x, title_y, title_size, anchor)
    value_middle = top + title_size * LINE_HEIGHT + value_size * LINE_HEIGHT / 2
    placed_texts = [title] if texts.title else []
    chart_height = max(cell.height - (top - cell.y) - height, 0.0) if has_chart else 0.0
    return placed_texts + _value_and_change(texts, x, value_middle, value_size, anchor), chart_height


def _value_and_change(texts: _Texts, x: float, middle: float, size: float, anchor: Literal["start", "middle", "end"]) -> list[_PlacedText]:
    """Return the value around the height ``middle``, and the change in percent below it, both at the horizontal position ``x``."""
    value = _PlacedText(texts.value[:_MAX_VALUE_LENGTH], "value", x, middle + size * BASELINE, size, anchor)
    change_size = max(size * _CHANGE_TO_VALUE, _MIN_CHANGE_SIZE)
    change_y = middle + size * LINE_HEIGHT / 2 + change_size * _CHANGE_ASCENT
    change = _PlacedText(texts.change, "title", x, change_y, change_size, anchor, texts.change_colour)
    return [value, change]


def _background(item: DisplayItem, cell: Cell, look: _Look) -> list[str]:
    """Return the filled background of an item, or nothing."""
    colour = item.display.colour
    if not look.is_filled or not colour.startswith("#"):
        return []
    if look.colour_mode == "background_solid":
        return [rectangle(cell.x, cell.y, cell.width, cell.height, colour, radius=2)]
    # The changes of lightness (percent) and hue (degrees) are those of Grafana.
    factor = _LIGHT_FACTOR if look.theme.is_light else 1.0
    start, end = spun(darkened(colour, 15 * factor), 8), spun(darkened(colour, 5 * factor), -8)
    gradient, fill = linear_gradient([Stop(0, start), Stop(1, end)], *_GRADIENT, is_in_pixels=False)
    return [gradient, rectangle(cell.x, cell.y, cell.width, cell.height, fill, radius=2)]


def _drawn_text(text: _PlacedText, item: DisplayItem, look: _Look) -> str:
    """Return the element of a text, in a colour that is legible on the background of the item."""
    is_value = text.role == "value"
    if look.is_filled:
        colour = item.display.text_colour if item.display.colour.startswith("#") else text_colour_on(look.theme.panel)
    elif is_value and look.colour_mode == "value" and item.display.colour.startswith("#"):
        colour = item.display.colour
    else:
        colour = text.colour or look.theme.text
    return text_element(text.text, text.x, text.y, size=text.size, colour=colour, anchor=text.anchor, bold=is_value)
