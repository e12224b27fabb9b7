"""The expression type math."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.reference_engine.functions import CONSTANTS, OF_ONE
from tests.reference_engine.labels import printed as printed_labels
from tests.reference_engine.math_text import Binary, Call, Literal, Reference, Sign, Tree, printed
from tests.reference_engine.operators import binary, signed
from tests.reference_engine.union import union
from tests.reference_engine.values import Item, Items, Labels, NoData, Number, Outcome, Scalar, Series, Value, is_no_data, map_values

_MAX_LISTED_ITEMS = 5
"""Maximum number of items of one side in a warning."""


@dataclass(frozen=True)
class _Dropped:
    operation: Binary
    left: list[Labels]
    right: list[Labels]


def evaluate(tree: Tree, inputs: Mapping[str, Items]) -> Outcome:
    """Evaluate each operation after its operands, with one warning about all items that were dropped."""
    dropped: list[_Dropped] = []
    items = _items(tree, inputs, dropped)
    return Outcome(items, [_warning(dropped)] if dropped else [])


def _items(tree: Tree, inputs: Mapping[str, Items], dropped: list[_Dropped]) -> Items:
    match tree:
        case Literal(value=value):
            return [Scalar(value)]
        case Reference(ref_id=ref_id):
            return inputs[ref_id]
        case Call(name=name, arguments=()):
            return [Scalar(CONSTANTS[name])]
        case Call(name=name, arguments=arguments):
            return [map_values(item, OF_ONE[name]) for item in _items(arguments[0], inputs, dropped)]
        case Sign(symbol=symbol, operand=operand):
            return [map_values(item, lambda value: signed(symbol, value)) for item in _items(operand, inputs, dropped)]
        case Binary(symbol=symbol, left=left, right=right):
            sides = _items(left, inputs, dropped), _items(right, inputs, dropped)
            return _combined(tree, *sides, lambda a, b: binary(symbol, a, b), dropped)


def _combined(operation: Binary, left: Items, right: Items, operator: Callable[[Value, Value], Value], dropped: list[_Dropped]) -> Items:
    """Return an empty set if either side is empty, ``NoData`` if either side is ``NoData``, or else the pairs of the union."""
    if not left or not right:
        return []
    if is_no_data(left) or is_no_data(right):
        return [NoData()]
    paired = union(left, right)
    if any(paired.left_over):
        dropped.append(_Dropped(operation, *paired.left_over))
    return [_combined_pair(a, b, labels, operator) for a, b, labels in paired.pairs]


def _combined_pair(left: Item, right: Item, labels: Labels, operator: Callable[[Value, Value], Value]) -> Item:
    """Return the combination: two scalars are a scalar, with a number a number, with a series a series with every point."""
    match left, right:
        case Series(points=points), Series(points=others):
            last = dict(others)
            return Series([(time, operator(value, last[time])) for time, value in points if time in last], labels)
        case Series(points=points), (Scalar(value=other) | Number(value=other)):
            return Series([(time, operator(value, other)) for time, value in points], labels)
        case ((Scalar(value=other) | Number(value=other)), Series(points=points)):
            return Series([(time, operator(other, value)) for time, value in points], labels)
        case Scalar(value=a), Scalar(value=b):
            return Scalar(operator(a, b))
        case ((Scalar(value=a) | Number(value=a)), (Scalar(value=b) | Number(value=b))):
            return Number(operator(a, b), labels)
    raise AssertionError((left, right))


def _warning(dropped: list[_Dropped]) -> str:
    """Return the warning: the number of items without a partner, and the first five of each operation and side."""
    count = sum(len(dropped_items.left) + len(dropped_items.right) for dropped_items in dropped)
    return f"{count} items dropped from union(s): " + " ".join(map(_operation, dropped))


def _operation(dropped: _Dropped) -> str:
    sides = (dropped.operation.left, dropped.left), (dropped.operation.right, dropped.right)
    result = " ".join(f"({printed(operand)}: {_first(labels)})" for operand, labels in sides if labels)
    return f'["{printed(dropped.operation)}": {result}]'


def _first(labels: list[Labels]) -> str:
    remainder = [f"...{len(labels) - _MAX_LISTED_ITEMS} more..."] if len(labels) > _MAX_LISTED_ITEMS else []
    return " ".join([*map(printed_labels, labels[:_MAX_LISTED_ITEMS]), *remainder])
