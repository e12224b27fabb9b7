"""The expression type math."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.reference_engine.functions import CONSTANTS, FUNCTIONS
from tests.reference_engine.labels import labels_text
from tests.reference_engine.math_text import Binary, Call, Literal, Reference, Sign, Tree, tree_text
from tests.reference_engine.operators import apply_operator, apply_sign
from tests.reference_engine.union import union
from tests.reference_engine.values import Item, Items, Labels, NoData, Number, Outcome, Scalar, Series, Value, is_no_data, map_values

_MAX_LISTED_ITEMS = 5
"""Maximum number of items of one side in a warning."""


@dataclass(frozen=True)
class _DroppedItems:
    """The labels of the items of both sides of an operation that have no partner."""

    operation: Binary
    left: list[Labels]
    right: list[Labels]


def evaluate(tree: Tree, inputs: Mapping[str, Items]) -> Outcome:
    """Evaluate each operation after its operands. A single warning lists all items that were dropped."""
    dropped: list[_DroppedItems] = []
    items = _evaluate_tree(tree, inputs, dropped)
    return Outcome(items, [_warning(dropped)] if dropped else [])


def _evaluate_tree(tree: Tree, inputs: Mapping[str, Items], dropped: list[_DroppedItems]) -> Items:
    """Return the items of a tree, and append the items that its operations drop to ``dropped``."""
    match tree:
        case Literal(value=value):
            return [Scalar(value)]
        case Reference(ref_id=ref_id):
            return inputs[ref_id]
        case Call(name=name, arguments=()):
            return [Scalar(CONSTANTS[name])]
        case Call(name=name, arguments=arguments):
            return [map_values(item, FUNCTIONS[name]) for item in _evaluate_tree(arguments[0], inputs, dropped)]
        case Sign(symbol=symbol, operand=operand):
            return [map_values(item, lambda value: apply_sign(symbol, value)) for item in _evaluate_tree(operand, inputs, dropped)]
        case Binary(symbol=symbol, left=left, right=right):
            sides = _evaluate_tree(left, inputs, dropped), _evaluate_tree(right, inputs, dropped)
            return _combine(tree, *sides, lambda a, b: apply_operator(symbol, a, b), dropped)


def _combine(
    operation: Binary, left: Items, right: Items, operator: Callable[[Value, Value], Value], dropped: list[_DroppedItems]
) -> Items:
    """Return an empty set if a side is empty, no data if a side is no data, else the operator's result for each pair of the union."""
    if not left or not right:
        return []
    if is_no_data(left) or is_no_data(right):
        return [NoData()]
    paired = union(left, right)
    if any(paired.unmatched):
        dropped.append(_DroppedItems(operation, *paired.unmatched))
    return [_combine_pair(a, b, labels, operator) for a, b, labels in paired.pairs]


def _combine_pair(left: Item, right: Item, labels: Labels, operator: Callable[[Value, Value], Value]) -> Item:
    """Return the operator's result for a pair: a series if either item is a series, else a number if either is one, else a scalar.

    Two series are combined at their common times. A time that repeats in the right series has its last value.
    """
    match left, right:
        case Series(points=points), Series(points=right_points):
            right_values = dict(right_points)
            return Series([(time, operator(value, right_values[time])) for time, value in points if time in right_values], labels)
        case Series(points=points), (Scalar(value=other) | Number(value=other)):
            return Series([(time, operator(value, other)) for time, value in points], labels)
        case ((Scalar(value=other) | Number(value=other)), Series(points=points)):
            return Series([(time, operator(other, value)) for time, value in points], labels)
        case Scalar(value=a), Scalar(value=b):
            return Scalar(operator(a, b))
        case ((Scalar(value=a) | Number(value=a)), (Scalar(value=b) | Number(value=b))):
            return Number(operator(a, b), labels)
    raise AssertionError((left, right))


def _warning(dropped: list[_DroppedItems]) -> str:
    """Return the warning: the number of items without a partner, and the labels of the first of them for each operation and side."""
    count = sum(len(dropped_items.left) + len(dropped_items.right) for dropped_items in dropped)
    return f"{count} items dropped from union(s): " + " ".join(map(_dropped_text, dropped))


def _dropped_text(dropped: _DroppedItems) -> str:
    """Return the part of the warning on one operation."""
    sides = (dropped.operation.left, dropped.left), (dropped.operation.right, dropped.right)
    lists = " ".join(f"({tree_text(operand)}: {_first_labels(labels)})" for operand, labels in sides if labels)
    return f'["{tree_text(dropped.operation)}": {lists}]'


def _first_labels(labels: list[Labels]) -> str:
    """Return the first label sets as text, and the number of the remaining ones."""
    remainder = [f"...{len(labels) - _MAX_LISTED_ITEMS} more..."] if len(labels) > _MAX_LISTED_ITEMS else []
    return " ".join([*map(labels_text, labels[:_MAX_LISTED_ITEMS]), *remainder])
