"""The kind threshold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.reference_engine.comparisons import RANGES, holds
from tests.reference_engine.labels import fingerprint
from tests.reference_engine.values import Item, Items, Outcome, Refused, Value, map_values


@dataclass(frozen=True)
class Test:
    """An evaluator and its bounds. Surplus bounds are ignored."""

    __test__ = False

    evaluator: str
    bounds: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.bounds) < (2 if self.evaluator in RANGES else 1):
            raise Refused("parseError", "incorrect number of arguments for threshold function")

    def holds(self, value: float) -> bool:
        return holds(self.evaluator, value, self.bounds)


@dataclass(frozen=True)
class Threshold:
    """A threshold expression.

    ``loaded`` has the fingerprints of the items that were firing; without ``unload``, it has no effect.
    """

    expression: str
    test: Test
    unload: Test | None = None
    loaded: set[int] = field(default_factory=set)


def evaluate(threshold: Threshold, items: Items) -> Outcome:
    """Replace every value by 1 if the condition holds, and else by 0. Loaded items are after the others."""
    loaded = [item for item in items if threshold.unload and fingerprint(item.labels) in threshold.loaded]
    others = [item for item in items if not any(item is loaded_item for loaded_item in loaded)]
    return Outcome([_test_item(threshold, item, was=False) for item in others] + [_test_item(threshold, item, was=True) for item in loaded])


def _test_item(threshold: Threshold, item: Item, *, was: bool) -> Item:
    """Return the item with tested values. Null and no data are kept. A loaded item remains 1 until its unload condition holds."""

    def of_value(value: Value) -> Value:
        if value is None:
            return None
        return float(not threshold.unload.holds(value) if was and threshold.unload else threshold.test.holds(value))

    return map_values(item, of_value)
