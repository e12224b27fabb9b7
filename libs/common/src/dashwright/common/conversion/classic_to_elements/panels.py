"""Panels as elements of a dashboard."""

from typing import Any

from dashwright.common.conversion.classic_to_elements.byte_order_marks import without_marks
from dashwright.common.conversion.classic_to_elements.members import Members, child, children, flag, text
from dashwright.common.conversion.classic_to_elements.queries import query_group
from dashwright.common.conversion.classic_to_elements.visualization import visualization
from dashwright.common.conversion.context import DataSourceIndex
from dashwright.common.conversion.elements_form import ElementsForm


def element(panel: Members, number: int, index: DataSourceIndex, form: ElementsForm) -> dict[str, Any]:
    """Return the element of a panel whose id is ``number``."""
    library_panel = child(panel, "libraryPanel")
    if library_panel is not None:
        reference = {"uid": text(library_panel, "uid"), "name": text(library_panel, "name")}
        return {"kind": "LibraryPanel", "spec": {"id": number, "title": text(panel, "title"), "libraryPanel": reference}}
    spec = {
        "id": number,
        "title": text(panel, "title"),
        "description": text(panel, "description"),
        "links": [_link(link) for link in children(panel, "links")] if "links" in panel else [],
        "data": query_group(panel, index, form),
        "vizConfig": visualization(panel, form),
    }
    if flag(panel, "transparent"):
        spec["transparent"] = True
    return {"kind": "Panel", "spec": spec}


def _link(link: Members) -> dict[str, Any]:
    converted: dict[str, Any] = {"title": text(link, "title"), "url": without_marks(text(link, "url"))}
    if "targetBlank" in link:
        converted["targetBlank"] = flag(link, "targetBlank")
    return converted
