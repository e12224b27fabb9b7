"""Binary operators between two sets of values: the pairs of the union, computed a block at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.axis import ALL, align
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.operators import apply_binary
from dashwright.expressions.engine.union import Pairs, Union
from dashwright.expressions.engine.values import Block, Cells, NoData, Numbers, Positions, Scalar, Series, Values

_BYTES_PER_POINT = 9
_BYTES_PER_PAIR = 256

Sets = Series | Numbers


@dataclass(frozen=True, slots=True)
class UnpairedLabels:
    """Labels of the items that found no partner, by side."""

    left: tuple[Labels, ...] = ()
    right: tuple[Labels, ...] = ()


def combine(
    symbol: str, left: Values, right: Values, limits: Limits, names: Callable[[], tuple[str, str]]
) -> tuple[Values, UnpairedLabels]:
    """Return ``left symbol right`` and the labels of unpaired items. ``names`` returns both operands as text, for errors.

    An empty set gives an empty set, of series if either side is series; else NoData on either side gives NoData. Raises
    TooLarge over the limits of memory and of series.
    """
    if isinstance(left, Scalar) and not isinstance(right, NoData):
        return right.map(lambda cells: apply_binary(symbol, left.cells, cells)), UnpairedLabels()
    if isinstance(right, Scalar) and not isinstance(left, NoData):
        return left.map(lambda cells: apply_binary(symbol, cells, right.cells)), UnpairedLabels()
    if _is_empty(left) or _is_empty(right):
        return Series.stacked((), ()) if isinstance(left, Series) or isinstance(right, Series) else Numbers(
            (), Cells(np.empty(0))
        ), UnpairedLabels()
    if isinstance(left, NoData) or isinstance(right, NoData):
        return NoData(), UnpairedLabels()
    assert not isinstance(left, Scalar)
    assert not isinstance(right, Scalar)
    union = Union(left.labels, right.labels, limits.deadline)
    _guard(union.count, left, right, limits, names)
    with limits.memory.held(_estimate(union.count, left, right)):
        pairs = union.pairs()
        unpaired = UnpairedLabels(_labels_at(left, pairs.unpaired_left), _labels_at(right, pairs.unpaired_right))
        return _paired(symbol, left, right, pairs, limits.deadline), unpaired


def _is_empty(values: Values) -> bool:
    return isinstance(values, Series | Numbers) and not len(values)


def _labels_at(values: Sets, positions: Positions) -> tuple[Labels, ...]:
    return tuple(values.labels[i] for i in positions.tolist())


def _guard(count: int, left: Sets, right: Sets, limits: Limits, names: Callable[[], tuple[str, str]]) -> None:
    """Raise TooLarge before any pair is made: a union may have as many pairs as the product of its sides."""
    advice = "give the queries labels that match, or reduce them first"
    if limits.math_bytes and _estimate(count, left, right) > limits.math_bytes:
        raise TooLarge(
            f"the result would need more memory than the {limits.math_bytes} bytes allowed (setting DASHWRIGHT_MATH_BYTES): "
            f"{_told(count, left, right, names)}; {advice}"
        )
    if count > limits.query_series:
        raise limits.refusal("query_series", _told(count, left, right, names), advice)


def _estimate(count: int, left: Sets, right: Sets) -> int:
    """Return the approximate bytes of ``count`` pairs."""
    points = left.longest if isinstance(left, Series) else right.longest if isinstance(right, Series) else 1
    return count * (points * _BYTES_PER_POINT + _BYTES_PER_PAIR)


def _told(count: int, left: Sets, right: Sets, names: Callable[[], tuple[str, str]]) -> str:
    left_name, right_name = names()
    return f"{_count(left)} from {left_name} and {_count(right)} from {right_name} make {count} series pairs"


def _count(values: Sets) -> str:
    return f"{len(values)} {'series' if isinstance(values, Series) else 'numbers'}"


def _paired(symbol: str, left: Sets, right: Sets, pairs: Pairs, deadline: Deadline) -> Sets:
    if isinstance(left, Numbers) and isinstance(right, Numbers):
        return Numbers(pairs.labels, apply_binary(symbol, left.cells.at(pairs.left), right.cells.at(pairs.right)))
    if isinstance(left, Series) and isinstance(right, Series):
        groups = left.block_of[pairs.left] * len(right.blocks) + right.block_of[pairs.right]
        return _regrouped(pairs, groups, _both_series(symbol, left, right, pairs), deadline)
    if isinstance(left, Series):
        assert isinstance(right, Numbers)
        return _regrouped(pairs, left.block_of[pairs.left], _with_numbers(symbol, left, right, pairs), deadline)
    assert isinstance(right, Series)
    return _regrouped(pairs, right.block_of[pairs.right], _numbers_with(symbol, left, right, pairs), deadline)


def _regrouped(pairs: Pairs, group_of: Positions, compute: Callable[[int, Positions], Block], deadline: Deadline) -> Series:
    """Return the pairs as series, one block for each group of pairs that share their axes."""
    blocks, block_of, row_of = [], np.zeros(len(group_of), np.intp), np.arange(len(group_of), dtype=np.intp)
    for number, (group, members) in enumerate(_groups(group_of)):
        deadline.check()
        blocks.append(compute(group, members))
        block_of[members] = number
        row_of[members] = np.arange(len(members))
    return Series(pairs.labels, tuple(blocks), block_of, row_of)


def _groups(group_of: Positions) -> Iterator[tuple[int, Positions]]:
    if not len(group_of):
        return
    if (group_of == group_of[0]).all():
        yield int(group_of[0]), np.arange(len(group_of), dtype=np.intp)
        return
    order = np.argsort(group_of, kind="stable")
    starts = np.flatnonzero(np.diff(group_of[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        yield int(group_of[members[0]]), members


def _both_series(symbol: str, left: Series, right: Series, pairs: Pairs) -> Callable[[int, Positions], Block]:
    def compute(group: int, members: Positions) -> Block:
        left_block, right_block = left.blocks[group // len(right.blocks)], right.blocks[group % len(right.blocks)]
        alignment = align(left_block.axis, right_block.axis)
        left_rows, right_rows = left.row_of[pairs.left[members]], right.row_of[pairs.right[members]]
        # A row that pairs with all rows of the other side is broadcast, not copied for each of them.
        if _is_one(right_rows):
            right_rows = right_rows[:1]
        elif _is_one(left_rows):
            left_rows = left_rows[:1]
        left_cells = _columns(_rows(left_block.cells, left_rows), alignment.left)
        right_cells = _columns(_rows(right_block.cells, right_rows), alignment.right)
        return Block(alignment.axis, apply_binary(symbol, left_cells, right_cells))

    return compute


def _with_numbers(symbol: str, left: Series, right: Numbers, pairs: Pairs) -> Callable[[int, Positions], Block]:
    def compute(group: int, members: Positions) -> Block:
        block = left.blocks[group]
        cells = _rows(block.cells, left.row_of[pairs.left[members]])
        return Block(block.axis, apply_binary(symbol, cells, right.cells.at((pairs.right[members], np.newaxis))))

    return compute


def _numbers_with(symbol: str, left: Numbers, right: Series, pairs: Pairs) -> Callable[[int, Positions], Block]:
    def compute(group: int, members: Positions) -> Block:
        block = right.blocks[group]
        cells = _rows(block.cells, right.row_of[pairs.right[members]])
        return Block(block.axis, apply_binary(symbol, left.cells.at((pairs.left[members], np.newaxis)), cells))

    return compute


def _is_one(rows: Positions) -> bool:
    return bool((rows == rows[0]).all())


def _rows(cells: Cells, rows: Positions) -> Cells:
    """Return the rows in the given order, without a copy if that is all of them in their own order."""
    if len(rows) == len(cells.values) and (rows == np.arange(len(rows))).all():
        return cells
    return cells.at(rows)


def _columns(cells: Cells, columns: object) -> Cells:
    return cells if columns is ALL else cells.at((ALL, columns))
