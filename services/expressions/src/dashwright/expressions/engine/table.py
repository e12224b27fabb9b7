"""Frames as they are: what an ordinary query answered, for who selects from it, or the rows that an expression selected."""

from dataclasses import dataclass
from typing import ClassVar

from dashwright.expressions.engine.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """``source_type`` is the data source type of a query, and empty for an expression, whose table is exactly one frame."""

    kind: ClassVar[str] = "tableData"

    frames: tuple[Frame, ...]
    source_type: str = ""

    @property
    def cells(self) -> int:
        """How many values the frames hold."""
        return sum(frame.rows * len(frame.fields) for frame in self.frames)
