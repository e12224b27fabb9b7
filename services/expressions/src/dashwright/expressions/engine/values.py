"""Values of a refId during evaluation: a set of Series, a set of Numbers, one Scalar, or NoData.

Points are never objects of their own. All series on one time axis are one block, a two-dimensional array.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.labels import Labels

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """An immutable nullable float64 array of any number of dimensions.

    NaN is a value. The slot of a null holds NaN too, so arithmetic that propagates NaN propagates nulls, and only the
    mask distinguishes them.
    """

    values: Floats
    nulls: Mask | None = None  #: Marks the nulls; None without nulls.

    @staticmethod
    def of(values: Floats, nulls: Mask | None) -> "Cells":
        """Return the cells. Writes NaN into the null slots of ``values``, and drops a mask that marks nothing."""
        if nulls is None or not nulls.any():
            return Cells(values)
        # Negating the mask as int8 gives -1 (all bits set) or 0, and a float64 with all bits set is NaN: one OR writes the
        # NaNs without a branch per point.
        bits = values.view(np.int64)
        np.bitwise_or(bits, -nulls.view(np.int8), out=bits)
        return Cells(values, nulls)

    def at(self, index: Any) -> "Cells":
        """Return a part of the cells, by any numpy index."""
        return Cells(self.values[index], None if self.nulls is None else self.nulls[index])

    def is_null(self) -> Mask:
        """Return the null mask, all False if there are no nulls."""
        return np.zeros(self.values.shape, np.bool_) if self.nulls is None else self.nulls


CellFunction = Callable[[Cells], Cells]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Series that share an axis: one row per series, one column per instant."""

    axis: Axis
    cells: Cells


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """An ordered set of labelled series. Item ``i`` is row ``row_of[i]`` of ``blocks[block_of[i]]``."""

    kind: ClassVar[str] = "seriesSet"

    labels: tuple[Labels, ...]
    blocks: tuple[Block, ...]
    block_of: Positions
    row_of: Positions
    names: tuple[str, ...] = ()  #: Names of a query's value fields; empty for the result of an expression.

    @staticmethod
    def stacked(labels: Sequence[Labels], blocks: Iterable[Block]) -> "Series":
        """Return the rows of the blocks, one block after the other."""
        blocks = tuple(blocks)
        heights = [len(block.cells.values) for block in blocks]
        block_of = np.repeat(np.arange(len(blocks), dtype=np.intp), heights)
        rows = [np.arange(height, dtype=np.intp) for height in heights]
        return Series(tuple(labels), blocks, block_of, np.concatenate(rows) if rows else np.empty(0, np.intp))

    def __len__(self) -> int:
        return len(self.labels)

    def map(self, function: CellFunction) -> "Series":
        """Return the series with ``function`` applied to each block."""
        blocks = tuple(Block(block.axis, function(block.cells)) for block in self.blocks)
        return Series(self.labels, blocks, self.block_of, self.row_of)

    def at(self, positions: Positions) -> "Series":
        """Return the items at the positions, in that order."""
        labels = tuple([self.labels[position] for position in positions.tolist()])
        return Series(labels, self.blocks, self.block_of[positions], self.row_of[positions])

    def by_block(self) -> Iterator[tuple[Block, Positions]]:
        """Yield each block with the positions of its items."""
        order = np.argsort(self.block_of, kind="stable")
        ends = np.cumsum(np.bincount(self.block_of, minlength=len(self.blocks)))
        yield from zip(self.blocks, np.split(order, ends), strict=False)

    @property
    def longest(self) -> int:
        """The number of points of the longest series."""
        return max((len(block.axis) for block in self.blocks), default=0)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """An ordered set of labelled numbers, one cell per item."""

    kind: ClassVar[str] = "numberSet"

    labels: tuple[Labels, ...]
    cells: Cells
    names: tuple[str, ...] = ()  #: Names of a query's value fields; empty for the result of an expression.

    def __len__(self) -> int:
        return len(self.labels)

    def map(self, function: CellFunction) -> "Numbers":
        """Return the numbers with ``function`` applied."""
        return Numbers(self.labels, function(self.cells))

    def at(self, positions: Positions) -> "Numbers":
        """Return the items at the positions, in that order."""
        return Numbers(tuple([self.labels[position] for position in positions.tolist()]), self.cells.at(positions))


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    """One number without labels, from a literal or a function: a zero-dimensional cell."""

    kind: ClassVar[str] = "scalar"

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

    kind: ClassVar[str] = "noData"


Values = Series | Numbers | Scalar | NoData
