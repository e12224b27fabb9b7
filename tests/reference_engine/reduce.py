"""The expression type reduce."""

import math
from dataclasses import dataclass, replace

from tests.reference_engine.reducers import reduce_strictly
from tests.reference_engine.values import Item, Items, NoData, Number, Outcome, Refused, Series, Value


@dataclass(frozen=True)
class Reduce:
    """A reduce expression.

    ``mode`` is empty for strict, else ``dropNN`` or ``replaceNN``. In the mode ``replaceNN``, ``value`` replaces null, NaN and infinities.
    """

    expression: str
    reducer: str
    mode: str = ""
    value: Value = None


def evaluate(reduce: Reduce, items: Items) -> Outcome:
    """Reduce each series to a number with its labels. In the mode strict, numbers are unchanged, with a warning."""
    reduced_items = [reduced for item in items if (reduced := _reduce_item(reduce, item)) is not None]
    is_unneeded = not reduce.mode and any(isinstance(item, Number) for item in items)
    warning = f"Reduce operation is not needed. Input query or expression {reduce.expression} is already reduced data."
    return Outcome(reduced_items, [warning] if is_unneeded else [])


def _reduce_item(reduce: Reduce, item: Item) -> Item | None:
    """Return the number of an item, or None if the mode drops it. Raises Refused for a scalar."""
    match item:
        case NoData():
            return item
        case Series(points=points, labels=labels):
            return Number(_reduce_values(reduce, [value for _, value in points]), labels)
        case Number(value=value):
            if not reduce.mode or _is_finite(value):
                return item
            return None if reduce.mode == "dropNN" else replace(item, value=reduce.value)
    raise Refused("", "can only reduce type series, got type scalar")


def _reduce_values(reduce: Reduce, values: list[Value]) -> Value:
    """Return the reduction of the values.

    Except in the mode strict, null, NaN and infinities are dropped or replaced first. A result of NaN is then replaced by ``value``,
    which is null in the mode ``dropNN``.
    """
    if reduce.mode == "dropNN":
        values = [value for value in values if _is_finite(value)]
    elif reduce.mode == "replaceNN":
        values = [value if _is_finite(value) else reduce.value for value in values]
    result = reduce_strictly(reduce.reducer, values)
    if reduce.mode and result is not None and math.isnan(result):
        return reduce.value
    return result


def _is_finite(value: Value) -> bool:
    return value is not None and math.isfinite(value)
