"""The evaluators of threshold and classic conditions, which compare a number with bounds."""

from collections.abc import Sequence

RANGES = ["within_range", "outside_range", "within_range_included", "outside_range_included"]


def holds(evaluator: str, number: float, bounds: Sequence[float]) -> bool:
    """Return whether an evaluator holds for a number.

    The bounds of a range are not sorted: it is empty if the first bound is the larger one. NaN compares as in IEEE 754: only ``ne`` holds.
    """
    match evaluator:
        case "gt":
            return number > bounds[0]
        case "lt":
            return number < bounds[0]
        case "eq":
            return number == bounds[0]
        case "ne":
            return number != bounds[0]
        case "gte":
            return number >= bounds[0]
        case "lte":
            return number <= bounds[0]
        case "within_range":
            return bounds[0] < number < bounds[1]
        case "outside_range":
            return number < bounds[0] or number > bounds[1]
        case "within_range_included":
            return bounds[0] <= number <= bounds[1]
        case "outside_range_included":
            return number <= bounds[0] or number >= bounds[1]
    raise AssertionError(evaluator)
