"""The expression type threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.reference_engine.comparisons import RANGES, holds
from tests.reference_engine.labels import fingerprint
from tests.reference_engine.values import Item, Items, Outcome, Refused, Value, map_values


@dataclass(frozen=True)
class Evaluator:
    """A named evaluator with its bounds. Surplus bounds are ignored."""

    name: str
    bounds: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.bounds) < (2 if self.name in RANGES else 1):
            raise Refused("parseError", "incorrect number of arguments for threshold function")

    def holds(self, value: float) -> bool:
        """Return whether the evaluator holds for a value."""
        return holds(self.name, value, self.bounds)


@dataclass(frozen=True)
class Threshold:
    """A threshold expression.

    ``unload`` decides when an item stops firing. ``loaded`` has the fingerprints of the items that were firing; it has no effect
    without ``unload``.
    """

    expression: str
    evaluator: Evaluator
    unload: Evaluator | None = None
    loaded: set[int] = field(default_factory=set)


def evaluate(threshold: Threshold, items: Items) -> Outcome:
    """Replace every value by 1 if the evaluator holds, else by 0. Items that were firing are after the others."""
    firing = [item for item in items if threshold.unload and fingerprint(item.labels) in threshold.loaded]
    # Compared by identity, because equal items may occur several times.
    others = [item for item in items if not any(item is firing_item for firing_item in firing)]
    return Outcome(
        [_compare_item(threshold, item, was_firing=False) for item in others]
        + [_compare_item(threshold, item, was_firing=True) for item in firing]
    )


def _compare_item(threshold: Threshold, item: Item, *, was_firing: bool) -> Item:
    """Return the item with 1 and 0 for its values. Null and no data are kept. An item that was firing is 1 until ``unload`` holds."""

    def compare(value: Value) -> Value:
        if value is None:
            return None
        if was_firing and threshold.unload:
            return float(not threshold.unload.holds(value))
        return float(threshold.evaluator.holds(value))

    return map_values(item, compare)
