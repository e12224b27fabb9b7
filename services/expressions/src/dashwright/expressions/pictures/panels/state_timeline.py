"""State timelines: each column is a row of coloured states, from one change to the next."""

from collections.abc import Sequence
from typing import Any, Final

from dashwright.common.json_shapes import number_of, string_of
from dashwright.expressions.pictures.display.colour_math import mixed, text_colour_on
from dashwright.expressions.pictures.panels.axes import AXIS_HEIGHT, LABEL_SIZE, labels_width, time_axis
from dashwright.expressions.pictures.panels.drawing import Cell, PanelDrawing, PanelProps
from dashwright.expressions.pictures.panels.legend import LegendEntry, with_legend
from dashwright.expressions.pictures.panels.states import Sample, StateColumn, StateRow, legend_states, merged, state_columns, state_rows
from dashwright.expressions.pictures.style import Style
from dashwright.expressions.pictures.svg import BASELINE, cells_path, text_element, truncated
from dashwright.expressions.pictures.theme import Theme

#: The share of a row's height that its states take, and their opacity in percent, as in Grafana.
_DEFAULT_ROW_SHARE: Final = 0.9
_DEFAULT_OPACITY: Final = 70
#: The number of rows of a page, as in Grafana.
_DEFAULT_PAGE: Final = 20
_MIN_ROW_HEIGHT: Final = 6.0
#: The part of the width that names take at most.
_NAME_SHARE: Final = 0.33
#: Pixels around the area of states, and between a name and the area.
_MARGIN: Final = 4
_RIGHT_MARGIN: Final = 8
_NAME_GAP: Final = 6
_TEXT_SIZE: Final = 12.0
_TEXT_MARGIN: Final = 4.0
_MAX_LEGEND: Final = 50
#: The minimum number of characters of a shortened text that is shown, as in Grafana.
_MIN_CHARACTERS: Final = 2


def draw(props: PanelProps) -> PanelDrawing:
    """Return the rows of states with their names, the times and a legend. Raises NothingToDraw if there are no times."""
    options = props.panel.options
    merges = options.get("mergeValues", True) is not False
    columns = state_columns(props)
    rows = state_rows(props, visible_columns(props, columns), names_bands=merges)
    legend_elements, cell = with_legend(props, legend_entries(rows))
    area, elements = lay_out_rows(rows, cell, props.theme)
    slot = area.height / len(rows)
    for index, row in enumerate(rows):
        height = slot * row_share(options.get("rowHeight"))
        bar = Cell(area.x, area.y + slot * index + (slot - height) / 2, area.width, height)
        samples = merged(row.samples) if merges else row.samples
        elements += _states(props, row.style, placed_samples(samples, props, area), bar)
    axis = time_axis(area, props.start, props.end, props.zone, props.theme)
    return PanelDrawing([*elements, *axis, *legend_elements], notes=omitted_rows_notes(columns, rows))


def legend_entries(rows: Sequence[StateRow]) -> list[LegendEntry]:
    """Return the entries of a legend of states."""
    return [LegendEntry(text, colour) for text, colour in legend_states(rows)[:_MAX_LEGEND]]


def row_share(value: Any) -> float:
    """Return the part of a row's or column's room that its cells take, from an option between 0 and 1."""
    share = number_of(value)
    return _DEFAULT_ROW_SHARE if share is None else min(max(share, 0.05), 1.0)


def visible_columns(props: PanelProps, columns: Sequence[StateColumn]) -> Sequence[StateColumn]:
    """Return the columns of the first page, as far as their rows fit."""
    page = int(number_of(props.panel.options.get("perPage")) or _DEFAULT_PAGE)
    return columns[: max(1, min(page, int((props.height - AXIS_HEIGHT) // _MIN_ROW_HEIGHT)))]


def omitted_rows_notes(columns: Sequence[StateColumn], rows: Sequence[StateRow]) -> list[str]:
    """Return the note on columns that have no row."""
    return [f"{len(columns) - len(rows)} more rows"] if len(rows) < len(columns) else []


def lay_out_rows(rows: Sequence[StateRow], cell: Cell, theme: Theme) -> tuple[Cell, list[str]]:
    """Return the area of the states of rows, and the names to the left of it."""
    height = cell.height - AXIS_HEIGHT - _MARGIN
    name_limit = cell.width * _NAME_SHARE
    name_width = labels_width([row.name for row in rows], name_limit)
    width = cell.width - name_width - (_MARGIN + _RIGHT_MARGIN)
    area = Cell(cell.x + name_width + _MARGIN, cell.y + _MARGIN, max(width, 1.0), max(height, 1.0))
    slot = area.height / len(rows)
    size = min(LABEL_SIZE, slot)
    names = [
        text_element(
            truncated(row.name, size, name_width - _NAME_GAP),
            area.x - _NAME_GAP,
            area.y + slot * (index + 0.5) + size * BASELINE,
            size=size,
            colour=theme.muted,
            anchor="end",
        )
        for index, row in enumerate(rows)
    ]
    return area, names


def placed_samples(samples: Sequence[Sample], props: PanelProps, area: Cell) -> list[tuple[Sample, float, float]]:
    """Return the visible samples with their left and right edges in pixels, at most one for each pixel of the area."""
    scale = area.width / ((props.end - props.start) or 1)
    visible_samples: list[tuple[Sample, float, float]] = []
    last_pixel = -1
    for sample in samples:
        if sample.colour is None or sample.end <= props.start or sample.start >= props.end:
            continue
        left, right = ((min(max(time, props.start), props.end) - props.start) * scale for time in (sample.start, sample.end))
        if int(right) > last_pixel:
            last_pixel = int(right)
            visible_samples.append((sample, area.x + left, area.x + right))
    return visible_samples


def opacity_of(style: Style) -> float:
    """Return the opacity of cells, from 0 to 1."""
    opacity = number_of(style.custom.get("fillOpacity"))
    return min(max(_DEFAULT_OPACITY if opacity is None else opacity, 0), 100) / 100


def _states(props: PanelProps, style: Style, states: Sequence[tuple[Sample, float, float]], bar: Cell) -> list[str]:
    """Return the cells of one row, one element for each colour, and the texts that fit into them."""
    opacity = opacity_of(style)
    by_colour: dict[str, list[tuple[float, float, float, float]]] = {}
    for sample, left, right in states:
        by_colour.setdefault(sample.colour or "", []).append((left, bar.y, max(right - left, 0.5), bar.height))
    elements = [cells_path(cells, colour, opacity) for colour, cells in by_colour.items()]
    mode = string_of(props.panel.options.get("showValue")) or "auto"
    if mode == "never" or bar.height < _TEXT_SIZE:
        return elements
    for sample, left, right in states:
        text_width = right - left - 2 * _TEXT_MARGIN
        text = truncated(sample.text, _TEXT_SIZE, text_width) if text_width > 0 else ""
        if sum(character != "…" for character in text) < min(_MIN_CHARACTERS, len(sample.text)) or not text:
            continue
        colour = text_colour_on(mixed(sample.colour or props.theme.panel, props.theme.panel, opacity))
        elements.append(_text(props, text, left, right, bar, colour))
    return elements


def _text(props: PanelProps, text: str, left: float, right: float, bar: Cell, colour: str) -> str:
    """Return the text of a state, aligned as the panel configures it."""
    y = bar.y + bar.height / 2 + _TEXT_SIZE * BASELINE
    alignment = string_of(props.panel.options.get("alignValue"))
    if alignment == "center":
        return text_element(text, (left + right) / 2, y, size=_TEXT_SIZE, colour=colour, anchor="middle")
    if alignment == "right":
        return text_element(text, right - _TEXT_MARGIN, y, size=_TEXT_SIZE, colour=colour, anchor="end")
    return text_element(text, left + _TEXT_MARGIN, y, size=_TEXT_SIZE, colour=colour)
