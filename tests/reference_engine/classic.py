"""The expression type classic_conditions."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.reference_engine.comparisons import RANGES, holds
from tests.reference_engine.operators import quotient
from tests.reference_engine.reducers import mean, median, total
from tests.reference_engine.values import Item, Items, Labels, NoData, Number, Outcome, Point, Refused, Series, Value

REDUCERS = [
    *("avg", "sum", "min", "max", "count", "last", "median"),
    *("diff", "diff_abs", "percent_diff", "percent_diff_abs", "count_non_null"),
]
_SINGLE_BOUND = ["gt", "lt", "eq", "ne", "gte", "lte"]

#: The value, the metric and the labels of an item for which a condition holds.
Match = tuple[Value, str, Labels | None]


@dataclass(frozen=True)
class Condition:
    """A condition of classic conditions. Only known reducers and evaluators are valid. A range has exactly two bounds."""

    #: ``and``, ``or`` or ``logic-or``: how the condition is combined with those before it.
    operator: str
    ref_id: str
    reducer: str
    evaluator: str
    bounds: Sequence[float]

    def __post_init__(self) -> None:
        if self.reducer not in REDUCERS:
            raise Refused("parseError", "invalid reducer")
        if not self.ref_id:
            raise Refused("parseError", "the condition is missing the query RefID argument")
        if self.evaluator in RANGES:
            if len(self.bounds) != 2:
                raise Refused("parseError", "ranged evaluator requires 2 parameters")
        elif self.evaluator in _SINGLE_BOUND:
            if not self.bounds:
                raise Refused("parseError", "evaluator is missing the threshold parameter")
        elif self.evaluator != "no_value":
            raise Refused("parseError", "invalid evaluator type")

    def holds(self, value: Value) -> bool:
        """Return whether the evaluator holds for a value. Only ``no_value`` holds for null. The bounds of a range may be swapped."""
        if self.evaluator == "no_value":
            return value is None
        bounds = sorted(self.bounds) if self.evaluator in RANGES else self.bounds
        return value is not None and holds(self.evaluator, value, bounds)


def evaluate(conditions: Sequence[Condition], inputs: Mapping[str, Items]) -> Outcome:
    """Evaluate the conditions from left to right.

    Whether the conditions fire and whether they have no data is combined separately. Without data, the result is null, even if the
    conditions fire. Otherwise it is 1 or 0.
    """
    fires, no_data, matches = _evaluate_condition(conditions[0], inputs[conditions[0].ref_id])
    for condition in conditions[1:]:
        if condition.operator == "logic-or" and fires:  # The remaining conditions are not evaluated.
            break
        condition_fires, condition_has_no_data, condition_matches = _evaluate_condition(condition, inputs[condition.ref_id])
        matches += condition_matches
        if condition.operator == "and":
            fires, no_data = fires and condition_fires, no_data and condition_has_no_data
        else:
            fires, no_data = fires or condition_fires, no_data or condition_has_no_data
    return Outcome([Number(None if no_data else float(fires))], matches=matches)


def _evaluate_condition(condition: Condition, items: Items) -> tuple[bool, bool, list[Match]]:
    """Return whether the condition fires (for any item), whether it has no data, and its matches.

    A condition has no data if every item is null and it does not fire.
    """
    values = [_reduce_item(condition.reducer, item) for item in items] or [(None, "", None)]
    matches: list[Match] = [match for match in values if condition.holds(match[0])]
    no_data = not matches and all(value is None for value, _, _ in values)
    return bool(matches), no_data, [*matches, *([(None, "NoData", None)] if no_data else [])]


def _reduce_item(reducer: str, item: Item) -> Match:
    """Return value, name and labels of an item: a series is reduced, a number is unchanged, and no data is null."""
    match item:
        case NoData():
            return None, "", None
        case Number(value=value, labels=labels, name=name):
            return value, name, labels or None
        case Series(points=points, labels=labels, name=name):
            return _reduce_points(reducer, points), name, labels or None
    raise Refused("", "can only reduce type series, got type scalar")


def _reduce_points(reducer: str, points: list[Point]) -> Value:
    """Return the reduction of the points that are neither null nor NaN, or null without such points. ``count`` counts all points."""
    if reducer == "count":
        return float(len(points)) if points else None
    present = [(index, value) for index, (_, value) in enumerate(points) if value is not None and not math.isnan(value)]
    if not present:
        return None
    return _reduce_numbers(reducer, [value for _, value in present], only_first_has_value=present[-1][0] == 0)


def _reduce_numbers(reducer: str, numbers: list[float], *, only_first_has_value: bool) -> float:
    """Return the reduction of the numbers.

    ``min`` is at most the largest finite number and ``max`` at least the smallest, because Grafana starts from these. Differences are
    0 if only the first point has a value.
    """
    oldest, newest = numbers[0], numbers[-1]
    match reducer:
        case "avg":
            return mean(numbers)
        case "sum":
            return total(numbers)
        case "min":
            return min([sys.float_info.max, *numbers])
        case "max":
            return max([-sys.float_info.max, *numbers])
        case "last":
            return newest
        case "median":
            return median(numbers)
        case "count_non_null":
            return float(len(numbers))
    if only_first_has_value:
        return 0.0
    difference = newest - oldest
    if reducer.startswith("percent"):
        difference = quotient(difference, abs(oldest)) * 100
    return abs(difference) if reducer.endswith("_abs") else difference
