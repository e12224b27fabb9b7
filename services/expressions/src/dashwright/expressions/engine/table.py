"""Tables: the frames of a query that a sql expression selects from, or the frame that it returns."""

from dataclasses import dataclass
from typing import ClassVar

from dashwright.expressions.engine.frame import Frame


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The frames of one refId; a single frame if the refId is that of an expression."""

    type_name: ClassVar[str] = "tableData"  #: Grafana's name of the type, for messages and explanations.

    frames: tuple[Frame, ...]
    source_type: str = ""  #: The type of the query's data source; empty for an expression.

    @property
    def cell_count(self) -> int:
        """The number of values in the frames."""
        return sum(frame.row_count * len(frame.fields) for frame in self.frames)
