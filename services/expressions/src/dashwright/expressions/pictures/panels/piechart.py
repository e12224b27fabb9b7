"""Pie charts: each number is a slice of a disc or ring, as large as its share of the total."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.common.json_shapes import list_of, member_at, number_of, object_of, string_of
from dashwright.expressions.pictures.display.colour_math import text_colour_on
from dashwright.expressions.pictures.display.columns import DisplayColumn
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import panel_items
from dashwright.expressions.pictures.panels.legend import LegendEntry, with_legend
from dashwright.expressions.pictures.svg import BASELINE, path, text_element, text_width, truncated

# In pixels.
_MARGIN: Final = 16.0
#: The minimum width of the ring of a donut.
_MIN_RING: Final = 20.0
_LABEL_SIZE: Final = 12.0
_MIN_LABEL_SIZE: Final = 8.0
#: The smallest angle in radians of a slice that has a label, as in Grafana.
_MIN_LABEL_ANGLE: Final = 0.3
#: The radius of the smallest pie that has labels.
_MIN_LABEL_RADIUS: Final = 30.0
#: The distance of a label from the centre of a disc, in radii: near the middle of the area of a narrow slice.
_LABEL_DISTANCE: Final = 0.62
#: The height of a line of a label in font sizes.
_LINE_HEIGHT: Final = 1.2
_FULL_TURN: Final = 2 * math.pi
_ALMOST_FULL_TURN: Final = _FULL_TURN - 1e-6
_PERCENT: Final = 100.0
_MAX_DECIMALS: Final = 10
#: The colour of the label of a transparent slice.
_TEXT_ON_NOTHING: Final = "#808080"


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a pie."""

    name: str
    value: float
    share: float  #: The share of the total, from 0 to 1.
    colour: str
    text: str  #: The value with its unit.
    decimals: int  #: The number of decimals of the share in percent.

    @property
    def percent(self) -> str:
        """The share as text."""
        return f"{self.share * _PERCENT:.{self.decimals}f}%"

    def label(self, parts: Sequence[str]) -> list[str]:
        """Return the lines of a label with these parts: ``name``, ``value`` and ``percent``."""
        texts = {"name": self.name, "value": self.text, "percent": self.percent}
        return [text for part, text in texts.items() if part in parts]


def draw(props: PanelProps) -> PanelDrawing:
    """Return the pie with its legend. Raises NothingToDraw if there are no numbers."""
    options = props.panel.options
    slices = slices_of(props)
    if not slices:
        raise NothingToDraw("No data")
    legend_options = object_of(options.get("legend"))
    # The defaults are those of Grafana: a legend to the right with percentages.
    value_kinds = [str(kind) for kind in list_of(legend_options.get("values", ["percent"]))]
    columns = [title for kind, title in (("value", "Value"), ("percent", "Percent")) if kind in value_kinds]
    entries = [LegendEntry(item.name, item.colour, item.label([kind for kind in value_kinds if kind != "name"])) for item in slices]
    legend_elements, area = with_legend(props, entries, columns, default_placement="right")
    label_parts = [string_of(part) for part in list_of(options.get("displayLabels"))]
    pie = _pie(area, slices, label_parts, props.theme.panel, is_ring=options.get("pieType") == "donut")
    return PanelDrawing([*pie, *legend_elements])


def slices_of(props: PanelProps) -> list[Slice]:
    """Return the slices of a panel in descending order. Missing values and hidden series have no slice; negative values are drawn as 0."""
    items = [(item, item.column, max(item.display.number, 0.0)) for item in panel_items(props) if math.isfinite(item.display.number)]
    visible = [
        (item, column, value)
        for item, column, value in items
        if column and member_at(column.config, "custom", "hideFrom", "viz") is not True
    ]
    # Divided first, so that the total of huge numbers is finite.
    total = sum(value / len(visible) for _, _, value in visible)
    slices = [
        Slice(item.title, value, value / len(visible) / total if total else 0.0, item.display.colour, str(item.display), _decimals(column))
        for item, column, value in visible
    ]
    if props.panel.options.get("sort") == "none":
        return slices
    return sorted(slices, key=lambda item: item.value, reverse=props.panel.options.get("sort") != "asc")


def _decimals(column: DisplayColumn) -> int:
    return min(max(int(number_of(column.config.get("decimals")) or 0), 0), _MAX_DECIMALS)


def _pie(area: Cell, slices: Sequence[Slice], label_parts: Sequence[str], background: str, *, is_ring: bool) -> list[str]:
    """Return the slices clockwise from the top, separated by lines of the background, with labels in those that are large enough."""
    radius = max(min(area.width, area.height) / 2 - _MARGIN, 4.0)
    inner_radius = max(radius - max(radius / 3, _MIN_RING), 0.0) if is_ring else 0.0
    centre = (area.x + area.width / 2, area.y + area.height / 2)
    elements: list[str] = []
    labels: list[str] = []
    angle = 0.0
    for item in slices:
        extent = item.share * _FULL_TURN
        if extent > 0:
            outline = _outline(centre, radius, inner_radius, angle, extent)
            elements.append(path(outline, fill=item.colour, stroke=background if item.share < 1 else "none"))
        if label_parts and extent >= _MIN_LABEL_ANGLE and radius >= _MIN_LABEL_RADIUS:
            middle = angle + extent / 2
            distance = (radius + inner_radius) / 2 if is_ring else radius * _LABEL_DISTANCE
            x, y = distance * math.sin(middle), -distance * math.cos(middle)
            width = _label_width(x, y, radius, inner_radius)
            labels += _label(item, label_parts, centre[0] + x, centre[1] + y, min(_LABEL_SIZE, radius / 5), width)
        angle += extent
    return [*elements, *labels]


def _outline(centre: tuple[float, float], radius: float, inner_radius: float, angle: float, extent: float) -> str:
    """Return the path of a slice that begins at an angle, both in radians clockwise from the top."""
    if extent >= _ALMOST_FULL_TURN:
        # An arc whose ends are equal is not drawn, so that a whole turn is two halves.
        return "".join(_outline(centre, radius, inner_radius, angle + half * math.pi, math.pi) for half in (0, 1))
    end, is_large = angle + extent, 1 if extent > math.pi else 0

    def point(distance: float, at: float) -> str:
        return f"{centre[0] + distance * math.sin(at):.2f} {centre[1] - distance * math.cos(at):.2f}"

    outer = f"M{point(radius, angle)}A{radius:.2f} {radius:.2f} 0 {is_large} 1 {point(radius, end)}"
    if not inner_radius:
        return f"{outer}L{point(0, 0)}z"
    return f"{outer}L{point(inner_radius, end)}A{inner_radius:.2f} {inner_radius:.2f} 0 {is_large} 0 {point(inner_radius, angle)}z"


def _label_width(x: float, y: float, radius: float, inner_radius: float) -> float:
    """Return the width of a pie or ring around a place relative to its centre, in pixels. Beyond it, labels may be invisible."""
    outer_edge = math.sqrt(max(radius**2 - y**2, 0.0))
    outer_width = outer_edge - abs(x)
    return 2 * (min(outer_width, abs(x) - math.sqrt(inner_radius**2 - y**2)) if abs(y) < inner_radius else outer_width)


def _label(item: Slice, parts: Sequence[str], x: float, y: float, size: float, width: float) -> list[str]:
    """Return the lines of a label in one size, which is reduced to fit into a width in pixels as long as it is legible."""
    lines = item.label(parts)
    widest = max((text_width(line, size) for line in lines), default=0.0)
    size = max(size * min(width / (widest or 1.0), 1.0), min(size, _MIN_LABEL_SIZE))
    colour = text_colour_on(item.colour) if item.colour != TRANSPARENT else _TEXT_ON_NOTHING
    top = y - (len(lines) - 1) * size * _LINE_HEIGHT / 2 + size * BASELINE
    return [
        text_element(truncated(line, size, width + 1), x, top + index * size * _LINE_HEIGHT, size=size, colour=colour, anchor="middle")
        for index, line in enumerate(lines)
    ]
