"""The type ``classic_conditions``: conditions on queries, combined from left to right to one number.

The number is 1 for firing, 0 for not firing and null for no data. No data wins over firing, because existing rules rely
on it. Every value that made a condition hold is returned as a match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import classic_reducers
from dashwright.expressions.engine.expression import Match, Outcome, ref_id_of
from dashwright.expressions.engine.labels import NONE, Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.predicates import BOUNDS, Predicate
from dashwright.expressions.engine.values import Cells, Mask, Numbers, Scalar, Series, Values

_OPERATORS = ("and", "or", "logic-or")
_NO_VALUE = "no_value"
_NULL = Cells(np.full(1, np.nan), np.ones(1, np.bool_))


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a query."""

    operator: str  #: How it combines with the conditions before it; ignored in the first one.
    input: str  #: The refId of the query.
    reducer: str
    predicate: Predicate | None  #: None holds if there is no value.

    @staticmethod
    def of(number: int, operator: str, query: Sequence[str], reducer: str, evaluator: str, params: Sequence[float]) -> "Condition":
        """Return condition ``number`` (from 1) of a target. Raises BadRequest if a word of it is unknown."""
        if number > 1 and operator not in _OPERATORS:
            raise BadRequest(f"condition {number} operator must be `and` or `or` (or `logic-or`), got `{operator}`")
        missing = f"condition {number} is missing the query RefID argument"
        ref_id = ref_id_of(query[0] if query else "", missing)
        if reducer not in classic_reducers.NAMES:
            raise BadRequest(f"invalid reducer '{reducer}' in condition {number}; use one of {', '.join(classic_reducers.NAMES)}")
        return Condition(operator, ref_id, reducer, _predicate(number, evaluator, params))


@dataclass(frozen=True, slots=True)
class _ConditionResult:
    """The state of one condition or of several combined."""

    firing: bool
    no_data: bool

    def joined(self, operator: str, other: "_ConditionResult") -> "_ConditionResult":
        if operator == "and":
            return _ConditionResult(self.firing and other.firing, self.no_data and other.no_data)
        return _ConditionResult(self.firing or other.firing, self.no_data or other.no_data)

    @property
    def number(self) -> Cells:
        return _NULL if self.no_data else Cells(np.array([float(self.firing)]))


@dataclass(frozen=True, slots=True)
class ClassicConditions:
    """A list of at least one condition."""

    stands_alone: ClassVar[bool] = True

    conditions: tuple[Condition, ...]

    @staticmethod
    def of(conditions: Sequence[Condition]) -> "ClassicConditions":
        """Return the conditions as one expression. Raises BadRequest for an empty list."""
        if not conditions:
            raise BadRequest("classic conditions need at least one condition")
        return ClassicConditions(tuple(conditions))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds that the conditions read, each once."""
        return tuple(dict.fromkeys(condition.input for condition in self.conditions))

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return one number and the matches of all conditions."""
        verdict, matches = None, list[Match]()
        for condition in self.conditions:
            if verdict is not None and verdict.firing and condition.operator == "logic-or":
                break
            found, more = _judged(condition, inputs[condition.input], limits)
            verdict = found if verdict is None else verdict.joined(condition.operator, found)
            matches += more
        assert verdict is not None
        return Outcome(Numbers((NONE,), verdict.number), matches=tuple(matches))


def _predicate(number: int, name: str, params: Sequence[float]) -> Predicate | None:
    if name == _NO_VALUE:
        return None
    if name not in BOUNDS:
        raise BadRequest(f"evaluator invalid evaluator type: {name} in condition {number}; use one of {', '.join([*BOUNDS, _NO_VALUE])}")
    if BOUNDS[name] == 1:
        if not params:
            raise BadRequest(f"evaluator '{name}' is missing the threshold parameter in condition {number}; give it in params")
        return Predicate(name, (params[0],))
    if len(params) != BOUNDS[name]:
        raise BadRequest(f"ranged evaluator requires 2 parameters, got {len(params)} for '{name}' in condition {number}")
    # Unlike a threshold's, the bounds of a classic condition may be swapped.
    return Predicate(name, tuple(sorted(params)))


def _judged(condition: Condition, values: Values, limits: Limits) -> tuple[_ConditionResult, list[Match]]:
    labels, names, cells = _numbers(condition, values, limits)
    firing = _holds(condition.predicate, cells)
    matches = [
        Match(None if condition.predicate is None else float(cells.values[position]), names[position] if names else "", labels[position])
        for position in np.flatnonzero(firing).tolist()
    ]
    no_data = not matches and bool(cells.is_null().all())
    return _ConditionResult(bool(matches), no_data), [Match(None, "NoData", NONE)] if no_data else matches


def _numbers(condition: Condition, values: Values, limits: Limits) -> tuple[Sequence[Labels], Sequence[str], Cells]:
    """Return labels, names and the numbers to test; without data one null without a name."""
    match values:
        case Series() if len(values):
            return values.labels, values.names, _reduced(condition.reducer, values, limits)
        case Numbers() if len(values):
            return values.labels, values.names, values.cells
        case Scalar():
            raise BadRequest(f"can only reduce type series, got type {values.kind}; give a classic condition an ordinary query")
    return (NONE,), (), _NULL


def _reduced(reducer: str, series: Series, limits: Limits) -> Cells:
    outcome, nulls = np.empty(len(series)), np.empty(len(series), np.bool_)
    for block, members in series.by_block():
        cells = classic_reducers.reduced(reducer, block.cells.values, limits.deadline)
        rows = series.row_of[members]
        outcome[members], nulls[members] = cells.values[rows], cells.is_null()[rows]
    return Cells.of(outcome, nulls)


def _holds(predicate: Predicate | None, cells: Cells) -> Mask:
    if predicate is None:
        return cells.is_null()
    found = predicate.holds(cells.values)
    return found if cells.nulls is None else found & ~cells.nulls
