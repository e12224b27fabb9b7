"""Rows of a classic dashboard. Each row begins with a row panel in the list of panels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from dashwright.common.conversion.classic_to_elements.members import LARGEST_NUMBER, Members, child, children, truncated, whole_number

#: Height of a row panel in grid cells. The panels of its row are placed below it.
_ROW_HEIGHT: Final = 1


@dataclass(slots=True)
class Row:
    """Row panel with the panels of its row, or the panels that no row panel precedes."""

    header: Members | None  #: The row panel. None if no row panel precedes the panels.
    top: int  #: Vertical position in the dashboard at which the panels of the row begin.
    panels: list[Members] = field(default_factory=list)


def rows_of(dashboard: Members) -> list[Row]:
    """Return the panels of a dashboard by row.

    A dashboard without row panels is one row without header. A row panel within another row panel becomes a row of its own,
    after the outer one.
    """
    current = Row(header=None, top=0)
    rows = [current]
    for panel in children(dashboard, "panels"):
        if not _is_header(panel):
            current.panels.append(panel)
            continue
        is_first_panel = current.header is None and not current.panels
        # A first row panel without a position is taken to be on line 0.
        new_rows = _rows_of_header(panel, _ROW_HEIGHT if is_first_panel else current.top)
        rows += new_rows
        current = new_rows[0]
    has_superfluous_row = len(rows) > 1 and not rows[0].panels
    return rows[1:] if has_superfluous_row else rows


def panel_numbers(rows: Iterable[Row]) -> list[int]:
    """Return the id of each panel of each row: first that of the row panel, if any, and then those of the panels of the row.

    A panel with a missing, invalid or repeated id gets the largest id plus 1, 2 … as in Grafana.
    """
    ids: list[int] = []
    for row in rows:
        panels = row.panels if row.header is None else (row.header, *row.panels)
        ids += [_valid_id(panel) for panel in panels]
    return _unique(ids)


def _rows_of_header(header: Members, previous_top: int) -> list[Row]:
    """Return the row of a row panel, and then the rows of the row panels within it."""
    rows = [Row(header, _top(header, previous_top))]
    # The list grows while the loop runs over it.
    for row in rows:
        for panel in children(row.header or {}, "panels"):
            if _is_header(panel):
                rows.append(Row(panel, _top(panel, row.top)))
            else:
                row.panels.append(panel)
    return rows


def _is_header(panel: Members) -> bool:
    return panel.get("type") == "row"


def _top(header: Members, previous_top: int) -> int:
    """Return where the panels of a row begin. A row panel without a position is taken to be where the previous one is."""
    position = child(header, "gridPos")
    return previous_top if position is None else whole_number(position, "y") + _ROW_HEIGHT


def _valid_id(panel: Members) -> int:
    """Return the id of a panel, or 0 if it is missing or invalid."""
    number = truncated(panel.get("id")) or 0
    return number if 0 < number < LARGEST_NUMBER else 0


def _unique(ids: Sequence[int]) -> list[int]:
    """Return the ids with new ids in place of repeated ones and of 0, which means a missing id."""
    largest = max(ids, default=0)
    used = {0}
    unique = []
    for number in ids:
        if number in used:
            largest += 1
            unique.append(largest)
        else:
            used.add(number)
            unique.append(number)
    return unique
