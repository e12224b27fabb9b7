"""The type ``threshold``: every point or number becomes 1 if a condition holds, else 0; null remains null.

With hysteresis, items that were firing before (the loaded ones) are tested by a second condition, so that they stop
firing at another value than the one they started at.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.expression import Outcome
from dashwright.expressions.engine.hysteresis import Hysteresis
from dashwright.expressions.engine.labels import NONE
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.predicates import BOUNDS, Predicate
from dashwright.expressions.engine.values import Block, Cells, Floats, Mask, NoData, Numbers, Scalar, Series, Values

#: Points tested in one step, so that the masks stay in the processor's cache.
_SLAB = 1 << 16


def predicate_of(name: str, params: Sequence[float]) -> Predicate:
    """Return the predicate of an evaluator; surplus params are ignored. Raises BadRequest."""
    if name not in BOUNDS:
        raise BadRequest(f"invalid condition: expected threshold function to be one of [{', '.join(BOUNDS)}], got {name}")
    needed = BOUNDS[name]
    if len(params) < needed:
        raise BadRequest(
            f"invalid condition: incorrect number of arguments for threshold function '{name}': got {len(params)} but need {needed}; "
            f"give {'its lower and upper bound' if needed > 1 else 'its bound'} in params"
        )
    return Predicate(name, tuple(params[:needed]))


@dataclass(frozen=True, slots=True)
class Threshold:
    """A test of one input."""

    stands_alone: ClassVar[bool] = False

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
            return Outcome(values.map(self._begun))
        loaded = self.hysteresis.loaded_among((NONE,) if isinstance(values, Scalar) else values.labels, limits.deadline)
        if isinstance(values, Scalar):
            return Outcome(Scalar(self._by_row(values.cells, loaded[0])))
        judged = self._numbers(values, loaded) if isinstance(values, Numbers) else self._series(values, loaded)
        # Grafana returns items that were not loaded first, and existing rules depend on that order.
        return Outcome(judged.at(np.argsort(loaded, kind="stable")))

    def _numbers(self, numbers: Numbers, loaded: Mask) -> Numbers:
        return numbers.map(lambda cells: self._by_row(cells, loaded))

    def _series(self, series: Series, loaded: Mask) -> Series:
        blocks = []
        for block, members in series.by_block():
            rows = np.zeros(len(block.cells.values), np.bool_)
            rows[series.row_of[members]] = loaded[members]
            blocks.append(Block(block.axis, self._by_row(block.cells, rows)))
        return Series(series.labels, tuple(blocks), series.block_of, series.row_of)

    def _begun(self, cells: Cells) -> Cells:
        return _indicated(self.condition.holds, cells)

    def _by_row(self, cells: Cells, loaded: Mask) -> Cells:
        """Return the outcome; rows that ``loaded`` marks keep firing until the second condition holds."""
        assert self.hysteresis is not None
        outcome = self._begun(cells)
        outcome.values[loaded] = _indicated(self.hysteresis.holds_on, cells.at(loaded)).values
        return outcome


def _indicated(test: Callable[[Floats], Mask], cells: Cells) -> Cells:
    """Return 1 and 0 for true and false, one part at a time."""
    flat = cells.values.reshape(-1)
    outcome = np.empty(flat.shape)
    for start in range(0, len(flat), _SLAB):
        part = slice(start, start + _SLAB)
        outcome[part] = test(flat[part])
    return Cells.of(outcome.reshape(cells.values.shape), cells.nulls)
