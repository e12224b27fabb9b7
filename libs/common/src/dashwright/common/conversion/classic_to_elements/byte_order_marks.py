"""Removal of byte-order marks, which editors insert into copied addresses and which validators of Grafana refuse."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import orjson

_MARK: Final = "\ufeff"
_ENCODED_MARK: Final = _MARK.encode()

_Key = TypeVar("_Key", str, int)


def without_marks(tree: Any) -> Any:
    """Return a tree without the byte-order marks in its strings. Parts that have no mark are shared with the argument."""
    if isinstance(tree, str):
        return tree.replace(_MARK, "") if _MARK in tree else tree
    return _cleaned(tree) if tree and isinstance(tree, (dict, list)) and _may_have_mark(tree) else tree


def _may_have_mark(tree: Any) -> bool:
    """Return False if no string of a tree has a mark."""
    try:
        # orjson writes a tree in less time than Python needs to walk through it.
        return _ENCODED_MARK in orjson.dumps(tree)
    except orjson.JSONEncodeError:
        return True


def _cleaned(tree: Any) -> Any:
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
    return {key: cleaned for key, value in values if (cleaned := _cleaned(value)) is not value}
