"""Placement of panels in the grid: rows are collapsed or expanded, and panels and rows repeated for values of variables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dashwright.expressions.pictures.sections import COLUMNS, GridPosition, Repeat, Section, SourcePanel
from dashwright.expressions.variables.scope import Scope
from dashwright.expressions.variables.values import ALL, Value

#: The maximum number of repetitions of one panel or row in a picture. Further repetitions are not placed.
MAX_REPEATS: Final = 60
#: The maximum number of panels. Further panels are not placed.
MAX_PLACED: Final = 2_000
TOO_MANY_PANELS: Final = f"the dashboard has more than {MAX_PLACED} panels, of which the first {MAX_PLACED} are read"


@dataclass(frozen=True, slots=True)
class PlacedPanel:
    """A panel at its position, with the values of variables that apply to it."""

    source: Mapping[str, Any]
    position: GridPosition
    scope: Scope
    hidden_count: int | None = None  #: The number of panels of a collapsed row, for its heading; None for any other panel.


@dataclass(slots=True)
class Placement:
    """The placed panels of a dashboard, and the notices about limits that apply."""

    panels: list[PlacedPanel] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    max_repeats: int = MAX_REPEATS  #: The maximum number of repetitions of one panel or row.

    def add_notice(self, notice: str) -> None:
        """Add a notice, unless an equal one was added before."""
        if notice not in self.notices:
            self.notices.append(notice)


def place(sections: Sequence[Section], scope: Scope, *, expanded: bool, max_repeats: int = MAX_REPEATS) -> Placement:
    """Return the panels of all sections, one section below another. ``expanded`` also places the panels of collapsed rows."""
    placement = Placement(max_repeats=max_repeats)
    top = 0
    for section in sections:
        for section_scope in _repetitions(section.repeat, scope, placement):
            if len(placement.panels) >= MAX_PLACED:
                placement.add_notice(TOO_MANY_PANELS)
                return placement
            top = _place_section(section, section_scope, top, placement, expanded=expanded)
    return placement


def _place_section(section: Section, scope: Scope, top: int, placement: Placement, *, expanded: bool) -> int:
    """Place a section at the grid row ``top`` and return the row below it."""
    is_hidden = section.is_collapsed and not expanded
    if section.has_heading:
        source = {"type": "row", "title": section.title, "id": section.id}
        hidden_count = len(section.panels) if is_hidden else None
        placement.panels.append(PlacedPanel(source, GridPosition(0, top, COLUMNS, 1), scope, hidden_count))
        top += 1
    if is_hidden or not section.panels:
        return top
    first_row = min(panel.position.y for panel in section.panels)
    bottom, shift = top, top - first_row
    for panel in section.panels:
        if len(placement.panels) >= MAX_PLACED:
            placement.add_notice(TOO_MANY_PANELS)
            break
        copies = list(_copies(panel, scope, placement))
        for copy in copies:
            position = replace(copy.position, y=copy.position.y + shift)
            placement.panels.append(replace(copy, position=position))
            bottom = max(bottom, position.y + position.height)
        if copies:
            # Panels below the repeated one move down by the height of the further copies.
            shift += max(copy.position.y for copy in copies) - panel.position.y
    return bottom


def _copies(panel: SourcePanel, scope: Scope, placement: Placement) -> Iterator[PlacedPanel]:
    """Yield the panel for each value of its variable, side by side or one below another."""
    scopes = list(_repetitions(panel.repeat, scope, placement))
    position = panel.position
    if panel.repeat is None or panel.repeat.is_vertical:
        for index, copy_scope in enumerate(scopes):
            yield PlacedPanel(panel.source, replace(position, y=position.y + index * position.height), copy_scope)
        return
    # As in Grafana, the copies are spread evenly over as few rows as possible.
    rows = math.ceil(len(scopes) / panel.repeat.per_row)
    columns = math.ceil(len(scopes) / rows)
    width = COLUMNS // columns
    for index, copy_scope in enumerate(scopes):
        row, column = divmod(index, columns)
        yield PlacedPanel(
            panel.source, GridPosition(column * width, position.y + row * position.height, width, position.height), copy_scope
        )


def _repetitions(repeat: Repeat | None, scope: Scope, placement: Placement) -> list[Scope]:
    """Return the scope of each repetition, in which the variable has one value; only ``scope`` if the variable has no values."""
    value = scope.values.get(repeat.variable) if repeat else None
    # ``ALL`` as the only value is a selection of all options that could not be read.
    if repeat is None or value is None or not value.values or value.values == (ALL,):
        return [scope]
    limit = placement.max_repeats
    if len(value.values) > limit:
        placement.add_notice(f"${repeat.variable} has {len(value.values)} values; panels are repeated for the first {limit}")
    texts = value.texts if len(value.texts) == len(value.values) else value.values
    pairs = list(zip(value.values, texts, strict=True))[:limit]
    return [
        scope.with_values({repeat.variable: Value((repeat_value,), (text,), is_selection=value.is_selection)})
        for repeat_value, text in pairs
    ]
