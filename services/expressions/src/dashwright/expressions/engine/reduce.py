"""The type ``reduce``: every series to one number.

In strict mode (no mode) null and NaN spoil the outcome and infinities are ordinary numbers. ``dropNN`` and
``replaceNN`` first drop or replace null, NaN and infinities. The outcome of no points depends on reducer and mode,
because existing rules rely on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.expression import Outcome, ref_id_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.reducers import REDUCERS, slabs
from dashwright.expressions.engine.values import Cells, Floats, NoData, Numbers, Scalar, Series, Values

_MISSING = "no expression ID is specified to reduce. Must be a reference to an existing query or expression"


class ReduceMode(StrEnum):
    """The treatment of points that are not finite numbers."""

    STRICT = ""
    DROP = "dropNN"
    REPLACE = "replaceNN"


@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction of one input."""

    stands_alone: ClassVar[bool] = False

    input: str  #: A refId.
    reducer: str
    mode: ReduceMode = ReduceMode.STRICT
    replacement: float = np.nan  #: For ``replaceNN`` only.

    @staticmethod
    def of(expression: str, reducer: str, mode: str = "", replacement: float | None = None) -> "Reduce":
        """Return the reduction of a target. Raises BadRequest if its words are unknown or do not fit together."""
        if reducer not in REDUCERS:
            raise BadRequest(f"reduction {reducer} not implemented; use one of {', '.join(REDUCERS)}")
        if mode not in set(ReduceMode):
            raise BadRequest(f"reducer mode '{mode}' is not supported. Supported only: [dropNN,replaceNN]")
        if mode == ReduceMode.REPLACE and replacement is None:
            raise BadRequest("setting replaceWithValue must be specified when mode is 'replaceNN'")
        return Reduce(ref_id_of(expression, _MISSING), reducer, ReduceMode(mode), np.nan if replacement is None else replacement)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refId that it reads."""
        return (self.input,)

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return one number for each series; numbers are already reduced."""
        match inputs[self.input]:
            case NoData() as nothing:
                return Outcome(nothing)
            case Numbers() as numbers:
                return self._reduced_already(numbers)
            case Scalar(kind=kind):
                raise BadRequest(
                    f"can only reduce type series, got type {kind}; reduce ${self.input} needs a query or expression of series"
                )
            case Series() as series:
                return Outcome(self._series(series, limits))

    def _series(self, series: Series, limits: Limits) -> Numbers:
        values, nulls = np.empty(len(series)), np.zeros(len(series), np.bool_)
        for block, members in series.by_block():
            limits.deadline.check()
            with np.errstate(all="ignore"):
                cells = self.cells(block.cells)
            rows = series.row_of[members]
            values[members], nulls[members] = cells.values[rows], cells.is_null()[rows]
        return Numbers(series.labels, Cells.of(values, nulls))

    def cells(self, cells: Cells) -> Cells:
        """Return one cell for each row."""
        reducer = REDUCERS[self.reducer]
        match self.mode:
            case ReduceMode.STRICT:
                if self.reducer == "last" and cells.values.shape[1]:
                    return cells.at((slice(None), -1))
                return Cells(_by_slabs(lambda part: reducer.all(part.values), cells))
            case ReduceMode.DROP:
                outcome = _by_slabs(reducer.finite, cells)
                return Cells.of(outcome, np.isnan(outcome))
            case ReduceMode.REPLACE:
                outcome = _by_slabs(lambda part: reducer.all(_replaced(part.values, self.replacement)), cells)
                return Cells(np.where(np.isnan(outcome), self.replacement, outcome))

    def _reduced_already(self, numbers: Numbers) -> Outcome:
        values = numbers.cells.values
        if not len(numbers):
            return Outcome(numbers)
        match self.mode:
            case ReduceMode.STRICT:
                warning = f"Reduce operation is not needed. Input query or expression {self.input} is already reduced data."
                return Outcome(numbers, (warning,))
            case ReduceMode.DROP:
                return Outcome(numbers.at(np.flatnonzero(np.isfinite(values))))
            case ReduceMode.REPLACE:
                return Outcome(Numbers(numbers.labels, Cells(_replaced(values, self.replacement))))


def _replaced(values: Floats, replacement: float) -> Floats:
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, replacement)


def _by_slabs(reduce_rows: Callable[[Cells], Floats], cells: Cells) -> Floats:
    return np.concatenate([reduce_rows(cells.at(rows)) for rows in slabs(cells.values)])
