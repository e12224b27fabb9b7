"""The kind reduce."""

import math
from dataclasses import dataclass, replace

from tests.reference_engine.reducers import strict
from tests.reference_engine.values import Item, Items, NoData, Number, Outcome, Refused, Series, Value


@dataclass(frozen=True)
class Reduce:
    """A reduction; ``mode`` is empty for strict, and ``value`` replaces other than finite numbers with ``replaceNN``."""

    expression: str
    reducer: str
    mode: str = ""
    value: Value = None


def evaluate(reduce: Reduce, items: Items) -> Outcome:
    """Reduce each series to a number with its labels. Numbers are unchanged; in the mode strict, with a warning."""
    outcome = [reduced for item in items if (reduced := _reduced(reduce, item)) is not None]
    already = not reduce.mode and any(isinstance(item, Number) for item in items)
    text = f"Reduce operation is not needed. Input query or expression {reduce.expression} is already reduced data."
    return Outcome(outcome, [text] if already else [])


def _reduced(reduce: Reduce, item: Item) -> Item | None:
    match item:
        case NoData():
            return item
        case Series(points=points, labels=labels):
            return Number(_of_values(reduce, [value for _, value in points]), labels)
        case Number(value=value):
            if not reduce.mode or _is_finite(value):
                return item
            return None if reduce.mode == "dropNN" else replace(item, value=reduce.value)
    raise Refused("", "can only reduce type series, got type scalar")


def _of_values(reduce: Reduce, values: list[Value]) -> Value:
    """Return the reduced values; other than finite numbers are dropped or replaced first, and a NaN result becomes null or
    the value.
    """
    if reduce.mode == "dropNN":
        values = [value for value in values if _is_finite(value)]
    elif reduce.mode == "replaceNN":
        values = [value if _is_finite(value) else reduce.value for value in values]
    result = strict(reduce.reducer, values)
    if reduce.mode and result is not None and math.isnan(result):
        return reduce.value
    return result


def _is_finite(value: Value) -> bool:
    return value is not None and math.isfinite(value)
