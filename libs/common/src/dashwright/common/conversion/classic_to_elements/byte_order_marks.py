"""Removal of byte-order marks, which editors insert into copied addresses and which validators of Grafana refuse."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

_MARK: Final = "\ufeff"

_Key = TypeVar("_Key", str, int)


def without_marks(tree: Any) -> Any:
    """Return a tree without the byte-order marks in its strings. Parts that have no mark are shared with the argument."""
    if isinstance(tree, str):
        return tree.replace(_MARK, "") if _MARK in tree else tree
    if isinstance(tree, dict):
        members = _changes(tree.items())
        return {**tree, **members} if members else tree
    if isinstance(tree, list):
        items = _changes(enumerate(tree))
        return [items.get(position, item) for position, item in enumerate(tree)] if items else tree
    return tree


def _changes(values: Iterable[tuple[_Key, Any]]) -> dict[_Key, Any]:
    """Return those values of an object or list that have marks, without their marks."""
    changes = {}
    for key, value in values:
        # Most values are numbers or strings without a mark. The types are compared here to save calls for each of them.
        kind = type(value)
        if kind is str:
            if _MARK in value:
                changes[key] = value.replace(_MARK, "")
        elif kind is dict or kind is list:
            cleaned = without_marks(value)
            if cleaned is not value:
                changes[key] = cleaned
    return changes
