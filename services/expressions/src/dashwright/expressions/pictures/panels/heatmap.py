"""Heat maps: cells of time and value, coloured by their counts."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from dashwright.common.json_shapes import number_of, object_of, string_of
from dashwright.expressions.pictures.display.colour_math import mixed
from dashwright.expressions.pictures.panels.axes import (
    AXIS_HEIGHT,
    LABEL_MARGIN,
    LABEL_SIZE,
    PixelScale,
    labels_width,
    left_labels,
    time_axis,
    value_ticks,
)
from dashwright.expressions.pictures.panels.colour_schemes import scheme_palette
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.heat_cells import cells_frame, grid_of_cells
from dashwright.expressions.pictures.panels.heat_grid import HeatGrid, grid_of
from dashwright.expressions.pictures.series import MAX_SERIES
from dashwright.expressions.pictures.style import Style, style_of
from dashwright.expressions.pictures.svg import cells_path, rectangle, text_element
from dashwright.expressions.pictures.svg_gradients import Stop, linear_gradient
from dashwright.expressions.pictures.theme import THEMES, Theme, colour_of

#: The number of colours by default, the maximum, and the defaults of the mode ``opacity``, as in Grafana.
_DEFAULT_STEPS: Final = 64
_MAX_STEPS: Final = 128
_DEFAULT_FILL: Final = "dark-orange"
_DEFAULT_EXPONENT: Final = 0.5
#: Counts up to this one are not drawn by default, as in Grafana.
_DEFAULT_HIDDEN_COUNT: Final = 1e-9
#: The part of the width that the labels of rows take at most.
_NAME_SHARE: Final = 0.25
#: Pixels between the cells and the upper edge of the panel, and if rows have no labels also the left edge.
_MARGIN: Final = 8.0
#: Pixels between the cells and the right edge of the panel.
_RIGHT_MARGIN: Final = 10.0
# Sizes of the legend, and of the lowest panel that has one, in pixels.
_LEGEND_HEIGHT: Final = 34.0
_LEGEND_WIDTH: Final = 240.0
_LEGEND_BAR_HEIGHT: Final = 8.0
_MIN_HEIGHT_WITH_LEGEND: Final = 110
#: Above the bar of colours, and from the bar to the baseline of the labels below it.
_LEGEND_TOP: Final = 6
_LEGEND_BASELINE: Final = 13


def draw(props: PanelProps) -> PanelDrawing:
    """Return the heat map. Raises NothingToDraw if there are no times or counts."""
    options = props.panel.options
    cells = None if options.get("calculate") is True else cells_frame(props.frames)
    grid = grid_of(props) if cells is None else grid_of_cells(cells, props)
    counts = _shown_counts(grid.counts, object_of(options.get("filterValues")))
    if np.isnan(counts).all():
        raise NothingToDraw("No data")
    colours = object_of(options.get("color"))
    palette = _palette(colours, props.theme)
    low, high = _colour_range(counts, colours)
    has_legend = object_of(options.get("legend")).get("show") is not False and props.height >= _MIN_HEIGHT_WITH_LEGEND
    y_options = object_of(options.get("yAxis"))
    labelled_rows = _labelled_rows(grid, y_options, props)
    is_hidden = y_options.get("axisPlacement") == "hidden"
    left = _MARGIN if is_hidden else labels_width([label for _, label in labelled_rows], props.width * _NAME_SHARE) + LABEL_MARGIN
    height = props.height - AXIS_HEIGHT - _MARGIN - (_LEGEND_HEIGHT if has_legend else 0)
    area = Cell(left, _MARGIN, max(props.width - left - _RIGHT_MARGIN, 1.0), max(height, 1.0))
    is_reversed = y_options.get("reverse") is True
    elements = _cells(props, grid, counts, area, _indexes(counts, low, high, len(palette)), palette, is_reversed=is_reversed)
    if not is_hidden:
        positions = [(area.y + area.height * (share if is_reversed else 1 - share), label) for share, label in labelled_rows]
        elements += left_labels(area, [(y, label) for y, label in positions if area.y - 1 <= y <= area.y + area.height + 1], props.theme)
    elements += time_axis(area, props.start, props.end, props.zone, props.theme)
    if has_legend:
        elements += _legend(props, palette, (low, high), area)
    if cells is not None:
        return PanelDrawing(elements)
    # In a frame of cells, a column is not a series, so only other frames can have too many series.
    field_count = sum(field.type.is_numeric for frame in props.frames for field in frame.fields)
    return PanelDrawing(elements, notes=[f"only the first {MAX_SERIES} of {field_count} series"] if field_count > MAX_SERIES else ())


def _shown_counts(counts: NDArray[np.float64], limits: dict[str, Any]) -> NDArray[np.float64]:
    """Return the counts, with NaN for those that the panel hides."""
    hidden_up_to, hidden_from = number_of(limits.get("le")), number_of(limits.get("ge"))
    is_hidden = counts <= (_DEFAULT_HIDDEN_COUNT if hidden_up_to is None else hidden_up_to)
    if hidden_from is not None:
        is_hidden |= counts >= hidden_from
    return np.where(is_hidden, np.nan, counts)


def _colour_range(counts: NDArray[np.float64], colours: dict[str, Any]) -> tuple[float, float]:
    """Return the counts of the first and the last colour."""
    minimum, maximum = number_of(colours.get("min")), number_of(colours.get("max"))
    return (
        float(np.nanmin(counts)) if minimum is None else minimum,
        float(np.nanmax(counts)) if maximum is None else maximum,
    )


def _palette(colours: dict[str, Any], theme: Theme) -> list[str]:
    """Return the colours of cells, from the lowest to the highest count."""
    steps = min(max(int(number_of(colours.get("steps")) or _DEFAULT_STEPS), 2), _MAX_STEPS)
    if colours.get("mode") == "opacity":
        fill = colour_of(colours.get("fill"), theme) or colour_of(_DEFAULT_FILL, theme) or theme.text
        exponent = number_of(colours.get("exponent")) or _DEFAULT_EXPONENT
        power = 1.0 if colours.get("scale") == "linear" else min(max(exponent, 0.01), 10.0)
        return [mixed(fill, theme.panel, (index / (steps - 1)) ** power) for index in range(steps)]
    is_reversed = colours.get("reverse") is True
    return scheme_palette(string_of(colours.get("scheme")), steps, is_dark=theme is THEMES["dark"], is_reversed=is_reversed)


def _indexes(counts: NDArray[np.float64], low: float, high: float, count: int) -> NDArray[np.int64]:
    """Return the index of the colour of each cell; a cell that is not shown has -1."""
    with np.errstate(all="ignore"):
        # Halved, so that differences of huge counts are finite.
        shares = (counts / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
        indexes = np.clip(np.nan_to_num(shares * count), 0, count - 1).astype(np.int64)
    indexes[np.isnan(counts)] = -1
    return indexes


def _labelled_rows(grid: HeatGrid, y_options: dict[str, Any], props: PanelProps) -> list[tuple[float, str]]:
    """Return the labels of rows, with their positions as shares of the height from bottom to top."""
    unit_config = {name: y_options[name] for name in ("unit", "decimals") if y_options.get(name) is not None}
    panel_unit = {"unit": props.panel.defaults["unit"]} if "unit" in props.panel.defaults else {}
    style = Style(unit_config or panel_unit, props.theme)
    if not grid.edges:
        offset = {"top": 1.0, "bottom": 0.0}.get(grid.name_place, 0.5)
        names = [_with_unit(name, style, has_unit=bool(unit_config)) for name in grid.names]
        return [((index + offset) / len(names), name) for index, name in enumerate(names)]
    if grid.is_logarithmic:
        return [(index / (len(grid.edges) - 1), style.format_value(edge)) for index, edge in enumerate(grid.edges)]
    scale = PixelScale(grid.edges[0], grid.edges[-1], 0, 1)
    return [(scale.position(tick), label) for tick, label in value_ticks(grid.edges[0], grid.edges[-1], props.height, style)]


def _with_unit(name: str, style: Style, *, has_unit: bool) -> str:
    """Return the name of a bucket, with the unit of the axis if the name is a number."""
    number = number_of(name)
    return style.format_value(number) if has_unit and number is not None else name


def _cells(
    props: PanelProps,
    grid: HeatGrid,
    counts: NDArray[np.float64],
    area: Cell,
    indexes: NDArray[np.int64],
    palette: Sequence[str],
    *,
    is_reversed: bool,
) -> list[str]:
    """Return one element for each colour with all cells of the colour."""
    gap = number_of(props.panel.options.get("cellGap"))
    scale = PixelScale(props.start, props.end, area.x, area.x + area.width)
    row_height = area.height / len(counts)
    lefts = [max(scale.position(start), area.x) for start in grid.starts.tolist()]
    rights = [min(scale.position(end), area.x + area.width) for end in grid.ends.tolist()]
    # A gap is at most a third of a cell.
    cell_gap = min(max(1.0 if gap is None else gap, 0.0), row_height / 3, (area.width / len(lefts)) / 3)
    by_colour: dict[str, list[tuple[float, float, float, float]]] = {}
    for row, columns in enumerate(indexes.tolist()):
        top = area.y + row_height * (row if is_reversed else len(counts) - 1 - row)
        for left, right, index in zip(lefts, rights, columns, strict=True):
            if index >= 0 and right > left:
                cell = (left + cell_gap / 2, top + cell_gap / 2, max(right - left - cell_gap, 0.5), row_height - cell_gap)
                by_colour.setdefault(palette[index], []).append(cell)
    return [cells_path(cells, colour) for colour, cells in by_colour.items()]


def _legend(props: PanelProps, palette: Sequence[str], colour_range: tuple[float, float], area: Cell) -> list[str]:
    """Return the scale of colours with its lowest and its highest count."""
    width, top = min(_LEGEND_WIDTH, area.width), props.height - _LEGEND_HEIGHT + _LEGEND_TOP
    # Rectangles next to each other would have seams.
    stops = [Stop((index + end) / len(palette), colour) for index, colour in enumerate(palette) for end in (0, 1)]
    gradient, fill = linear_gradient(stops, (0, 0), (1, 0), is_in_pixels=False)
    elements = [gradient, rectangle(area.x, top, width, _LEGEND_BAR_HEIGHT, fill)]
    style = _count_style(props)
    y = top + _LEGEND_BAR_HEIGHT + _LEGEND_BASELINE
    labels: tuple[tuple[float, float, Literal["start", "end"]], ...] = (
        (colour_range[0], area.x, "start"),
        (colour_range[1], area.x + width, "end"),
    )
    for value, x, anchor in labels:
        text = style.format_value(value) if math.isfinite(value) else ""
        elements.append(text_element(text, x, y, size=LABEL_SIZE, colour=props.theme.muted, anchor=anchor))
    return elements


def _count_style(props: PanelProps) -> Style:
    """Return the style of counts: the option ``cellValues``, or else the style of the panel.

    If the counts are calculated, the unit of the panel applies to the rows, not to the counts.
    """
    cell_values = object_of(props.panel.options.get("cellValues"))
    config = {name: cell_values[name] for name in ("unit", "decimals") if cell_values.get(name) is not None}
    if config or props.panel.options.get("calculate") is True:
        return Style(config, props.theme)
    return style_of(props.panel, props.theme)
