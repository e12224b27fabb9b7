"""Panels of a dashboard that are stored as references to library panels."""

from typing import Any

import pytest

from dashwright.expressions.pictures.dashboard import Panel, read_dashboard, read_sections

#: A reference to a library panel, and the panel in the library, which has another id and position.
REFERENCE = {"uid": "u", "name": "Shared value"}
MODEL = {"id": 77, "type": "text", "title": "Shared", "gridPos": {"x": 0, "y": 0, "w": 24, "h": 20}, "options": {"content": "c"}}
#: A dashboard with the reference in the classic schema, and below in the schema with elements.
CLASSIC = {"panels": [{"id": 3, "gridPos": {"x": 6, "y": 0, "w": 6, "h": 4}, "libraryPanel": REFERENCE}]}
ITEM = {"x": 6, "y": 0, "width": 6, "height": 4, "element": {"name": "e"}}
ELEMENTS = {
    "elements": {"e": {"kind": "LibraryPanel", "spec": {"id": 3, "title": "", "libraryPanel": REFERENCE}}},
    "layout": {"kind": "GridLayout", "spec": {"items": [{"kind": "GridLayoutItem", "spec": ITEM}]}},
}


def read_panel(spec: dict[str, Any], models: dict[str, Any]) -> Panel:
    """Return the panel of a dashboard, with the library panels by their uids."""
    (panel,) = read_dashboard(spec, sections=read_sections(spec, models)).panels
    return panel


@pytest.mark.parametrize("spec", [CLASSIC, ELEMENTS], ids=["classic", "elements"])
def test_a_library_panel_has_the_position_of_the_dashboard_and_the_content_of_the_library(spec: dict[str, Any]) -> None:
    """The id and the position are those in the dashboard; the type and the title are those in the library."""
    panel = read_panel(spec, {"u": MODEL})
    assert panel.id == 3
    assert (panel.position.x, panel.position.width, panel.position.height) == (6, 6, 4)
    assert panel.type == "text"
    assert panel.title == "Shared"
    assert panel.problem == ""


def test_exported_dashboards_contain_their_library_panels() -> None:
    """An exported dashboard contains its library panels. A stored one has precedence, because it may have changed since the export."""
    spec = {**CLASSIC, "__elements": {"u": {"kind": 1, "name": "n", "model": {**MODEL, "title": "Exported"}}, "v": None}}
    assert read_panel(spec, {}).title == "Exported"
    assert read_panel(spec, {"u": MODEL}).title == "Shared"


@pytest.mark.parametrize("spec", [CLASSIC, ELEMENTS], ids=["classic", "elements"])
def test_a_missing_library_panel_is_named(spec: dict[str, Any]) -> None:
    """A panel whose library panel is missing has the name of the reference as its title and in its problem."""
    panel = read_panel(spec, {})
    assert "library panel 'Shared value' does not exist" in panel.problem
    assert panel.title == "Shared value"
