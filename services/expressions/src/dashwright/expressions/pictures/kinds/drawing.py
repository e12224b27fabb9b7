"""What a kind of panel is given, and what it makes of that."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.pictures.dashboard import Panel
from dashwright.expressions.pictures.theme import Theme


@dataclass(frozen=True, slots=True)
class Sheet:
    """A panel with its data, ``width`` by ``height`` pixels to draw it on; ``start`` and ``end`` in milliseconds since 1970."""

    panel: Panel
    frames: Sequence[Frame]
    width: float
    height: float
    theme: Theme
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class PanelDrawing:
    """SVG, or a Vega-Lite spec that is to become SVG of the size of the sheet."""

    parts: Sequence[str] = ()
    chart: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a sheet that holds one of several values."""

    x: float
    y: float
    width: float
    height: float


class NothingToDraw(Exception):
    """There is nothing to draw; ``words`` say why."""

    def __init__(self, words: str, *, is_fault: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.is_fault = is_fault
