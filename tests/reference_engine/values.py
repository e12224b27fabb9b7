"""The inputs and results of expressions: ordered lists of items, or an error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Value = float | None
"""A value. None is null, a missing value. NaN is different from null."""

Point = tuple[int, Value]
"""A time in nanoseconds, and the value at this time."""

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Scalar:
    """A value without labels: the result of an expression without inputs, such as ``1 + 1``."""

    value: Value
    labels: Labels = field(default_factory=dict, init=False)


@dataclass(frozen=True)
class Number:
    """A value with labels. ``name`` is the name of the field from which the number was read."""

    value: Value
    labels: Labels = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class Series:
    """Points with labels. Their order is that of the query: times may be unsorted and may repeat."""

    points: list[Point]
    labels: Labels = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class NoData:
    """The only item of a query that returned no data."""

    labels: Labels = field(default_factory=dict, init=False)


Item = Scalar | Number | Series | NoData
Items = list[Item]
"""The items of a refId. An empty set has no items, whereas no data is one item."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a refId. A match of classic conditions has a value, the name of a field, and labels or None."""

    items: Items
    warnings: list[str] = field(default_factory=list)
    matches: list[tuple[Value, str, Labels | None]] = field(default_factory=list)


class Refused(Exception):
    """The error of a refId. ``kind`` is the id at the start of its text, without ``sse.``; it is empty for an error without an id."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def map_values(item: Item, change: Callable[[Value], Value]) -> Item:
    """Return the item with every value changed; labels and times are kept, and no data remains no data."""
    match item:
        case NoData():
            return item
        case Series(points=points):
            return replace(item, points=[(time, change(value)) for time, value in points])
        case Scalar(value=value) | Number(value=value):
            return replace(item, value=change(value))


def is_no_data(items: Items) -> bool:
    """Return whether the query of the items returned no data."""
    return len(items) == 1 and isinstance(items[0], NoData)
