"""Layout of a dashboard: a grid of its panels or, if it has row panels, rows with a grid each."""

from typing import Any, Final

from dashwright.common.conversion.classic_to_elements.members import Members, child, flag, text, whole_number
from dashwright.common.conversion.classic_to_elements.panels import element
from dashwright.common.conversion.classic_to_elements.rows import Row, panel_numbers, rows_of
from dashwright.common.conversion.context import ConversionContext
from dashwright.common.conversion.elements_form import ElementsForm

#: Default size of a panel, in grid cells.
_WIDTH: Final = 6
_HEIGHT: Final = 3

_DIRECTIONS: Final = ("h", "v")


def elements_and_layout(dashboard: Members, context: ConversionContext, form: ElementsForm) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the elements of a dashboard by name, and the layout that refers to them."""
    rows = rows_of(dashboard)
    numbers = iter(panel_numbers(rows))
    elements: dict[str, Any] = {}
    grids = []
    for row in rows:
        if row.header is not None:
            # The number of the row panel, which does not become an element.
            next(numbers)
        items = []
        # The panels are the first argument: zip then ends without taking a number of the next row.
        for panel, number in zip(row.panels, numbers, strict=False):
            name = f"panel-{number}"
            elements[name] = element(panel, number, context.data_sources, form)
            items.append(_item(panel, name, row.top, context))
        grids.append({"kind": "GridLayout", "spec": {"items": items}})
    if len(rows) == 1 and rows[0].header is None:
        return elements, grids[0]
    converted = [_row(row, grid) for row, grid in zip(rows, grids, strict=True)]
    return elements, {"kind": "RowsLayout", "spec": {"rows": converted}}


def _row(row: Row, grid: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its grid. Panels that no row panel precedes are in a row whose header is hidden."""
    if row.header is None:
        # As in Grafana, the first panel is at the top of its row, wherever it was in the dashboard.
        grid["spec"]["items"][0]["spec"]["y"] = 0
        return {"kind": "RowsLayoutRow", "spec": {"title": "", "collapse": False, "hideHeader": True, "layout": grid}}
    spec: dict[str, Any] = {"title": text(row.header, "title"), "collapse": flag(row.header, "collapsed"), "layout": grid}
    if variable := text(row.header, "repeat"):
        spec["repeat"] = {"mode": "variable", "value": variable}
    return {"kind": "RowsLayoutRow", "spec": spec}


def _item(panel: Members, name: str, top: int, context: ConversionContext) -> dict[str, Any]:
    """Return the item of a panel in a grid that begins at the vertical position ``top`` of the dashboard."""
    position = child(panel, "gridPos")
    reference = {"kind": "ElementReference", "name": name}
    if position is None:
        spec: dict[str, Any] = {"x": 0, "y": 0, "width": _WIDTH, "height": _HEIGHT, "element": reference}
    else:
        spec = {
            "x": whole_number(position, "x"),
            "y": whole_number(position, "y") - top,
            "width": whole_number(position, "w", _WIDTH),
            "height": whole_number(position, "h", _HEIGHT),
            "element": reference,
        }
    if ("repeat" in panel or "libraryPanel" in panel) and (repeat := _repeat(panel) or _library_repeat(panel, context)):
        spec["repeat"] = repeat
    return {"kind": "GridLayoutItem", "spec": spec}


def _repeat(panel: Members) -> dict[str, Any] | None:
    """Return the repetition of a panel for each value of a variable, or None if it is not repeated."""
    variable = text(panel, "repeat")
    if not variable:
        return None
    repeat: dict[str, Any] = {"mode": "variable", "value": variable}
    if (direction := text(panel, "repeatDirection")) in _DIRECTIONS:
        repeat["direction"] = direction
    if (panels_per_row := whole_number(panel, "maxPerRow")) > 0:
        repeat["maxPerRow"] = panels_per_row
    return repeat


def _library_repeat(panel: Members, context: ConversionContext) -> dict[str, Any] | None:
    """Return the repetition in the library panel to which a panel refers, or None."""
    library_panel = child(panel, "libraryPanel")
    body = context.library_panels.get(text(library_panel, "uid")) if library_panel else None
    return None if body is None else _repeat(body)
