"""The type ``classic_conditions``: conditions on queries, combined from left to right to one number.

The number is 1 for firing, 0 for not firing and null for no data. If one of two conditions combined by ``or`` is firing and
the other has no data, the number is null, as existing alert rules expect. Every value for which a condition holds is a match.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine import classic_reducers
from dashwright.expressions.engine.expression import Match, Outcome, ref_id_of
from dashwright.expressions.engine.labels import NO_LABELS, Labels, LabelSets
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.predicates import BOUND_COUNTS, Predicate
from dashwright.expressions.engine.values import Cells, Mask, Numbers, Scalar, Series, Values

#: ``logic-or`` is an ``or`` that ends the evaluation if the conditions before it are firing.
_OPERATORS = ("and", "or", "logic-or")
_NO_VALUE = "no_value"
#: A single null.
_NULL = Cells(np.full(1, np.nan), np.ones(1, np.bool_))


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a query."""

    operator: str  #: Combines the condition with those before it; ignored in the first one.
    input: str  #: The refId of the query.
    reducer: str
    predicate: Predicate | None  #: None is the predicate ``no_value``, which holds for null.

    @staticmethod
    def of(index: int, operator: str, query_params: Sequence[str], reducer: str, evaluator: str, params: Sequence[float]) -> "Condition":
        """Return condition ``index`` (from 1) of a target. The first of ``query_params`` is a refId; ``params`` are bounds.

        Raises BadRequest if an operator, reducer or evaluator is unknown, or a parameter is missing.
        """
        if index > 1 and operator not in _OPERATORS:
            raise BadRequest(f"condition {index} operator must be `and` or `or` (or `logic-or`), got `{operator}`")
        ref_id = ref_id_of(query_params[0] if query_params else "", f"condition {index} is missing the query RefID argument")
        if reducer not in classic_reducers.NAMES:
            raise BadRequest(f"invalid reducer '{reducer}' in condition {index}; use one of {', '.join(classic_reducers.NAMES)}")
        return Condition(operator, ref_id, reducer, _predicate(index, evaluator, params))


@dataclass(frozen=True, slots=True)
class _ConditionResult:
    """The state of one condition, or of several combined."""

    is_firing: bool
    is_no_data: bool

    def combine(self, operator: str, other: "_ConditionResult") -> "_ConditionResult":
        """Return the state of both results. ``or`` and ``logic-or`` combine them in the same way."""
        if operator == "and":
            return _ConditionResult(self.is_firing and other.is_firing, self.is_no_data and other.is_no_data)
        return _ConditionResult(self.is_firing or other.is_firing, self.is_no_data or other.is_no_data)

    @property
    def cells(self) -> Cells:
        """A single cell: 1 for firing, 0 for not firing, null for no data."""
        return _NULL if self.is_no_data else Cells(np.array([float(self.is_firing)]))


@dataclass(frozen=True, slots=True)
class ClassicConditions:
    """A list of at least one condition."""

    is_chainable: ClassVar[bool] = False

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
        combined, matches = None, list[Match]()
        for condition in self.conditions:
            if combined is not None and combined.is_firing and condition.operator == "logic-or":
                # The conditions so far decide the outcome: the others are not evaluated and add no matches.
                break
            result, condition_matches = _test(condition, inputs[condition.input], limits)
            combined = result if combined is None else combined.combine(condition.operator, result)
            matches += condition_matches
        assert combined is not None
        return Outcome(Numbers(LabelSets.of((NO_LABELS,)), combined.cells), matches=tuple(matches))


def _predicate(index: int, name: str, params: Sequence[float]) -> Predicate | None:
    """Return the predicate of an evaluator, None for ``no_value``. Raises BadRequest if it is unknown or lacks a bound."""
    if name == _NO_VALUE:
        return None
    if name not in BOUND_COUNTS:
        raise BadRequest(
            f"evaluator invalid evaluator type: {name} in condition {index}; use one of {', '.join([*BOUND_COUNTS, _NO_VALUE])}"
        )
    if BOUND_COUNTS[name] == 1:
        if not params:
            raise BadRequest(f"evaluator '{name}' is missing the threshold parameter in condition {index}; give it in params")
        return Predicate(name, (params[0],))
    if len(params) != BOUND_COUNTS[name]:
        raise BadRequest(f"ranged evaluator requires 2 parameters, got {len(params)} for '{name}' in condition {index}")
    # Classic conditions accept swapped bounds; ``predicate_of`` of thresholds keeps the order of bounds.
    return Predicate(name, tuple(sorted(params)))


def _test(condition: Condition, values: Values, limits: Limits) -> tuple[_ConditionResult, list[Match]]:
    """Return the result of a condition, and its matches. Without data there is one match with the name ``NoData``."""
    labels, names, cells = _numbers(condition, values, limits)
    matches = []
    for position in np.flatnonzero(_holds(condition.predicate, cells)).tolist():
        value = None if condition.predicate is None else float(cells.values[position])
        matches.append(Match(value, names[position] if names else "", labels[position]))
    is_no_data = not matches and bool(cells.null_mask().all())
    return _ConditionResult(bool(matches), is_no_data), [Match(None, "NoData", NO_LABELS)] if is_no_data else matches


def _numbers(condition: Condition, values: Values, limits: Limits) -> tuple[Sequence[Labels], Sequence[str], Cells]:
    """Return the labels and names of the numbers to test, and the numbers. Values without items become one null without a name."""
    match values:
        case Series() if len(values):
            return values.labels, values.names, _reduce(condition.reducer, values, limits)
        case Numbers() if len(values):
            return values.labels, values.names, values.cells
        case Scalar():
            raise BadRequest(f"can only reduce type series, got type {values.type_name}; give a classic condition an ordinary query")
    return (NO_LABELS,), (), _NULL


def _reduce(reducer: str, series: Series, limits: Limits) -> Cells:
    """Return one cell for each series, in their order."""
    numbers, nulls = np.empty(len(series)), np.empty(len(series), np.bool_)
    for block, members in series.by_block():
        cells = classic_reducers.reduce(reducer, block.cells.values, limits.deadline)
        rows = series.row_of[members]
        numbers[members], nulls[members] = cells.values[rows], cells.null_mask()[rows]
    return Cells.with_nulls(numbers, nulls)


def _holds(predicate: Predicate | None, cells: Cells) -> Mask:
    """Return a mask of the cells for which the predicate holds. For a null, only ``no_value`` (None) holds."""
    if predicate is None:
        return cells.null_mask()
    holds = predicate.holds(cells.values)
    return holds if cells.nulls is None else holds & ~cells.nulls
