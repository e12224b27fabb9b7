"""Input and output of every kind of panel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.theme import Theme


@dataclass(frozen=True, slots=True)
class Sheet:
    """A panel with its data and the area to draw on."""

    panel: Panel
    frames: Sequence[Frame]
    width: float  #: In pixels.
    height: float  #: In pixels.
    theme: Theme
    start: float  #: In milliseconds since 1970.
    end: float  #: In milliseconds since 1970.


@dataclass(frozen=True, slots=True)
class PanelDrawing:
    """SVG, or a Vega-Lite spec that becomes SVG of the size of the sheet."""

    parts: Sequence[str] = ()
    chart: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a sheet for one of several values."""

    x: float
    y: float
    width: float
    height: float


class NothingToDraw(Exception):
    """There is nothing to draw; ``words`` say why, and ``is_fault`` marks an error."""

    def __init__(self, words: str, *, is_fault: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.is_fault = is_fault
