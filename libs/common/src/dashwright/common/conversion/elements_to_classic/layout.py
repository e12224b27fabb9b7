"""Classic list of panels from a layout: rows and tabs become row panels, and grids become positions.

Positions follow Grafana 12.4 exactly, with its peculiarities: the panels of an expanded row begin on the line of its header, a fixed
grid in a row with a hidden header keeps its own lines, and after an empty fixed grid the next row begins at line 0.
"""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.common.conversion.elements_to_classic.panels import classic_panel, panel_id
from dashwright.common.conversion.failures import ConversionFailed
from dashwright.common.conversion.parts import (
    MAX_LAYOUT_DEPTH,
    located,
    number_in,
    object_in,
    specs_in,
    text_in,
    too_deep,
    unexpected,
)

_GRID_WIDTH: Final = 24
_DEFAULT_COLUMNS: Final = 3

#: Heights of the panels of an auto grid, in units of the classic grid.
_DEFAULT_HEIGHT: Final = 9
_HEIGHTS: Final = {"short": 5, "standard": _DEFAULT_HEIGHT, "tall": 14}
#: Height of a unit of the classic grid with its margin, in pixels.
_UNIT_PIXELS: Final = 38

_Panels = list[dict[str, Any]]


def classic_panels(spec: Mapping[str, Any]) -> _Panels:
    """Return the classic panels of a spec in the order of its layout.

    Raises ConversionFailed if a part has an unexpected type, or if the layout refers to an element that does not exist.
    """
    elements = object_in(spec, "elements")
    flattening = _Flattening(elements)
    try:
        layout = object_in(spec, "layout")
        if _has_sections(layout):
            return flattening.panels_of_sections(layout, y=0, depth=1)
        panels: _Panels = []
        flattening.add_grid(layout, 0, panels)
    except ConversionFailed as failure:
        raise located("spec.layout", failure) from failure
    return panels


class _Flattening:
    """Conversion of one layout to a list of panels. It keeps the last id of a row panel, so that each row panel has an id of its own."""

    def __init__(self, elements: Mapping[str, Any]) -> None:
        self._elements = elements
        self._last_row_id: int | None = None

    def panels_of_sections(self, layout: Mapping[str, Any], y: float, depth: int) -> _Panels:
        """Return the panels of the rows or tabs of a layout, from line ``y`` on. ``depth`` counts the layouts inside each other."""
        if depth > MAX_LAYOUT_DEPTH:
            raise too_deep()
        panels: _Panels = []
        is_tabs = layout.get("kind") == "TabsLayout"
        for section in specs_in(object_in(layout, "spec"), "tabs" if is_tabs else "rows"):
            inner = object_in(section, "layout")
            if _has_sections(inner):
                y = self._add_nested(section, inner, y, depth, panels, is_tab=is_tabs)
            elif is_tabs:
                y = self._add_tab(section, inner, y, panels)
            else:
                y = self._add_row(section, inner, y, panels)
        return panels

    def add_grid(self, layout: Mapping[str, Any], y: float, panels: _Panels) -> float:
        """Add the panels of a grid, from line ``y`` on. Return the line below the lowest panel, or (as in Grafana) 0 without panels."""
        kind = text_in(layout, "kind")
        if kind == "GridLayout":
            return self._add_fixed_grid(object_in(layout, "spec"), y, panels)
        if kind == "AutoGridLayout":
            return self._add_auto_grid(object_in(layout, "spec"), y, panels)
        # A dashboard, row or tab without a layout has no panels.
        if not layout:
            return 0
        raise ConversionFailed(f"kind '{kind}' is unknown; use 'GridLayout', 'AutoGridLayout', 'RowsLayout' or 'TabsLayout'")

    def _add_nested(
        self, section: Mapping[str, Any], inner: Mapping[str, Any], y: float, depth: int, panels: _Panels, *, is_tab: bool
    ) -> float:
        """Add the row panel of a row or tab, and then the panels of its nested rows or tabs. Return the line below them."""
        if is_tab or section.get("hideHeader") is not True:
            header = self._header(section)
            # As in Grafana, a row with nested sections loses its repetition.
            if not is_tab:
                header.pop("repeat", None)
            panels.append(header | {"collapsed": False, "panels": [], "gridPos": _header_position(y)})
            y += 1
        nested = self.panels_of_sections(inner, y, depth + 1)
        panels += nested
        return max([y, *(_end(panel) for panel in nested)])

    def _add_tab(self, tab: Mapping[str, Any], inner: Mapping[str, Any], y: float, panels: _Panels) -> float:
        """Add the row panel and the panels of a tab. Return the line below them."""
        panels.append(self._header(tab) | {"collapsed": False, "panels": [], "gridPos": _header_position(y)})
        return max(y + 1, self.add_grid(inner, y + 1, panels))

    def _add_row(self, row: Mapping[str, Any], inner: Mapping[str, Any], y: float, panels: _Panels) -> float:
        """Add the row panel and the panels of a row. Return the line at which the next row begins."""
        is_auto = inner.get("kind") == "AutoGridLayout"
        if row.get("hideHeader") is True:
            # As in Grafana, only an auto grid is moved below the previous row.
            end = self.add_grid(inner, y if is_auto else 0, panels)
            return _next_line(inner, y, end)
        header = self._header(row)
        panels.append(header)
        collapse = row.get("collapse")
        if collapse is not None:
            header["collapsed"] = collapse
        if collapse is True:
            header["gridPos"] = _header_position(y)
            row_panels: _Panels = []
            self.add_grid(inner, y + 1, row_panels)
            if row_panels:
                header["panels"] = row_panels
            return y + 1
        previous_count = len(panels)
        end = self.add_grid(inner, y, panels)
        has_panels = len(panels) > previous_count
        # As in Grafana, the header of an empty expanded row has a position only if its layout is an auto grid.
        if is_auto or has_panels:
            header["gridPos"] = _header_position(y)
        return _next_line(inner, y, end)

    def _header(self, section: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row panel of a row or tab, without its position. Its id is larger than those of all elements."""
        if self._last_row_id is None:
            self._last_row_id = max((_checked_id(name, element) for name, element in self._elements.items()), default=0)
        # The ids of elements may be negative; those of row panels are positive.
        self._last_row_id = max(0, self._last_row_id) + 1
        header: dict[str, Any] = {"type": "row", "id": self._last_row_id}
        if (title := section.get("title")) is not None:
            header["title"] = title
        if repeated := object_in(section, "repeat").get("value"):
            header["repeat"] = repeated
        return header

    def _add_fixed_grid(self, spec: Mapping[str, Any], y: float, panels: _Panels) -> float:
        """Add the panels of a grid with positions, which are relative to line ``y``. Return the line below the lowest panel, or 0."""
        end: float = 0
        for item in specs_in(spec, "items"):
            position = {
                "x": number_in(item, "x"),
                "y": number_in(item, "y") + y,
                "w": number_in(item, "width"),
                "h": number_in(item, "height"),
            }
            panel = self._element(item)
            panel["gridPos"] = position
            if item.get("repeat") is not None:
                repeat = object_in(item, "repeat")
                panel["repeat"] = repeat.get("value") or ""
                if (direction := repeat.get("direction")) in ("h", "v"):
                    panel["repeatDirection"] = direction
                if (max_per_row := repeat.get("maxPerRow")) is not None:
                    panel["maxPerRow"] = max_per_row
            panels.append(panel)
            end = max(end, position["y"] + position["h"])
        return end

    def _add_auto_grid(self, spec: Mapping[str, Any], y: float, panels: _Panels) -> float:
        """Add panels of equal size, row by row from line ``y`` on. Return the line below the last panel, or 0."""
        columns = number_in(spec, "maxColumnCount")
        columns = max(columns, 1) if columns > 0 else _DEFAULT_COLUMNS
        width, height = int(_GRID_WIDTH / columns), _row_height(spec)
        x, end = 0, 0.0
        for item in specs_in(spec, "items"):
            panel = self._element(item)
            panel["gridPos"] = {"x": x, "y": y, "w": width, "h": height}
            if item.get("repeat") is not None:
                repeated = object_in(item, "repeat").get("value") or ""
                panel |= {"repeat": repeated, "repeatDirection": "h", "maxPerRow": int(columns)}
            panels.append(panel)
            end = y + height
            x += width
            if x >= _GRID_WIDTH:
                x, y = 0, y + height
        return end

    def _element(self, item: Mapping[str, Any]) -> dict[str, Any]:
        """Return the panel to which an item of a grid refers."""
        name = text_in(object_in(item, "element"), "name")
        if name not in self._elements:
            raise ConversionFailed(f"element '{name}' does not exist in spec.elements; add it or remove its item")
        try:
            return classic_panel(object_in(self._elements, name))
        except ConversionFailed as failure:
            raise located(f"element '{name}'", failure) from failure


def _next_line(grid: Mapping[str, Any], y: float, end: float) -> float:
    """Return the line after a row at line ``y`` whose panels end at line ``end``.

    As in Grafana, the next row begins where a fixed grid ends, even if that is above ``y``: an empty grid ends at line 0, and the
    lines of a grid below a hidden header are counted from 0.
    """
    return end if grid.get("kind") == "GridLayout" else max(y, end)


def _has_sections(layout: Mapping[str, Any]) -> bool:
    return layout.get("kind") in ("RowsLayout", "TabsLayout")


def _row_height(spec: Mapping[str, Any]) -> int:
    """Return the height of the panels of an auto grid, in units of the classic grid, rounded up."""
    mode = text_in(spec, "rowHeightMode")
    if mode == "custom" and (pixels := number_in(spec, "rowHeight")) > 0:
        return int((pixels + _UNIT_PIXELS - 1) / _UNIT_PIXELS)
    return _HEIGHTS.get(mode, _DEFAULT_HEIGHT)


def _header_position(y: float) -> dict[str, Any]:
    return {"x": 0, "y": y, "w": _GRID_WIDTH, "h": 1}


def _end(panel: Mapping[str, Any]) -> float:
    """Return the line below a panel, or minus infinity for a panel without a position."""
    position = panel.get("gridPos")
    return float("-inf") if position is None else position["y"] + position["h"]


def _checked_id(name: str, element: Any) -> int:
    """Return the id of an element. Raises ConversionFailed, naming the element, if a part has an unexpected type."""
    if not isinstance(element, dict):
        raise unexpected(f"element '{name}'", element, "an object")
    try:
        return panel_id(element)
    except ConversionFailed as failure:
        raise located(f"element '{name}'", failure) from failure
