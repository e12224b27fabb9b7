"""Context of transformations: the bounds of their results, and the time zone."""

from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Final

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.transformations.data import DataFrame, Frames

#: The maximum number of frames, and of columns of all frames together, that a transformation returns.
MAX_FRAMES: Final = 10_000
MAX_COLUMNS: Final = 20_000
#: Approximate bytes of memory of a cell, in the frames before and after a transformation.
_BYTES_PER_CELL: Final = 64
#: Steps of a loop between two checks of the deadline.
_STEPS_PER_CHECK: Final = 10_000


@dataclass(slots=True)
class Context:
    """The bounds and settings that all transformations of a panel share."""

    limits: Limits = field(default_factory=Limits)
    zone: tzinfo = UTC  #: The time zone of formatted times, if the transformation names none.
    _steps: int = 0
    _reserved_bytes: int = 0

    def check_cells(self, rows: int, columns: int = 1) -> None:
        """Reserve memory for a result of this size before it is built.

        Raises BadRequest for too many columns, and TooLarge for too many cells or bytes.
        """
        self.limits.deadline.check()
        if columns > MAX_COLUMNS:
            raise too_many(columns, "columns", MAX_COLUMNS)
        if rows * columns > self.limits.transformation_cells:
            problem = f"a transformation would produce {rows * columns} cells"
            raise self.limits.refusal("transformation_cells", problem, "ask for fewer points or series, or filter them first")
        # Each result replaces the previous one, so the largest determines the memory.
        size = rows * columns * _BYTES_PER_CELL
        if size > self._reserved_bytes:
            self.limits.memory.reserve(size - self._reserved_bytes)
            self._reserved_bytes = size

    def check(self, frames: Frames) -> None:
        """Raise BadRequest for too many frames or columns, and TooLarge for too many cells or bytes."""
        if len(frames) > MAX_FRAMES:
            raise too_many(len(frames), "frames", MAX_FRAMES)
        columns = sum(len(frame.columns) for frame in frames)
        if columns > MAX_COLUMNS:
            raise too_many(columns, "columns", MAX_COLUMNS)
        self.check_cells(sum(map(cell_count, frames)))

    def step(self, count: int = 1) -> None:
        """Count steps of a loop. Raises DeadlineExceeded after the deadline, which is checked once in many steps."""
        self._steps += count
        if self._steps >= _STEPS_PER_CHECK:
            self._steps = 0
            self.limits.deadline.check()


def cell_count(frame: DataFrame) -> int:
    """Return the number of cells of a frame."""
    return frame.row_count * len(frame.columns)


def too_many(count: int, unit: str, maximum: int) -> BadRequest:
    """Return the error of a result with too many of a ``unit``, such as frames."""
    return BadRequest(f"the transformations would have {count} {unit}, more than the {maximum} allowed; filter or reduce them first")
