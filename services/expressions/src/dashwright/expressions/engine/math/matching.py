"""Binary operators on two sets of values. The pairs of their union are computed block by block."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dashwright.common.errors import TooLarge
from dashwright.expressions.engine.axis import ALL, align
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.labels import Labels, LabelSets
from dashwright.expressions.engine.limit_checks import POINT_BYTES
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.operators import apply_binary
from dashwright.expressions.engine.union import Pairs, Union
from dashwright.expressions.engine.values import Block, Cells, NoData, Numbers, Positions, Scalar, Series, Values

#: Approximate bytes of the positions and the labels of a pair.
_PAIR_BYTES = 256

ItemSet = Series | Numbers

#: Returns the sources of the left and the right operand, such as ``$A``, for an error.
OperandSources = Callable[[], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class UnpairedLabels:
    """Labels of the items that match no item of the other operand, for each operand."""

    left: tuple[Labels, ...] = ()
    right: tuple[Labels, ...] = ()


def combine(symbol: str, left: Values, right: Values, limits: Limits, operand_sources: OperandSources) -> tuple[Values, UnpairedLabels]:
    """Return ``left symbol right``, and the labels of the items that match no item of the other operand.

    If either set is empty, the result is an empty set, of series if either is Series. Else NoData on either side gives
    NoData. Raises TooLarge if a limit of memory or of series is exceeded.
    """
    if isinstance(left, Scalar) and not isinstance(right, NoData):
        return right.map(lambda cells: apply_binary(symbol, left.cells, cells)), UnpairedLabels()
    if isinstance(right, Scalar) and not isinstance(left, NoData):
        return left.map(lambda cells: apply_binary(symbol, cells, right.cells)), UnpairedLabels()
    if _is_empty(left) or _is_empty(right):
        has_series = isinstance(left, Series) or isinstance(right, Series)
        empty: Values = Series.stacked((), ()) if has_series else Numbers(LabelSets.of(()), Cells(np.empty(0)))
        return empty, UnpairedLabels()
    if isinstance(left, NoData) or isinstance(right, NoData):
        return NoData(), UnpairedLabels()
    assert not isinstance(left, Scalar)
    assert not isinstance(right, Scalar)
    union = Union(left.labels, right.labels, limits.deadline)
    _check_size(union.count, left, right, limits, operand_sources)
    with limits.memory.temporarily(_estimated_bytes(union.count, left, right)):
        pairs = union.pairs()
        unpaired = UnpairedLabels(_labels_at(left, pairs.unpaired_left), _labels_at(right, pairs.unpaired_right))
        return _compute_pairs(symbol, left, right, pairs, limits.deadline), unpaired


def _is_empty(values: Values) -> bool:
    return isinstance(values, Series | Numbers) and not len(values)


def _labels_at(values: ItemSet, positions: Positions) -> tuple[Labels, ...]:
    return tuple(values.labels.at(positions))


def _check_size(count: int, left: ItemSet, right: ItemSet, limits: Limits, operand_sources: OperandSources) -> None:
    """Raise TooLarge if ``count`` pairs are too many. At most, every left item pairs with every right item."""
    advice = "give the queries labels that match, or reduce them first"
    if limits.math_bytes and _estimated_bytes(count, left, right) > limits.math_bytes:
        raise TooLarge(
            f"the result would need more memory than the {limits.math_bytes} bytes allowed (setting DASHWRIGHT_MATH_BYTES): "
            f"{_describe(count, left, right, operand_sources)}; {advice}"
        )
    if count > limits.query_series:
        raise limits.refusal("query_series", _describe(count, left, right, operand_sources), advice)


def _estimated_bytes(count: int, left: ItemSet, right: ItemSet) -> int:
    """Return the approximate bytes of ``count`` pairs."""
    # The result has no more points than the left series, or than the right series if the left side is numbers.
    series = [operand for operand in (left, right) if isinstance(operand, Series)]
    points = series[0].longest_length if series else 1
    return count * (points * POINT_BYTES + _PAIR_BYTES)


def _describe(count: int, left: ItemSet, right: ItemSet, operand_sources: OperandSources) -> str:
    left_source, right_source = operand_sources()
    return f"{_size_text(left)} from {left_source} and {_size_text(right)} from {right_source} make {count} series pairs"


def _size_text(values: ItemSet) -> str:
    return f"{len(values)} {'series' if isinstance(values, Series) else 'numbers'}"


def _compute_pairs(symbol: str, left: ItemSet, right: ItemSet, pairs: Pairs, deadline: Deadline) -> ItemSet:
    """Return the result of the operator for each pair, as series if a side has series."""
    if isinstance(left, Numbers) and isinstance(right, Numbers):
        return Numbers(pairs.labels, apply_binary(symbol, left.cells.at(pairs.left), right.cells.at(pairs.right)))
    if isinstance(left, Series) and isinstance(right, Series):
        # A group id encodes the indexes of a left and a right block, which ``_series_with_series`` decodes.
        group_of = left.block_of[pairs.left] * len(right.blocks) + right.block_of[pairs.right]
        return _compute_series(pairs, group_of, _series_with_series(symbol, left, right, pairs), deadline)
    if isinstance(left, Series):
        assert isinstance(right, Numbers)
        return _compute_series(pairs, left.block_of[pairs.left], _series_with_numbers(symbol, left, right, pairs), deadline)
    assert isinstance(right, Series)
    return _compute_series(pairs, right.block_of[pairs.right], _numbers_with_series(symbol, left, right, pairs), deadline)


def _compute_series(pairs: Pairs, group_of: Positions, compute_block: Callable[[int, Positions], Block], deadline: Deadline) -> Series:
    """Return the pairs as series, one block for each group of pairs that share their axes.

    ``group_of`` has the group id of each pair. ``compute_block`` takes a group id and the positions of the group's pairs.
    """
    blocks, block_of, row_of = [], np.zeros(len(group_of), np.intp), np.arange(len(group_of), dtype=np.intp)
    for index, (group, members) in enumerate(_groups(group_of)):
        deadline.check()
        blocks.append(compute_block(group, members))
        block_of[members] = index
        row_of[members] = np.arange(len(members))
    return Series(pairs.labels, tuple(blocks), block_of, row_of)


def _groups(group_of: Positions) -> Iterator[tuple[int, Positions]]:
    """Yield each group id with the positions of its pairs."""
    if not len(group_of):
        return
    if (group_of == group_of[0]).all():
        yield int(group_of[0]), np.arange(len(group_of), dtype=np.intp)
        return
    order = np.argsort(group_of, kind="stable")
    # Group ids are not negative, so the first difference marks a start too.
    starts = np.flatnonzero(np.diff(group_of[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        yield int(group_of[members[0]]), members


def _series_with_series(symbol: str, left: Series, right: Series, pairs: Pairs) -> Callable[[int, Positions], Block]:
    """Return a function for ``_compute_series``. The axes of both blocks are aligned."""

    def compute_block(group: int, members: Positions) -> Block:
        left_block, right_block = left.blocks[group // len(right.blocks)], right.blocks[group % len(right.blocks)]
        alignment = align(left_block.axis, right_block.axis)
        left_rows, right_rows = left.row_of[pairs.left[members]], right.row_of[pairs.right[members]]
        # A row that pairs with all rows of the other side is broadcast instead of copied. One side remains complete, since the result
        # needs a row per pair.
        if _are_all_equal(right_rows):
            right_rows = right_rows[:1]
        elif _are_all_equal(left_rows):
            left_rows = left_rows[:1]
        left_cells = _select_columns(_select_rows(left_block.cells, left_rows), alignment.left)
        right_cells = _select_columns(_select_rows(right_block.cells, right_rows), alignment.right)
        return Block(alignment.axis, apply_binary(symbol, left_cells, right_cells))

    return compute_block


def _series_with_numbers(symbol: str, left: Series, right: Numbers, pairs: Pairs) -> Callable[[int, Positions], Block]:
    """Return a function for ``_compute_series``. The result has the axis of the left block."""

    def compute_block(group: int, members: Positions) -> Block:
        block = left.blocks[group]
        cells = _select_rows(block.cells, left.row_of[pairs.left[members]])
        return Block(block.axis, apply_binary(symbol, cells, right.cells.at((pairs.right[members], np.newaxis))))

    return compute_block


def _numbers_with_series(symbol: str, left: Numbers, right: Series, pairs: Pairs) -> Callable[[int, Positions], Block]:
    """Return a function for ``_compute_series``. The result has the axis of the right block."""

    def compute_block(group: int, members: Positions) -> Block:
        block = right.blocks[group]
        cells = _select_rows(block.cells, right.row_of[pairs.right[members]])
        return Block(block.axis, apply_binary(symbol, left.cells.at((pairs.left[members], np.newaxis)), cells))

    return compute_block


def _are_all_equal(rows: Positions) -> bool:
    return bool((rows == rows[0]).all())


def _select_rows(cells: Cells, rows: Positions) -> Cells:
    """Return the rows in the given order, without a copy if that is all rows in their own order."""
    if len(rows) == len(cells.values) and (rows == np.arange(len(rows))).all():
        return cells
    return cells.at(rows)


def _select_columns(cells: Cells, columns: object) -> Cells:
    return cells if columns is ALL else cells.at((ALL, columns))
