"""Migrations from rows of panels with spans to a grid of 24 columns."""

import math
from typing import Final

from dashwright.common.conversion.migration.defaults import fill_panel
from dashwright.common.conversion.migration.document import Object, is_true, objects, panels_in_any_layout, parsed_number, text
from dashwright.common.conversion.migration.identifiers import highest_panel_id

#: The schema version of the first dashboards with a grid.
GRID_VERSION: Final = 16

_COLUMNS: Final = 24
_COLUMNS_PER_SPAN: Final = 2
_DEFAULT_SPAN: Final = 4
_DEFAULT_ROW_HEIGHT: Final = 250  # in pixels
_MIN_PANEL_HEIGHT: Final = 90  # in pixels
_CELL_HEIGHT: Final = 38  # in pixels, with the margin


def place_on_grid(dashboard: Object) -> None:
    """Replace the rows of a dashboard by panels with positions (version 16).

    Row panels are added if any row is collapsed, repeated or shows its title.
    """
    rows = dashboard.get("rows")
    if not isinstance(rows, list):
        return
    existing = dashboard.get("panels")
    grid_panels = list(existing) if isinstance(existing, list) else []
    row_id = highest_panel_id(panels_in_any_layout(dashboard)) + 1
    layout = _Layout(grid_panels, next_id=row_id, shows_rows=any(_shows_row(row) for row in objects(rows)))
    for row in objects(rows):
        # A row with this member is a copy of a repeated row.
        if row.get("repeatIteration") is None:
            layout.add_row(row)
    del dashboard["rows"]
    if rows:
        dashboard["panels"] = layout.panels


def _shows_row(row: Object) -> bool:
    """Return whether a row needs a row panel."""
    return is_true(row, "collapse") or is_true(row, "showTitle") or text(row, "repeat") != ""


class _Layout:
    """The panels of rows that are placed one after the other."""

    def __init__(self, panels: list[Object], *, next_id: int, shows_rows: bool) -> None:
        self.panels = panels
        self._next_id = next_id
        self._shows_rows = shows_rows
        self._y = 0

    def add_row(self, row: Object) -> None:
        """Place the panels of a row below everything that was placed before."""
        height = _grid_height(_pixels(row, "height") or _DEFAULT_ROW_HEIGHT)
        is_collapsed = is_true(row, "collapse")
        row_panel = self._row_panel(row, height) if self._shows_rows else None
        area = _RowArea(height, self._y)
        nested: list[Object] = []
        for panel in objects(row.get("panels")):
            self._y = area.place(panel)
            if row_panel is not None and is_collapsed:
                nested.append(panel)
            else:
                fill_panel(panel)
                self.panels.append(panel)
        if row_panel is not None:
            row_panel["panels"] = nested
            self.panels.append(row_panel)
        # The panels of a collapsed row take no space.
        if row_panel is None or not is_collapsed:
            self._y += height

    def _row_panel(self, row: Object, height: int) -> Object:
        """Return the panel that shows the title of a row. Its height is that of the panels of the row."""
        panel: Object = {
            "id": self._next_id,
            "type": "row",
            "title": text(row, "title"),
            "repeat": text(row, "repeat"),
            "panels": [],
            "gridPos": {"x": 0, "y": self._y, "w": _COLUMNS, "h": height},
        }
        if "collapse" in row:
            panel["collapsed"] = is_true(row, "collapse")
        self._next_id += 1
        self._y += 1
        return panel


class _RowArea:
    """The columns of one row, filled from the left."""

    def __init__(self, height: int, y: int) -> None:
        self._height = height
        self._y = y
        self._filled = [0] * _COLUMNS

    def place(self, panel: Object) -> int:
        """Give a panel its position, and return the y of the line of panels that contains it."""
        min_span = parsed_number(panel.get("minSpan"))
        if min_span is not None and min_span > 0:
            panel["minSpan"] = int(min(_COLUMNS, _COLUMNS_PER_SPAN * min_span))
        width = math.floor(parsed_number(panel.get("span")) or _DEFAULT_SPAN) * _COLUMNS_PER_SPAN
        own_height = _pixels(panel, "height")
        height = _grid_height(own_height) if own_height else self._height
        x, y = self._free_place(width)
        panel["gridPos"] = {"x": x, "y": self._y + y, "w": width, "h": height}
        for column in range(x, min(x + width, _COLUMNS)):
            self._filled[column] = max(self._filled[column], y + height)
        panel.pop("span", None)
        return self._y

    def _free_place(self, width: int) -> tuple[int, int]:
        """Return the column and the line, within the row, of the first free place. Start a new line if nothing is free.

        As in Grafana, a place reaches from the rightmost column to the left, up to a column that is full or higher than its neighbour.
        """
        start, end = 0, -1
        for column in reversed(range(_COLUMNS)):
            if self._filled[column] >= self._height:
                break
            if end < 0:
                end = column
            elif self._filled[column] <= self._filled[column + 1]:
                start = column
            else:
                break
        if end >= 0 and end - start >= width - 1:
            return start, max(self._filled[start : end + 1])
        self._y += self._height
        self._filled = [0] * _COLUMNS
        return 0, 0


def _pixels(holder: Object, name: str) -> float | None:
    """Return a number of pixels, also from a text such as ``"250px"``."""
    value = holder.get(name)
    return parsed_number(value.removesuffix("px") if isinstance(value, str) else value)


def _grid_height(pixels: float) -> int:
    """Return a height in grid cells, rounded up."""
    return math.ceil(max(pixels, _MIN_PANEL_HEIGHT) / _CELL_HEIGHT)


def limit_panels_per_row(panel: Object) -> None:
    """Replace the smallest span of repeated panels by the largest number of them in a row (version 17).

    Like in Grafana, a span of one column or less, or of more than all columns, limits nothing.
    """
    if "minSpan" in panel:
        span = parsed_number(panel.pop("minSpan"))
        if span is not None and 1 < span <= _COLUMNS:
            # As in Grafana, the panels fill the row without a remainder.
            divisors = [count for count in range(1, _COLUMNS) if _COLUMNS % count == 0]
            panel["maxPerRow"] = max(count for count in divisors if count * span <= _COLUMNS)
