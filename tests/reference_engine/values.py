"""Input and result of an expression: an ordered list of items, or a rejection."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Value = float | None
"""A cell. None is null, a missing value; NaN is a value that is no number. They are never the same."""

Point = tuple[int, Value]
"""A time in nanoseconds, and the value there."""

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Scalar:
    """Value without labels that an expression returned without inputs."""

    value: Value
    labels: Labels = field(default_factory=dict, init=False)


@dataclass(frozen=True)
class Number:
    """Value with labels. ``name`` is that of the field it was read from."""

    value: Value
    labels: Labels = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class Series:
    """Points with labels, in the order they came in: times may be out of order, and may repeat."""

    points: list[Point]
    labels: Labels = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class NoData:
    """A query without any data."""

    labels: Labels = field(default_factory=dict, init=False)


Item = Scalar | Number | Series | NoData
Items = list[Item]
"""The result of a refId. Without items it is an empty set, which is not no data: that is one item."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a refId; ``matches`` of classic conditions are value, name of the field, and labels or None."""

    items: Items
    warnings: list[str] = field(default_factory=list)
    matches: list[tuple[Value, str, Labels | None]] = field(default_factory=list)


class Refused(Exception):
    """A refId without a result. ``kind`` is the id that programs read, without ``sse.``; it is empty for an error without an id."""

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
    return len(items) == 1 and isinstance(items[0], NoData)
