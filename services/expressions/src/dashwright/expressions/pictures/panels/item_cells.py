"""The items of a panel that shows single values, and the cells of equal size in which they are drawn."""

import math
from collections.abc import Sequence
from typing import Final

from dashwright.common.json_shapes import object_of, string_of
from dashwright.expressions.pictures.display.items import DisplayItem, items_of
from dashwright.expressions.pictures.panels.drawing import Cell, PanelProps
from dashwright.expressions.pictures.svg import BOLD_WIDTH, text_width

#: The calculation of panels that do not configure one.
_DEFAULT_CALCULATION: Final = "lastNotNull"
#: Pixels between the cells and the border of the panel, and the minimum size of panels with these margins.
_MARGIN: Final = 6.0
_MIN_SIZE_WITH_MARGIN: Final = 60.0
#: Pixels between two cells.
GAP: Final = 8.0
#: The minimum width and height of a cell.
_MIN_WIDTH: Final = 12.0
_MIN_HEIGHT: Final = 10.0
#: The height of a line in font sizes.
LINE_HEIGHT: Final = 1.2
_MIN_FONT_SIZE: Final = 6.0


def panel_items(props: PanelProps) -> list[DisplayItem]:
    """Return the items that the panel's ``reduceOptions`` select, at least one."""
    options = {"calcs": [_DEFAULT_CALCULATION], **object_of(props.panel.options.get("reduceOptions"))}
    return items_of(props.frames, options, props.field_settings)


def names_of(props: PanelProps, items: Sequence[DisplayItem]) -> list[str]:
    """Return the names next to the items. As in Grafana, a single item has a name only if the panel configures one."""
    is_named = len(items) > 1 or bool(string_of(props.panel.defaults.get("displayName")))
    return [item.title if is_named else "" for item in items]


def content_area(props: PanelProps) -> Cell:
    """Return the panel without the margins to its border; a small panel has none."""
    if min(props.width, props.height) < _MIN_SIZE_WITH_MARGIN:
        return Cell(0, 0, props.width, props.height)
    return Cell(_MARGIN, 0, props.width - 2 * _MARGIN, props.height - _MARGIN)


def cells(props: PanelProps, count: int) -> list[Cell]:
    """Return the cells of ``count`` values, or of the first ones that fit, at least one. Together they cover the panel."""
    area = content_area(props)
    fitting_columns, fitting_rows = _fitting(area.width, _MIN_WIDTH), _fitting(area.height, _MIN_HEIGHT)
    orientation = string_of(props.panel.options.get("orientation"))
    if orientation == "horizontal":
        count = min(count, fitting_rows)
        columns = 1
    elif orientation == "vertical":
        count = columns = min(count, fitting_columns)
    else:
        count = min(count, fitting_columns * fitting_rows)
        columns = min(max(_automatic_columns(area, count), math.ceil(count / fitting_rows)), fitting_columns)
    rows = math.ceil(count / columns)
    height = (area.height - (rows - 1) * GAP) / rows
    item_cells = []
    for row in range(rows):
        # The cells of the last row share the width.
        in_row = min(columns, count - row * columns)
        width = (area.width - (in_row - 1) * GAP) / in_row
        item_cells += [Cell(area.x + index * (width + GAP), area.y + row * (height + GAP), width, height) for index in range(in_row)]
    return item_cells


def omission_notes(count: int) -> list[str]:
    """Return the note of a drawing without some of the values of the panel; an empty list if all values are drawn."""
    return [f"{count} more value{'s' if count > 1 else ''}"] if count else []


def _fitting(length: float, minimum: float) -> int:
    """Return how many cells of a minimum length, with gaps between them, fit into a length in pixels; at least one."""
    return max(1, int((length + GAP) // (minimum + GAP)))


def _automatic_columns(area: Cell, count: int) -> int:
    """Return the number of columns of the grid in which ``count`` squares are largest, with rows that differ by few cells.

    This is Grafana's automatic grid. Gaps are not part of its calculation.
    """
    side = max(_largest_side(area.width, area.height, count), _largest_side(area.height, area.width, count))
    columns = max(math.floor(area.width / side), 1)
    # With the same number of rows, fewer columns may be enough.
    rows = math.ceil(count / columns)
    return math.ceil(count / rows)


def _largest_side(length: float, cross_length: float, count: int) -> float:
    """Return the side of the largest squares of which ``count`` fit into a rectangle and fill its ``length``."""
    # If all squares together had exactly the area of the rectangle, each line would have this many.
    parts = math.ceil(math.sqrt(count * length / cross_length))
    lines = parts * cross_length / length
    return length / parts if math.floor(lines) * parts >= count else cross_length / math.ceil(lines)


def font_size(text: str, width: float, height: float, limit: float = math.inf) -> float:
    """Return the largest size at which a text fits into a width and a line into a height, at most ``limit``, all in pixels."""
    return max(_MIN_FONT_SIZE, min(height / LINE_HEIGHT, width / max(text_width(text, 1) * BOLD_WIDTH, 0.1), limit))


def longest(texts: Sequence[str]) -> str:
    """Return the widest text, which determines the font size of all items."""
    return max(texts, key=lambda text: text_width(text, 1), default="")
