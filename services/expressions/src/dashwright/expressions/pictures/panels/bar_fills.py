"""The fills of bars of bar gauges and of gauges in tables. ``FILLS`` at the end has a function for each display mode."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from dashwright.expressions.pictures.display.colour_modes import mode_of, scheme_colours
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.thresholds import FALLBACK_COLOUR, TRANSPARENT, thresholds_of
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.panels.scale_of_item import Scale
from dashwright.expressions.pictures.svg import rectangle
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient, radial_gradient

#: Pixels of the edge of a basic bar at the value.
_EDGE: Final = 2.0
_BASIC_OPACITY: Final = 0.35
#: In the display mode ``lcd``, the pixels from the start of a cell to that of the next one, and the pixels of the gap between them.
_PANEL_PITCH: Final = (12.0, 2.0)
_TABLE_PITCH: Final = (8.0, 1.0)
#: The opacity of a lit cell at shares of the distance from its middle to its corners, and the opacity of other cells.
_LIT_OPACITIES: Final = ((0.1, 0.95), (1.0, 0.55))
_UNLIT_OPACITY: Final = 0.18
_MAX_CELLS: Final = 200


@dataclass(frozen=True, slots=True)
class GaugeBar:
    """A bar to fill."""

    item: DisplayItem
    scale: Scale
    cell: Cell  #: The rectangle of the full range.
    is_vertical: bool  #: True if the range begins at the bottom.
    in_table: bool = False  #: True for a cell of a table.

    @property
    def share(self) -> float:
        """The share of the range up to the value."""
        return self.scale.share(self.item.display.number)

    def part(self, start: float, end: float) -> tuple[float, float, float, float]:
        """Return the position and size of the part between two shares of the range."""
        cell = self.cell
        if self.is_vertical:
            return cell.x, cell.y + cell.height * (1 - end), cell.width, cell.height * (end - start)
        return cell.x + cell.width * start, cell.y, cell.width * (end - start), cell.height


def basic_fill(bar: GaugeBar, _props: PanelProps) -> list[str]:
    """Return a translucent bar with an edge in the full colour at the value."""
    colour = _colour(bar)
    length = bar.cell.height if bar.is_vertical else bar.cell.width
    edge = min(_EDGE / max(length, 1), bar.share)
    body = rectangle(*bar.part(0, bar.share), colour, radius=2, opacity=_BASIC_OPACITY)
    return [body, rectangle(*bar.part(bar.share - edge, bar.share), colour)]


def gradient_fill(bar: GaugeBar, props: PanelProps) -> list[str]:
    """Return a bar with the colours of the scheme along the range, or of the thresholds up to the value."""
    stops = _stops(bar, props)
    if len(stops) < 2:
        return [rectangle(*bar.part(0, bar.share), _colour(bar), radius=2)]
    cell = bar.cell
    start, end = (cell.x, cell.y), (cell.x + cell.width, cell.y)
    if bar.is_vertical:
        start, end = (cell.x, cell.y + cell.height), (cell.x, cell.y)
    gradient, fill = linear_gradient(stops, start, end, is_in_pixels=True)
    return [gradient, rectangle(*bar.part(0, bar.share), fill, radius=2)]


def lcd_fill(bar: GaugeBar, props: PanelProps) -> list[str]:
    """Return cells along the range, each in the colour of the value at its start. Up to the value, they are brightest in the middle."""
    length = bar.cell.height if bar.is_vertical else bar.cell.width
    pitch, spacing = _TABLE_PITCH if bar.in_table else _PANEL_PITCH
    count = min(max(math.floor(length / pitch), 1), _MAX_CELLS)
    # A share of the range. Gaps of very short bars are at most half as long as the pitch.
    gap = min(spacing, length / count / 2) / max(length, 1)
    elements = []
    for index in range(count):
        is_lit = not math.isnan(bar.item.display.number) and bar.scale.value(index / count) <= bar.item.display.number
        if not is_lit and props.panel.options.get("showUnfilled") is False:
            break
        colour = bar.item.processor.colour_at(bar.scale.value(index / count))
        colour = FALLBACK_COLOUR if colour == TRANSPARENT else colour
        rectangle_of_cell = bar.part(index / count, (index + 1) / count - gap)
        if is_lit:
            gradient, fill = radial_gradient([Stop(share, colour, opacity) for share, opacity in _LIT_OPACITIES])
            elements += [gradient, rectangle(*rectangle_of_cell, fill, radius=2)]
        else:
            elements.append(rectangle(*rectangle_of_cell, colour, radius=2, opacity=_UNLIT_OPACITY))
    return elements


def _stops(bar: GaugeBar, props: PanelProps) -> list[Stop]:
    """Return the colours of a gradient along the range; none for a bar of one colour."""
    config = bar.item.processor.config
    if colours := scheme_colours(config, props.theme):
        return [Stop(index / (len(colours) - 1), colour) for index, colour in enumerate(colours)]
    if mode_of(config) != "thresholds":
        return []
    thresholds = thresholds_of(config, props.theme)
    reached_stops = [
        (bar.scale.share(start), step.colour)
        for index, (start, step) in enumerate(zip(thresholds.starts(bar.scale.low, bar.scale.high), thresholds.steps, strict=True))
        if index == 0 or start <= bar.item.display.number
    ]
    reached_stops = [(share, colour) for share, colour in reached_stops if colour != TRANSPARENT]
    if len(reached_stops) < 2:
        return []
    # As in Grafana, a colour ends halfway between its threshold and the next one, and the last one at the value.
    starts = [0.0, *(share for share, _ in reached_stops[1:])]
    middles = [(start + end) / 2 for start, end in pairwise(starts)]
    return [
        Stop(0, reached_stops[0][1]),
        *(Stop(share, colour) for share, (_, colour) in zip([*middles, bar.share], reached_stops, strict=True)),
    ]


def _colour(bar: GaugeBar) -> str:
    """Return the colour of the value, which is never transparent."""
    return FALLBACK_COLOUR if bar.item.display.colour == TRANSPARENT else bar.item.display.colour


#: The function of each display mode.
FILLS: Final[Mapping[str, Callable[[GaugeBar, PanelProps], list[str]]]] = {"basic": basic_fill, "gradient": gradient_fill, "lcd": lcd_fill}
