"""The kind classic_conditions."""

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
_ONE_BOUND = ["gt", "lt", "eq", "ne", "gte", "lte"]

Match = tuple[Value, str, Labels | None]


@dataclass(frozen=True)
class Condition:
    """A condition of classic conditions. Unknown words are invalid; a range has exactly two bounds, and ``no_value`` has none."""

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
        elif self.evaluator in _ONE_BOUND:
            if not self.bounds:
                raise Refused("parseError", "evaluator is missing the threshold parameter")
        elif self.evaluator != "no_value":
            raise Refused("parseError", "invalid evaluator type")

    def holds(self, value: Value) -> bool:
        """Return whether the evaluator holds for a value.

        Only ``no_value`` holds for null. The bounds of a range may be swapped.
        """
        if self.evaluator == "no_value":
            return value is None
        bounds = sorted(self.bounds) if self.evaluator in RANGES else self.bounds
        return value is not None and holds(self.evaluator, value, bounds)


def evaluate(conditions: Sequence[Condition], inputs: Mapping[str, Items]) -> Outcome:
    """Evaluate from left to right. Firing and no data are combined separately; no data is null, and else the result is 1 or 0."""
    fires, no_data, matches = _test_condition(conditions[0], inputs[conditions[0].ref_id])
    for condition in conditions[1:]:
        if condition.operator == "logic-or" and fires:
            break
        also_fires, also_no_data, matches_of_condition = _test_condition(condition, inputs[condition.ref_id])
        matches += matches_of_condition
        if condition.operator == "and":
            fires, no_data = fires and also_fires, no_data and also_no_data
        else:
            fires, no_data = fires or also_fires, no_data or also_no_data
    return Outcome([Number(None if no_data else float(fires))], matches=matches)


def _test_condition(condition: Condition, items: Items) -> tuple[bool, bool, list[Match]]:
    """Return whether the condition fires (any item holds), whether it has no data (all items are null and none fired), and its matches."""
    values = [_reduced_values(condition.reducer, item) for item in items] or [(None, "", None)]
    matches: list[Match] = [match for match in values if condition.holds(match[0])]
    no_data = not matches and all(value is None for value, _, _ in values)
    return bool(matches), no_data, [*matches, *([(None, "NoData", None)] if no_data else [])]


def _reduced_values(reducer: str, item: Item) -> Match:
    """Return the values of an input: series are reduced to numbers, numbers are unchanged, and no data is null."""
    match item:
        case NoData():
            return None, "", None
        case Number(value=value, labels=labels, name=name):
            return value, name, labels or None
        case Series(points=points, labels=labels, name=name):
            return _reduce_points(reducer, points), name, labels or None
    raise Refused("", "can only reduce type series, got type scalar")


def _reduce_points(reducer: str, points: list[Point]) -> Value:
    """Return the reduction of the points that are neither null nor NaN; null without such points. ``count`` counts all points."""
    if reducer == "count":
        return float(len(points)) if points else None
    present = [(index, value) for index, (_, value) in enumerate(points) if value is not None and not math.isnan(value)]
    if not present:
        return None
    return _of_numbers(reducer, [value for _, value in present], only_first=present[-1][0] == 0)


def _of_numbers(reducer: str, numbers: list[float], *, only_first: bool) -> float:
    """Reduce the numbers.

    ``min`` is at most the largest finite number, and ``max`` at least the least. Differences are 0 if the newest number
    is the first point of all.
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
    if only_first:
        return 0.0
    difference = newest - oldest
    if reducer.startswith("percent"):
        difference = quotient(difference, abs(oldest)) * 100
    return abs(difference) if reducer.endswith("_abs") else difference
