"""Sections of dashboards: panels below the heading of a row, or above the first one.

Invalid parts of a spec are ignored, because a stored dashboard may contain anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dashwright.common.json_shapes import number_of, object_of, objects_of, string_of

COLUMNS: Final = 24
# Bounds of positions, in rows of the grid.
_MAX_TOP: Final = 10_000
_MAX_HEIGHT: Final = 200
_DEFAULT_HEIGHT: Final = 8
_DEFAULT_PER_ROW: Final = 4
#: Ids from this one on are replaced. The next free ids after a smaller id are exact numbers in JavaScript.
_MAX_ID: Final = 2**52
#: Further panels of a dashboard are ignored.
MAX_SOURCE_PANELS: Final = 2_000


@dataclass(frozen=True, slots=True)
class GridPosition:
    """The position and size of a panel in columns and rows of the grid, which has 24 columns."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """The repetition of a panel or section for each value of a variable."""

    variable: str
    is_vertical: bool = False  #: True for repetitions one below another.
    per_row: int = _DEFAULT_PER_ROW  #: The maximum number of repetitions side by side.

    @staticmethod
    def of(source: Mapping[str, Any], name: str) -> "Repeat | None":
        """Return the repetition whose variable is the member ``name`` of ``source``, or None."""
        variable = string_of(source.get(name))
        direction = source.get("repeatDirection") or source.get("direction")
        per_row = number_of(source.get("maxPerRow"))
        return Repeat(variable, direction == "v", min(max(int(per_row or _DEFAULT_PER_ROW), 1), COLUMNS)) if variable else None


@dataclass(frozen=True, slots=True)
class SourcePanel:
    """A panel as stored, in the classic schema."""

    source: Mapping[str, Any]
    position: GridPosition
    repeat: Repeat | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Panels with the heading above them. Their positions are those in the dashboard."""

    title: str = ""
    panels: Sequence[SourcePanel] = field(default_factory=list)
    has_heading: bool = False
    is_collapsed: bool = False
    repeat: Repeat | None = None
    id: Any = None  #: The id of the panel that is the heading.


def classic_sections(spec: Mapping[str, Any]) -> list[Section]:
    """Return the sections of a dashboard of the classic schema, from top to bottom."""
    # A panel without a position is below all panels before it.
    bottom, source_panels = 0, []
    for source in _with_unique_ids(objects_of(spec.get("panels") or _panels_of_old_rows(spec))[:MAX_SOURCE_PANELS]):
        source_panel = _source_panel(source, bottom)
        bottom = max(bottom, source_panel.position.y + source_panel.position.height)
        source_panels.append(source_panel)
    # A heading is before the panels in the same row of the grid.
    source_panels.sort(key=lambda panel: (panel.position.y, panel.source.get("type") != "row", panel.position.x))
    # The heading of each section, which is empty for panels without one, and the panels.
    sections: list[tuple[dict[str, Any], list[SourcePanel]]] = [({}, [])]
    for panel in source_panels:
        if panel.source.get("type") == "row":
            hidden = [_source_panel(child, panel.position.y + 1) for child in objects_of(panel.source.get("panels"))[:MAX_SOURCE_PANELS]]
            sections.append((dict(panel.source), sorted(hidden, key=lambda child: (child.position.y, child.position.x))))
            # The panels of a collapsed row are stored in the row, so the panels below it do not belong to it.
            if panel.source.get("collapsed") is True:
                sections.append(({}, []))
        else:
            sections[-1][1].append(panel)
    return [
        Section(
            string_of(row.get("title")),
            panels,
            has_heading=bool(row),
            is_collapsed=row.get("collapsed") is True,
            repeat=Repeat.of(row, "repeat"),
            id=row.get("id"),
        )
        for row, panels in sections
        if row or panels
    ]


def unique_ids(ids: Sequence[Any]) -> list[int]:
    """Return the ids of panels. A missing, invalid or repeated id becomes the next free number, as in Grafana's frontend."""
    numbers = [int(number) if (number := number_of(id_)) and 1 <= number < _MAX_ID else 0 for id_ in ids]
    # 0, an invalid id, is always replaced.
    next_id, used, panel_ids = max(numbers, default=0) + 1, {0}, []
    for number in numbers:
        if number in used:
            number, next_id = next_id, next_id + 1
        used.add(number)
        panel_ids.append(number)
    return panel_ids


def _with_unique_ids(panels: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the panels, and the panels in rows, with ids that are unique in the dashboard."""
    inner = [objects_of(panel.get("panels"))[:MAX_SOURCE_PANELS] for panel in panels]
    pairs = list(zip(panels, inner, strict=True))
    ids = iter(unique_ids([item.get("id") for panel, children in pairs for item in (panel, *children)]))
    return [{**panel, "id": next(ids), "panels": [{**child, "id": next(ids)} for child in children]} for panel, children in pairs]


def _panels_of_old_rows(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the panels of ``rows``, which contained all panels until schema 16. The rows are placed one below another."""
    panels = []
    top = 0
    for row in objects_of(spec.get("rows")):
        x = 0
        for panel in objects_of(row.get("panels")):
            # The grid of rows had 12 columns.
            width = min(max(int(number_of(panel.get("span")) or 12), 1), 12) * 2
            if x + width > COLUMNS:
                x, top = 0, top + _DEFAULT_HEIGHT
            panels.append({**panel, "gridPos": {"x": x, "y": top, "w": width, "h": _DEFAULT_HEIGHT}})
            x += width
        top += _DEFAULT_HEIGHT
    return panels


def _source_panel(panel: Mapping[str, Any], default_y: int) -> SourcePanel:
    """Return a stored panel with its position, at the row ``default_y`` without one. The heading of a row has the full width."""
    position = read_position(object_of(panel.get("gridPos")), default_y, ("x", "y", "w", "h"))
    if panel.get("type") == "row":
        position = GridPosition(0, position.y, COLUMNS, 1)
    return SourcePanel(panel, position, Repeat.of(panel, "repeat"))


def read_position(source: Mapping[str, Any], default_y: int, names: tuple[str, str, str, str]) -> GridPosition:
    """Return the position in ``source``, moved and shrunk to fit into the grid.

    ``names`` are the keys of the column, the row, the width and the height. A missing row is ``default_y``.
    """
    x, y, width, height = (number_of(source.get(name)) for name in names)
    column = min(max(int(x or 0), 0), COLUMNS - 1)
    return GridPosition(
        column,
        default_y if y is None else min(max(int(y), 0), _MAX_TOP),
        min(max(int(width or COLUMNS // 2), 1), COLUMNS - column),
        min(max(int(height or _DEFAULT_HEIGHT), 1), _MAX_HEIGHT),
    )
