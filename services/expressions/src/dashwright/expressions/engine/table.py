"""Tables: the frames of a query that an expression selects from, or the rows that it selected."""

from dataclasses import dataclass
from typing import ClassVar

from dashwright.expressions.engine.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """One or more frames."""

    kind: ClassVar[str] = "tableData"

    frames: tuple[Frame, ...]
    source_type: str = ""  #: The type of the query's data source; empty for an expression, whose table is one frame.

    @property
    def cells(self) -> int:
        """The number of values in the frames."""
        return sum(frame.rows * len(frame.fields) for frame in self.frames)
