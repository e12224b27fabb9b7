"""Layout of a picture: the place of each panel in pixels, in a grid of 24 columns without gaps above rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dashwright.expressions.pictures.dashboard import COLUMNS, Panel

MOST_PANELS: Final = 60
_CELL: Final = 30
_GAP: Final = 8
_SMALL_GAP: Final = 2
_NARROW: Final = 480
_TOP: Final = 36
_BELOW: Final = 24
_TITLE: Final = 26
INSET: Final = 2
_ALONE_HEIGHT: Final = 500
_LOWEST_WITH_TITLE: Final = 44


@dataclass(frozen=True, slots=True)
class Box:
    """A panel and its place in pixels."""

    panel: Panel
    x: float
    y: float
    width: float
    height: float

    @property
    def has_title(self) -> bool:
        """True if the panel has a title and there is room for it."""
        return bool(self.panel.title.strip()) and self.height >= _LOWEST_WITH_TITLE

    @property
    def inside(self) -> tuple[float, float]:
        """Width and height that remain for the panel's content."""
        above = _TITLE if self.has_title else INSET
        return max(1.0, self.width - 2 * INSET), max(1.0, self.height - above - INSET)


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """The size of a picture and the boxes of its panels."""

    width: int
    height: int
    top: int  #: Pixels above the panels, for the dashboard's title.
    boxes: Sequence[Box]
    left_out: int = 0  #: Panels that are not drawn.


def laid_out(panels: Sequence[Panel], width: int, height: int | None, *, is_alone: bool) -> PictureLayout:
    """Return the layout. A single panel fills the picture; panels of a dashboard below ``height`` are not drawn."""
    if is_alone:
        tall = height or _ALONE_HEIGHT
        return PictureLayout(width, tall, 0, [Box(panels[0], 0, 0, width, tall)])
    gap = _GAP if width >= _NARROW else _SMALL_GAP
    cell = (width - gap * (COLUMNS + 1)) / COLUMNS
    boxes = [_boxed(panel, line, cell, gap) for panel, line in zip(panels, _compacted(panels), strict=True)]
    drawn = [box for box in boxes[:MOST_PANELS] if height is None or box.y < height]
    left_out = len(boxes) - len(drawn)
    bottom = max([_TOP, *(box.y + box.height for box in drawn)]) + _GAP + (_BELOW if left_out else 0)
    return PictureLayout(width, int(bottom) if height is None else height, _TOP, drawn, left_out)


def _boxed(panel: Panel, line: int, cell: float, gap: int) -> Box:
    """Return the box of a panel; ``cell`` is the width of a column, ``gap`` that between two."""
    place = panel.place
    return Box(
        panel,
        gap + place.x * (cell + gap),
        _TOP + line * (_CELL + _GAP),
        place.width * cell + (place.width - 1) * gap,
        place.height * _CELL + (place.height - 1) * _GAP,
    )


def _compacted(panels: Sequence[Panel]) -> list[int]:
    """Return the line of each panel, moved up until another panel is above it, as Grafana does."""
    reached = [0] * COLUMNS
    lines = []
    for panel in panels:
        columns = range(panel.place.x, panel.place.x + panel.place.width)
        line = max(reached[column] for column in columns)
        for column in columns:
            reached[column] = line + panel.place.height
        lines.append(line)
    return lines
