"""The type ``threshold``: every point or number becomes 1 if a condition holds, else 0; null remains null.

With hysteresis, an item starts and stops firing at different values: the items that were firing before, which are called
loaded, are tested by a second condition.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.hysteresis import Hysteresis
from dashwright.expressions.engine.labels import NO_LABELS
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.predicates import BOUND_COUNTS, Predicate
from dashwright.expressions.engine.values import Block, Cells, Floats, Mask, NoData, Numbers, Scalar, Series, Values

#: Points that are tested in one step, so that the masks fit into the processor's cache.
_CHUNK_POINTS = 1 << 16


def predicate_of(name: str, params: Sequence[float]) -> Predicate:
    """Return the predicate of an evaluator. Additional params are ignored.

    Raises BadRequest if the name is unknown or params are missing.
    """
    if name not in BOUND_COUNTS:
        raise BadRequest(f"invalid condition: expected threshold function to be one of [{', '.join(BOUND_COUNTS)}], got {name}")
    bound_count = BOUND_COUNTS[name]
    if len(params) < bound_count:
        raise BadRequest(
            f"invalid condition: incorrect number of arguments for threshold function '{name}': got {len(params)} but need {bound_count}; "
            f"give {'its lower and upper bound' if bound_count > 1 else 'its bound'} in params"
        )
    return Predicate(name, tuple(params[:bound_count]))


@dataclass(frozen=True, slots=True)
class Threshold:
    """A test of one input by a condition, and by a second one if there is a ``hysteresis``."""

    is_chainable: ClassVar[bool] = True

    input: str  #: A refId.
    condition: Predicate
    hysteresis: Hysteresis | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refId that it reads."""
        return (self.input,)

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return 1 or 0 for every point or number."""
        values = inputs[self.input]
        if isinstance(values, NoData):
            return Outcome(values)
        if self.hysteresis is None:
            return Outcome(values.map(self._test_cells))
        is_loaded = self.hysteresis.is_loaded((NO_LABELS,) if isinstance(values, Scalar) else values.labels, limits.deadline)
        if isinstance(values, Scalar):
            return Outcome(Scalar(self._test_with_hysteresis(values.cells, is_loaded[0])))
        results = self._numbers(values, is_loaded) if isinstance(values, Numbers) else self._series(values, is_loaded)
        # As in Grafana, the items that were not loaded are first: existing alert rules depend on that order.
        return Outcome(results.at(np.argsort(is_loaded, kind="stable")))

    def _numbers(self, numbers: Numbers, is_loaded: Mask) -> Numbers:
        return numbers.map(lambda cells: self._test_with_hysteresis(cells, is_loaded))

    def _series(self, series: Series, is_loaded: Mask) -> Series:
        blocks = []
        for block, members in series.by_block():
            is_loaded_row = np.zeros(len(block.cells.values), np.bool_)
            is_loaded_row[series.row_of[members]] = is_loaded[members]
            blocks.append(Block(block.axis, self._test_with_hysteresis(block.cells, is_loaded_row)))
        return Series(series.labels, tuple(blocks), series.block_of, series.row_of)

    def _test_cells(self, cells: Cells) -> Cells:
        return _test_values(self.condition.holds, cells)

    def _test_with_hysteresis(self, cells: Cells, is_loaded: Mask) -> Cells:
        """Return 1 or 0 for each cell; rows where ``is_loaded`` is True are tested by the second condition.

        ``is_loaded`` of a scalar has no dimensions, like its cells.
        """
        assert self.hysteresis is not None
        results = self._test_cells(cells)
        results.values[is_loaded] = _test_values(self.hysteresis.keeps_firing, cells.at(is_loaded)).values
        return results


def _test_values(test: Callable[[Floats], Mask], cells: Cells) -> Cells:
    """Return 1 for each value that passes the test, else 0, computed in chunks. Nulls remain null."""
    flat = cells.values.reshape(-1)
    results = np.empty(flat.shape)
    for start in range(0, len(flat), _CHUNK_POINTS):
        chunk = slice(start, start + _CHUNK_POINTS)
        results[chunk] = test(flat[chunk])
    return Cells.with_nulls(results.reshape(cells.values.shape), cells.nulls)
