"""Layout of a picture: the position of each panel in pixels.

Panels move up in the grid of 24 columns until they touch another panel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.expressions.pictures.dashboard import MAX_PANELS, Panel
from dashwright.expressions.pictures.sections import COLUMNS, GridPosition

#: Pixels of a row of the grid, and between two panels, as in Grafana.
_ROW_HEIGHT: Final = 30
_GAP: Final = 8
#: Pixels between the columns of a picture that is narrower than ``_NARROW_WIDTH``.
_SMALL_GAP: Final = 2
_NARROW_WIDTH: Final = 480
#: Pixels of the dashboard's title, of one notice, and of a panel's title.
_HEADER_HEIGHT: Final = 36
FOOTER_HEIGHT: Final = 24
_TITLE_HEIGHT: Final = 26
#: The maximum number of notices below the panels.
MAX_NOTICES: Final = 6
#: Pixels between the border of a panel and its content.
INSET: Final = 2
#: The height in pixels of a single panel if no height is requested.
_SINGLE_PANEL_HEIGHT: Final = 500
#: The minimum height in pixels of a panel whose title is visible.
_MIN_HEIGHT_WITH_TITLE: Final = 44


@dataclass(frozen=True, slots=True)
class Box:
    """A panel with its position and size in pixels."""

    panel: Panel
    x: float
    y: float
    width: float
    height: float

    @property
    def has_title(self) -> bool:
        """True if the panel has a title and is high enough to show it."""
        return bool(self.panel.title.strip()) and self.height >= _MIN_HEIGHT_WITH_TITLE

    @property
    def content_size(self) -> tuple[float, float]:
        """The width and height of the panel's content in pixels."""
        top = _TITLE_HEIGHT if self.has_title else INSET
        return max(1.0, self.width - 2 * INSET), max(1.0, self.height - top - INSET)


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """The size of a picture and the boxes of its panels."""

    width: int
    height: int
    header_height: int  #: For the dashboard's title; 0 without one.
    boxes: Sequence[Box]
    omitted_count: int = 0  #: The number of panels that are not drawn.
    notices: Sequence[str] = ()  #: The lines below the panels.


def lay_out(
    panels: Sequence[Panel], width: int, height: int | None, *, is_single_panel: bool, notices: Sequence[str] = ()
) -> PictureLayout:
    """Return the layout of a picture of ``width`` by ``height`` pixels. By default a dashboard's picture is as high as its panels.

    A single panel fills the picture. In a dashboard, panels beyond the first ``MAX_PANELS`` and panels below ``height`` are omitted.
    """
    if is_single_panel:
        picture_height = height or _SINGLE_PANEL_HEIGHT
        return PictureLayout(width, picture_height, 0, [Box(panels[0], 0, 0, width, picture_height)], notices=notices[:1])
    gap = _GAP if width >= _NARROW_WIDTH else _SMALL_GAP
    column_width = (width - gap * (COLUMNS + 1)) / COLUMNS
    boxes = [
        _box(panel, row, column_width, gap) for panel, row in zip(panels, compacted_rows([panel.position for panel in panels]), strict=True)
    ]
    visible_boxes = [box for box in boxes[:MAX_PANELS] if height is None or box.y < height]
    omitted_count = len(boxes) - len(visible_boxes)
    omission = [f"{omitted_count} more panel{'s are' if omitted_count > 1 else ' is'} not shown"] if omitted_count else []
    # One line is kept for the omission.
    lines = [*notices[: MAX_NOTICES - 1], *omission]
    bottom = max([_HEADER_HEIGHT, *(box.y + box.height for box in visible_boxes)]) + _GAP + FOOTER_HEIGHT * len(lines)
    return PictureLayout(width, int(bottom) if height is None else height, _HEADER_HEIGHT, visible_boxes, omitted_count, lines)


def _box(panel: Panel, row: int, column_width: float, gap: int) -> Box:
    """Return the box of a panel at a grid row, from the widths in pixels of a grid column and of the gap between two columns."""
    position = panel.position
    return Box(
        panel,
        gap + position.x * (column_width + gap),
        _HEADER_HEIGHT + row * (_ROW_HEIGHT + _GAP),
        position.width * column_width + (position.width - 1) * gap,
        position.height * _ROW_HEIGHT + (position.height - 1) * _GAP,
    )


def compacted_rows(positions: Sequence[GridPosition]) -> list[int]:
    """Return the grid row of each panel, moved up until it touches another panel, as in Grafana. ``positions`` are from top to bottom."""
    column_bottoms = [0] * COLUMNS
    rows = []
    for position in positions:
        columns = range(position.x, position.x + position.width)
        row = max(column_bottoms[column] for column in columns)
        for column in columns:
            column_bottoms[column] = row + position.height
        rows.append(row)
    return rows
