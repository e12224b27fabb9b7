"""Bar charts: a group or a stack of bars for each category, vertical or horizontal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of, string_of
from dashwright.expressions.pictures.panels.axes import (
    AXIS_HEIGHT,
    LABEL_MARGIN,
    LABEL_SIZE,
    PixelScale,
    bottom_axis,
    labels_width,
    left_labels,
    value_axis,
    value_ticks,
)
from dashwright.expressions.pictures.panels.bar_layers import STACKED, bar_ends, value_range
from dashwright.expressions.pictures.panels.bar_marks import BarLook, ChartBar, bar_cell, bar_elements, is_drawn, value_elements
from dashwright.expressions.pictures.panels.bar_table import MIN_CATEGORY_SIZE, BarTable, bar_table
from dashwright.expressions.pictures.panels.distinct_names import distinct_names
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import LegendEntry, with_legend
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import rotated, text_element, text_width, truncated

#: The share of a category that its bars take together, as in Grafana.
_DEFAULT_GROUP_WIDTH: Final = 0.7
#: The share that each bar fills of its part of the group of bars, as in Grafana.
_DEFAULT_BAR_WIDTH: Final = 0.97
#: Pixels between two labels below bars.
_LABEL_GAP: Final = 6.0
#: If categories are narrower than this, in pixels, only some of them have a label.
_MIN_LABEL_WIDTH: Final = 24.0
#: The maximum width in pixels of a label if only some categories have one.
_MAX_SPARSE_WIDTH: Final = 80.0
#: The part of a panel that the labels of an axis may take.
_LABEL_SHARE: Final = 0.3
_MARGIN: Final = 8.0
#: Pixels from a chart to the baseline of rotated labels, and from their baseline up to the middle, around which they are rotated.
_ROTATED_BASELINE: Final = 14
_ROTATED_MIDDLE: Final = 4


def draw(props: PanelProps) -> PanelDrawing:
    """Return the bar chart. Raises NothingToDraw if there are no categories or no numbers."""
    table = bar_table(props)
    legend_elements, cell = with_legend(props, [LegendEntry(series.name, series.colour) for series in table.series])
    orientation = string_of(props.panel.options.get("orientation")) or "auto"
    is_horizontal = orientation == "horizontal" or (orientation == "auto" and props.width < props.height)
    chart = _Chart.of(props, table, cell, is_horizontal=is_horizontal)
    elements = _horizontal(props, chart) if is_horizontal else _vertical(props, chart)
    count = len(chart.categories)
    notes = [f"only the first {count} of {table.category_count} categories"] if count < table.category_count else ()
    return PanelDrawing([*elements, *legend_elements], notes=notes)


@dataclass(frozen=True, slots=True)
class _Chart:
    """The content of a bar chart, before the positions of its axes and bars are computed."""

    table: BarTable
    cell: Cell
    categories: Sequence[str]  #: The categories that fit into the panel.
    stacking: str  #: ``normal``, ``percent``, or any other text for bars next to each other.
    style: Style  #: The style of the axis of values.
    ends: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]]  #: The starts and ends of the bars, for each series.
    low: float  #: The start of the axis of values.
    high: float  #: The end of the axis of values.

    @staticmethod
    def of(props: PanelProps, table: BarTable, cell: Cell, *, is_horizontal: bool) -> "_Chart":
        """Return the chart of as many categories as fit into ``cell``, a part of the panel."""
        count = max(1, int((cell.height if is_horizontal else cell.width) // MIN_CATEGORY_SIZE))
        limit = number_of(props.panel.options.get("xTickLabelMaxLength"))
        categories = [_shortened(name, limit) for name in table.categories[:count]]
        stacking = string_of(props.panel.options.get("stacking"))
        style = table.series[0].style
        ends = bar_ends([series.values[:count] for series in table.series], stacking)
        return _Chart(table, cell, categories, stacking, style, ends, *value_range(ends, style.minimum, style.maximum, stacking))

    @property
    def axis_style(self) -> Style:
        """The style of the labels of the axis of values."""
        return Style({"unit": "percentunit"}, self.style.theme) if self.stacking == "percent" else self.style


def _shortened(name: str, limit: float | None) -> str:
    """Return a name with at most ``limit`` characters before an ellipsis."""
    return f"{name[: int(limit)]}…" if limit and 1 <= limit < len(name) else name


def _horizontal(props: PanelProps, chart: _Chart) -> list[str]:
    """Return the elements of a chart whose bars extend to the right."""
    cell = chart.cell
    left = labels_width(chart.categories, cell.width * _LABEL_SHARE) + LABEL_MARGIN
    area = Cell(cell.x + left, cell.y + _MARGIN, max(cell.width - left - 2 * _MARGIN, 1.0), max(cell.height - AXIS_HEIGHT - _MARGIN, 1.0))
    scale = PixelScale(chart.low, chart.high, area.x, area.x + area.width)
    slot = area.height / len(chart.categories)
    ticks = value_ticks(chart.low, chart.high, area.width, chart.axis_style, is_horizontal=True)
    names = distinct_names(chart.categories, LABEL_SIZE, left - 8)
    return [
        *bottom_axis(area, [(scale.position(tick), label) for tick, label in ticks], props.theme, has_grid=True),
        *left_labels(area, [(area.y + (index + 0.5) * slot, name) for index, name in enumerate(names)], props.theme),
        *_bars(props, chart, area, scale, area.y, slot, is_horizontal=True),
    ]


def _vertical(props: PanelProps, chart: _Chart) -> list[str]:
    """Return the elements of a chart whose bars extend upwards."""
    cell = chart.cell
    rotation = min(max(number_of(props.panel.options.get("xTickLabelRotation")) or 0.0, -90.0), 90.0)
    longest = max(text_width(name, LABEL_SIZE) for name in chart.categories)
    # A rotated label needs the vertical part of its length.
    sine = abs(math.sin(math.radians(rotation)))
    labels_height = max(min(longest * sine, cell.height * _LABEL_SHARE), 0.0) + AXIS_HEIGHT
    scale = PixelScale(chart.low, chart.high, cell.y + cell.height - labels_height, cell.y + _MARGIN)
    is_hidden = chart.style.custom.get("axisPlacement") == "hidden"
    ticks = value_ticks(chart.low, chart.high, scale.start - scale.end, chart.axis_style)
    ticks = [(tick, "") for tick, _ in ticks] if is_hidden else ticks
    left = labels_width([label for _, label in ticks], cell.width * _LABEL_SHARE) + LABEL_MARGIN
    area = Cell(cell.x + left, scale.end, max(cell.width - left - _MARGIN, 1.0), max(scale.start - scale.end, 1.0))
    slot = area.width / len(chart.categories)
    centres = [area.x + (index + 0.5) * slot for index in range(len(chart.categories))]
    axis = value_axis(area, scale, ticks, props.theme)
    if rotation:
        # The length whose vertical part is as high as the labels may be; a little more is visible.
        length = (labels_height - AXIS_HEIGHT) / sine + 4
        names = [truncated(name, LABEL_SIZE, length) for name in chart.categories]
        axis += _rotated_labels(props, list(zip(centres, names, strict=True)), area, rotation)
    else:
        # Labels that are spaced may be wider than a category, and some of them are omitted.
        is_spaced = chart.table.has_times or bool(number_of(props.panel.options.get("xTickLabelSpacing")))
        width = area.width if is_spaced else slot - _LABEL_GAP
        first, step = 0, 1
        if width < _MIN_LABEL_WIDTH:
            width = min(longest, _MAX_SPARSE_WIDTH)
            step = math.ceil((width + _LABEL_GAP) / slot)
            # The first label must not begin outside of the panel.
            first = min(max(math.ceil((width / 2 - centres[0]) / slot), 0), len(centres) - 1)
        names = distinct_names(chart.categories[first::step], LABEL_SIZE, width)
        axis += bottom_axis(area, list(zip(centres[first::step], names, strict=True)), props.theme)
    return [*axis, *_bars(props, chart, area, scale, area.x, slot, is_horizontal=False)]


def _rotated_labels(props: PanelProps, labelled: Sequence[tuple[float, str]], area: Cell, rotation: float) -> list[str]:
    """Return rotated labels below an area. Rising labels end at their position, falling ones begin there; touching ones are omitted."""
    elements, free_from, y = [], -math.inf, area.y + area.height + _ROTATED_BASELINE
    for x, label in labelled:
        if x < free_from:
            continue
        free_from = x + LABEL_SIZE
        text = text_element(label, x, y, size=LABEL_SIZE, colour=props.theme.muted, anchor="end" if rotation < 0 else "start")
        elements.append(rotated(text, rotation, x, y - _ROTATED_MIDDLE))
    return elements


def _bars(props: PanelProps, chart: _Chart, area: Cell, scale: PixelScale, first: float, slot: float, *, is_horizontal: bool) -> list[str]:
    """Return the bars and their values. ``first`` is where the first category begins, and ``slot`` its size, in pixels."""
    options = props.panel.options
    is_stacked = chart.stacking in STACKED
    group = slot * _share(options.get("groupWidth"), _DEFAULT_GROUP_WIDTH)
    bar_slot = group if is_stacked else group / len(chart.table.series)
    thickness = max(bar_slot * _share(options.get("barWidth"), _DEFAULT_BAR_WIDTH), 1.0)
    elements: list[str] = []
    all_bars: list[ChartBar] = []
    for number, (series, (starts, ends)) in enumerate(zip(chart.table.series, chart.ends, strict=True)):
        offset = first + (slot - group) / 2 + (0 if is_stacked else number * bar_slot) + (bar_slot - thickness) / 2
        bars = [
            ChartBar(
                bar_cell(scale, (start, end), offset + index * slot, thickness, is_horizontal=is_horizontal),
                series.colours[index],
                series.style.format_value(float(series.values[index])),
                end < start,
            )
            for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
            if is_drawn(start, end)
        ]
        elements += bar_elements(bars, BarLook.of(series.style))
        all_bars += bars
    mode = string_of(options.get("showValue"))
    return elements + value_elements(all_bars, area, props.theme.text, mode, is_stacked=is_stacked, is_horizontal=is_horizontal)


def _share(value: Any, default: float) -> float:
    """Return an option that is a share from 0 to 1. The minimum keeps bars visible."""
    share = number_of(value)
    return default if share is None else min(max(share, 0.01), 1.0)
