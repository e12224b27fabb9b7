"""Status histories: each column is a row of coloured boxes, one for each sample."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from dashwright.common.json_shapes import string_of
from dashwright.expressions.pictures.display.colour_math import mixed, text_colour_on
from dashwright.expressions.pictures.panels.axes import time_axis
from dashwright.expressions.pictures.panels.drawing import Cell, NothingToDraw, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import with_legend
from dashwright.expressions.pictures.panels.state_timeline import (
    lay_out_rows,
    legend_entries,
    omitted_rows_notes,
    opacity_of,
    row_share,
    visible_columns,
)
from dashwright.expressions.pictures.panels.states import Sample, StateRow, state_columns, state_rows
from dashwright.expressions.pictures.svg import BASELINE, cells_path, text_element, text_width

_TEXT_SIZE: Final = 12.0
#: The minimum width of a box and its gap in pixels, as in Grafana.
_MIN_BOX_WIDTH: Final = 2.0


def draw(props: PanelProps) -> PanelDrawing:
    """Return the rows of boxes. Raises NothingToDraw if there are no times, or too many samples for the panel."""
    columns = state_columns(props)
    starts = np.unique(np.concatenate([item.times.starts for item in columns]))
    times: list[float] = starts[(starts >= props.start) & (starts <= props.end)].tolist()
    if len(times) > props.width / _MIN_BOX_WIDTH:
        raise NothingToDraw(f"{len(times)} points in time are too many to show here; ask for fewer (max data points)")
    rows = state_rows(props, visible_columns(props, columns), names_bands=False)
    legend_elements, cell = with_legend(props, legend_entries(rows))
    area, elements = lay_out_rows(rows, cell, props.theme)
    step = min((later - earlier for earlier, later in pairwise(times)), default=props.end - props.start)
    slot = area.height / len(rows)
    options = props.panel.options
    for index, row in enumerate(rows):
        height = slot * row_share(options.get("rowHeight"))
        bar = Cell(area.x, area.y + slot * index + (slot - height) / 2, area.width, height)
        elements += _boxes(props, row, bar, step, row_share(options.get("colWidth")))
    axis = time_axis(area, props.start, props.end, props.zone, props.theme)
    return PanelDrawing([*elements, *axis, *legend_elements], notes=omitted_rows_notes(columns, rows))


def _boxes(props: PanelProps, row: StateRow, bar: Cell, step: float, width_share: float) -> list[str]:
    """Return the boxes of a row, each centred on its time, and the texts that fit into all of them."""
    scale = bar.width / ((props.end - props.start) or 1)
    width = max(step * scale * width_share, 1.0)
    centred = [
        (sample, bar.x + (sample.start - props.start) * scale)
        for sample in row.samples
        if sample.colour and props.start <= sample.start <= props.end
    ]
    by_colour: dict[str, list[tuple[float, float, float, float]]] = {}
    for sample, centre in centred:
        left, right = max(centre - width / 2, bar.x), min(centre + width / 2, bar.x + bar.width)
        by_colour.setdefault(sample.colour or "", []).append((left, bar.y, right - left, bar.height))
    opacity = opacity_of(row.style)
    elements = [cells_path(cells, colour, opacity) for colour, cells in by_colour.items()]
    return elements + (_texts(props, centred, bar, width, opacity) if bar.height >= _TEXT_SIZE else [])


def _texts(props: PanelProps, centred: Sequence[tuple[Sample, float]], bar: Cell, width: float, opacity: float) -> list[str]:
    """Return the texts that fit into boxes of a width. A text at an edge is moved inwards, because its box is cut there."""
    mode = string_of(props.panel.options.get("showValue")) or "auto"
    if mode == "never":
        return []
    return [
        text_element(
            sample.text,
            min(max(centre, bar.x + width / 4), bar.x + bar.width - width / 4),
            bar.y + bar.height / 2 + _TEXT_SIZE * BASELINE,
            size=_TEXT_SIZE,
            colour=text_colour_on(mixed(sample.colour or props.theme.panel, props.theme.panel, opacity)),
            anchor="middle",
        )
        for sample, centre in centred
        if text_width(sample.text, _TEXT_SIZE) <= width - 4
    ]
