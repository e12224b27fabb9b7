"""Removal of byte-order marks, which editors insert into copied addresses and which validators of Grafana refuse."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import orjson

_MARK: Final = "\ufeff"
#: First byte of an encoded mark, which few other characters have. Its search is faster than that of the whole mark.
_FIRST_BYTE: Final = _MARK.encode()[0]

_Key = TypeVar("_Key", str, int)


def without_marks(tree: Any) -> Any:
    """Return a tree without the byte-order marks in its strings. Parts that have no mark are shared with the argument."""
    if isinstance(tree, str):
        return tree.replace(_MARK, "") if _MARK in tree else tree
    if not tree or not isinstance(tree, (dict, list)):
        return tree
    try:
        # orjson writes a tree in less time than Python needs to walk through it.
        if _FIRST_BYTE not in orjson.dumps(tree):
            return tree
    except orjson.JSONEncodeError:
        # orjson cannot write each tree, for example a very deep one.
        pass
    return _cleaned(tree)


def _cleaned(tree: Any) -> Any:
    """Return a tree without its marks, after a walk through all of it."""
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
