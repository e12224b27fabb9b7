"""Gauges: values on an arc from a minimum to a maximum, with the thresholds on a ring around it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from dashwright.common.json_shapes import number_of, object_of
from dashwright.expressions.pictures.display.colour_modes import mode_of
from dashwright.expressions.pictures.display.items import DisplayItem
from dashwright.expressions.pictures.display.thresholds import TRANSPARENT, thresholds_of
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.item_cells import LINE_HEIGHT, cells, font_size, names_of, omission_notes, panel_items
from dashwright.expressions.pictures.panels.scale_of_item import Scale, scale_of
from dashwright.expressions.pictures.svg import BASELINE, path, text_element, text_width, truncated

#: The start of the arc at the lower left, in degrees clockwise from the right, and the degrees from its start to its end.
_START_DEGREES: Final = 150.0
_DEGREES: Final = 240.0
#: The maximum width of the arc in pixels, as in Grafana.
_MAX_WIDTH: Final = 40.0
_MAX_TITLE_SIZE: Final = 20.0
_MIN_TITLE_SIZE: Final = 8.0
_LABEL_SIZE: Final = 11.0
_MIN_LABEL_SIZE: Final = 6.0
#: The height of the drawing of an arc of 240 degrees in radii.
_ARC_HEIGHT: Final = 1.5
_MAX_LABELS: Final = 20
_MAX_VALUE_LENGTH: Final = 200


def draw(props: PanelProps) -> PanelDrawing:
    """Return an arc for each value that fits."""
    items = panel_items(props)
    areas = cells(props, len(items))
    elements: list[str] = []
    for item, title, cell in zip(items, names_of(props, items), areas, strict=False):
        elements += _gauge(props, item, cell, title)
    return PanelDrawing(elements, notes=omission_notes(len(items) - len(areas)))


@dataclass(frozen=True, slots=True)
class _Arc:
    """The circle of which the arcs are parts."""

    x: float
    y: float
    radius: float  #: The radius of the outer edge.
    width: float

    def point(self, radius: float, share: float) -> tuple[float, float]:
        """Return the point at a share of the arc, 0 at the minimum and 1 at the maximum."""
        angle = math.radians(_START_DEGREES + _DEGREES * share)
        return self.x + radius * math.cos(angle), self.y + radius * math.sin(angle)

    def part(self, shares: tuple[float, float], radius: float, width: float, colour: str) -> str:
        """Return the part between two shares of a ring with an outer radius and a width."""
        (start_x, start_y), (end_x, end_y) = (self.point(radius - width / 2, share) for share in shares)
        is_large = int((shares[1] - shares[0]) * _DEGREES > 180)
        middle = radius - width / 2
        return path(
            f"M{start_x:.2f} {start_y:.2f}A{middle:.2f} {middle:.2f} 0 {is_large} 1 {end_x:.2f} {end_y:.2f}", stroke=colour, width=width
        )


def _gauge(props: PanelProps, item: DisplayItem, cell: Cell, title: str) -> list[str]:
    """Return the arc of an item, the ring of thresholds around it, and the texts."""
    options = props.panel.options
    has_markers, has_labels = options.get("showThresholdMarkers") is not False, options.get("showThresholdLabels") is True
    # As in Grafana, a line of the title, 1.5 font sizes high, has at most 15 % of the width.
    title_limits = max(cell.width * 0.15 / 1.5, _MIN_TITLE_SIZE), max(cell.height * 0.15, _MIN_TITLE_SIZE)
    title_size = min(_MAX_TITLE_SIZE, *title_limits) if title else 0.0
    label_size = min(_LABEL_SIZE, max(min(cell.width, cell.height) / 12, _MIN_LABEL_SIZE)) if has_labels else 0.0
    scale = scale_of(item)
    labelled = _labelled_values(item, scale, props) if has_labels else []
    margin = max([2.0, *(text_width(item.processor.number_text(value), label_size) + label_size for value in labelled)])
    # Labels need a line above the arc, and a line and a gap below it.
    height = cell.height - title_size * LINE_HEIGHT * 1.2 - label_size * 2.5 - 2
    radius = max(min((cell.width - 2 * margin) / 2, height / _ARC_HEIGHT), 4.0)
    # As in Grafana, the arc is narrower if it has labels, and the ring has a fifth of its width.
    width = min(2 * radius / 5.5, _MAX_WIDTH) / (1.5 if has_labels else 1)
    ring = width / 5 if has_markers else 0.0
    top = cell.y + max(label_size * 1.5, 2) + max((height - radius * _ARC_HEIGHT) / 2, 0)
    arc = _Arc(cell.x + cell.width / 2, top + radius, radius, width)
    inner = radius - (ring + 2 if has_markers else 0)
    elements = [arc.part((0, 1), inner, width, props.theme.grid)]
    share = scale.share(item.display.number)
    if share > 0 and item.display.colour != TRANSPARENT:
        elements.append(arc.part((0, share), inner, width, item.display.colour))
    segments = _segments(item, scale, props)
    if has_markers:
        elements += [arc.part(shares, radius, ring, colour) for shares, colour in segments if colour != TRANSPARENT]
    elements += _labels(arc, item, scale, props, labelled, label_size)
    return elements + _texts(props, item, (title, title_size, label_size), arc, inner - width, cell)


def _segments(item: DisplayItem, scale: Scale, props: PanelProps) -> list[tuple[tuple[float, float], str]]:
    """Return the shares and colours of the ring: those of the thresholds, or the colour of the value in other colour modes."""
    config = item.processor.config
    if mode_of(config) != "thresholds":
        return [((0.0, 1.0), item.display.colour)]
    thresholds = thresholds_of(config, props.theme)
    starts = [scale.share(start) for start in thresholds.starts(scale.low, scale.high)]
    pairs = zip(starts, [*starts[1:], 1.0], thresholds.steps, strict=True) if starts else ()
    return [((start, end), step.colour) for start, end, step in pairs if end > start]


def _labelled_values(item: DisplayItem, scale: Scale, props: PanelProps) -> list[float]:
    """Return the ends of the scale and the thresholds between them."""
    thresholds = thresholds_of(item.processor.config, props.theme)
    starts = [start for start in thresholds.starts(scale.low, scale.high) if scale.low < start < scale.high]
    return [scale.low, *starts[:_MAX_LABELS], scale.high]


def _labels(arc: _Arc, item: DisplayItem, scale: Scale, props: PanelProps, values: Sequence[float], size: float) -> list[str]:
    """Return the texts of values at their places outside of the ring."""
    elements = []
    for value in values:
        x, y = arc.point(arc.radius + size * 0.8, scale.share(value))
        # Labels near the top are centred, and the others extend away from the arc.
        anchor: Literal["start", "middle", "end"] = "start" if x > arc.x else "end"
        if abs(x - arc.x) < arc.radius / 4:
            anchor = "middle"
        text = item.processor.number_text(value)
        elements.append(text_element(text, x, y + size * BASELINE, size=size, colour=props.theme.muted, anchor=anchor))
    return elements


def _texts(props: PanelProps, item: DisplayItem, name: tuple[str, float, float], arc: _Arc, inner_radius: float, cell: Cell) -> list[str]:
    """Return the value in the middle of the arc, and the name below it. ``inner_radius`` is the radius inside of the arc.

    ``name`` is the name, its size, and the size of the labels between the arc and the name.
    """
    title, title_size, label_size = name
    configured = object_of(props.panel.options.get("text"))
    value = str(item.display)
    # The value is a little narrower than the circle inside of the arc.
    size = number_of(configured.get("valueSize")) or font_size(value, inner_radius * 1.8, arc.radius, arc.width * 1.7)
    colour = props.theme.text if item.column is None or item.display.colour == TRANSPARENT else item.display.colour
    visible_value, y = value[:_MAX_VALUE_LENGTH], arc.y + size * BASELINE
    elements = [text_element(visible_value, arc.x, y, size=size, colour=colour, anchor="middle", bold=True)]
    if title:
        size = number_of(configured.get("titleSize")) or title_size
        y = min(arc.y + arc.radius * (_ARC_HEIGHT - 1) + size * LINE_HEIGHT + label_size, cell.y + cell.height - size * 0.3)
        elements.append(text_element(truncated(title, size, cell.width), arc.x, y, size=size, colour=props.theme.text, anchor="middle"))
    return elements
