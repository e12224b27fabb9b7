"""Values of a refId during evaluation: a set of Series, a set of Numbers, one Scalar, or NoData.

The points of all series with the same times are one two-dimensional array, a block.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.labels import Labels, LabelSets

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: Positions of items in a set, or of rows or columns in an array.
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """An immutable float64 array of any number of dimensions, with a mask of nulls.

    NaN and null are different values. A null is NaN in ``values`` too, so that arithmetic on it gives NaN; only the mask
    distinguishes the two.
    """

    values: Floats
    nulls: Mask | None = None  #: True for each null; None if there are no nulls.

    @staticmethod
    def with_nulls(values: Floats, nulls: Mask | None) -> "Cells":
        """Return the cells. Writes NaN into the array ``values`` at each null; a mask without nulls becomes None."""
        if nulls is None or not nulls.any():
            return Cells(values)
        # Negating the mask as int8 gives -1 (all bits set) or 0, and a float64 with all bits set is NaN: one OR writes
        # NaN without a branch per point.
        bits = values.view(np.int64)
        np.bitwise_or(bits, -nulls.view(np.int8), out=bits)
        return Cells(values, nulls)

    def at(self, index: Any) -> "Cells":
        """Return the cells at any numpy index."""
        return Cells(self.values[index], None if self.nulls is None else self.nulls[index])

    def null_mask(self) -> Mask:
        """Return a mask that is True for nulls."""
        return np.zeros(self.values.shape, np.bool_) if self.nulls is None else self.nulls


#: A function that returns cells of the same shape.
CellFunction = Callable[[Cells], Cells]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Series that share an axis: one row per series, one column per time."""

    axis: Axis
    cells: Cells


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """An ordered set of labelled series. The points of item ``i`` are row ``row_of[i]`` of ``blocks[block_of[i]]``."""

    type_name: ClassVar[str] = "seriesSet"  #: Grafana's name of the type, for messages and explanations.

    labels: LabelSets
    blocks: tuple[Block, ...]
    block_of: Positions
    row_of: Positions
    names: tuple[str, ...] = ()  #: Names of a query's value fields; empty for the result of an expression.

    @staticmethod
    def stacked(labels: Sequence[Labels], blocks: Iterable[Block]) -> "Series":
        """Return the rows of the blocks as series, one block after the other."""
        blocks = tuple(blocks)
        heights = [len(block.cells.values) for block in blocks]
        block_of = np.repeat(np.arange(len(blocks), dtype=np.intp), heights)
        rows = [np.arange(height, dtype=np.intp) for height in heights]
        return Series(LabelSets.of(labels), blocks, block_of, np.concatenate(rows) if rows else np.empty(0, np.intp))

    def __len__(self) -> int:
        return len(self.labels)

    def map(self, function: CellFunction) -> "Series":
        """Return the series with ``function`` applied to each block. The names are dropped."""
        blocks = tuple(Block(block.axis, function(block.cells)) for block in self.blocks)
        return Series(self.labels, blocks, self.block_of, self.row_of)

    def at(self, positions: Positions) -> "Series":
        """Return the items at the positions, in that order."""
        return Series(self.labels.at(positions), self.blocks, self.block_of[positions], self.row_of[positions])

    def by_block(self) -> Iterator[tuple[Block, Positions]]:
        """Yield each block with the positions of its items."""
        order = np.argsort(self.block_of, kind="stable")
        ends = np.cumsum(np.bincount(self.block_of, minlength=len(self.blocks)))
        # Not strict, because ``split`` returns an empty array after the last end.
        yield from zip(self.blocks, np.split(order, ends), strict=False)

    @property
    def longest_length(self) -> int:
        """The number of points of the longest series."""
        return max((len(block.axis) for block in self.blocks), default=0)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """An ordered set of labelled numbers, one cell per item."""

    type_name: ClassVar[str] = "numberSet"

    labels: LabelSets
    cells: Cells
    names: tuple[str, ...] = ()  #: Names of a query's value fields; empty for the result of an expression.

    def __len__(self) -> int:
        return len(self.labels)

    def map(self, function: CellFunction) -> "Numbers":
        """Return the numbers with ``function`` applied. The names are dropped."""
        return Numbers(self.labels, function(self.cells))

    def at(self, positions: Positions) -> "Numbers":
        """Return the items at the positions, in that order."""
        return Numbers(self.labels.at(positions), self.cells.at(positions))


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """One number without labels, the value of a literal or a function, as a zero-dimensional array."""

    type_name: ClassVar[str] = "scalar"

    cells: Cells

    @staticmethod
    def of(value: float | None) -> "Scalar":
        """Return the number; None is null."""
        if value is None:
            return Scalar(Cells(np.array(np.nan), np.array(True)))
        return Scalar(Cells(np.array(value, np.float64)))

    def map(self, function: CellFunction) -> "Scalar":
        """Return the number with ``function`` applied."""
        return Scalar(function(self.cells))


@dataclass(frozen=True, slots=True)
class NoData:
    """The values of a query that returned no data."""

    type_name: ClassVar[str] = "noData"


Values = Series | Numbers | Scalar | NoData
