"""The type ``reduce``: every series becomes one number.

In strict mode (no mode), null and NaN make the number NaN, except that ``last`` returns a null as null; infinities are
ordinary numbers. ``dropNN`` and ``replaceNN`` first drop or replace null, NaN and infinities.

The result for a series without points depends on the reducer and the mode, and existing alert rules rely on it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.expression import Outcome, ref_id_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.reducers import REDUCERS, row_chunks
from dashwright.expressions.engine.values import Cells, Floats, NoData, Numbers, Scalar, Series, Values

_MISSING_INPUT = "no expression ID is specified to reduce. Must be a reference to an existing query or expression"


class ReduceMode(StrEnum):
    """The treatment of points that are not finite numbers."""

    STRICT = ""
    DROP = "dropNN"
    REPLACE = "replaceNN"


@dataclass(frozen=True, slots=True)
class Reduce:
    """A reduction of one input."""

    is_chainable: ClassVar[bool] = True

    input: str  #: A refId.
    reducer: str
    mode: ReduceMode = ReduceMode.STRICT
    replacement: float = np.nan  #: For ``replaceNN`` only.

    @staticmethod
    def of(expression: str, reducer: str, mode: str = "", replacement: float | None = None) -> "Reduce":
        """Return the reduction of a target. Raises BadRequest if the reducer or mode is unknown, or a replacement is missing."""
        if reducer not in REDUCERS:
            raise BadRequest(f"reduction {reducer} not implemented; use one of {', '.join(REDUCERS)}")
        if mode not in set(ReduceMode):
            raise BadRequest(f"reducer mode '{mode}' is not supported. Supported only: [dropNN,replaceNN]")
        if mode == ReduceMode.REPLACE and replacement is None:
            raise BadRequest("setting replaceWithValue must be specified when mode is 'replaceNN'")
        return Reduce(ref_id_of(expression, _MISSING_INPUT), reducer, ReduceMode(mode), np.nan if replacement is None else replacement)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refId that it reads."""
        return (self.input,)

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return one number for each series; numbers are already reduced."""
        match inputs[self.input]:
            case NoData() as no_data:
                return Outcome(no_data)
            case Numbers() as numbers:
                return self._numbers(numbers)
            case Scalar(type_name=type_name):
                raise BadRequest(
                    f"can only reduce type series, got type {type_name}; reduce ${self.input} needs a query or expression of series"
                )
            case Series() as series:
                return Outcome(self._series(series, limits))

    def _series(self, series: Series, limits: Limits) -> Numbers:
        """Return the number of each series, in their order."""
        values, nulls = np.empty(len(series)), np.zeros(len(series), np.bool_)
        for block, members in series.by_block():
            limits.deadline.check()
            with np.errstate(all="ignore"):
                cells = self.reduce_rows(block.cells)
            rows = series.row_of[members]
            values[members], nulls[members] = cells.values[rows], cells.null_mask()[rows]
        return Numbers(series.labels, Cells.with_nulls(values, nulls))

    def reduce_rows(self, cells: Cells) -> Cells:
        """Return each row reduced to one cell."""
        reducer = REDUCERS[self.reducer]
        match self.mode:
            case ReduceMode.STRICT:
                # A null as the last point remains null; all other reducers treat null as NaN.
                if self.reducer == "last" and cells.values.shape[1]:
                    return cells.at((slice(None), -1))
                return Cells(_by_row_chunks(lambda chunk: reducer.reduce_all(chunk.values), cells))
            case ReduceMode.DROP:
                # Without finite points, some reducers return NaN, which becomes null.
                numbers = _by_row_chunks(reducer.reduce_finite, cells)
                return Cells.with_nulls(numbers, np.isnan(numbers))
            case ReduceMode.REPLACE:
                numbers = _by_row_chunks(lambda chunk: reducer.reduce_all(_replace_not_finite(chunk.values, self.replacement)), cells)
                # The NaN of a series without points is replaced, too.
                return Cells(np.where(np.isnan(numbers), self.replacement, numbers))

    def _numbers(self, numbers: Numbers) -> Outcome:
        """Return numbers, which the strict mode leaves unchanged, and of which other modes drop or replace those that are not finite."""
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
                return Outcome(Numbers(numbers.labels, Cells(_replace_not_finite(values, self.replacement))))


def _replace_not_finite(values: Floats, replacement: float) -> Floats:
    is_finite = np.isfinite(values)
    return values if is_finite.all() else np.where(is_finite, values, replacement)


def _by_row_chunks(reduce_rows: Callable[[Cells], Floats], cells: Cells) -> Floats:
    return np.concatenate([reduce_rows(cells.at(rows)) for rows in row_chunks(cells.values)])
