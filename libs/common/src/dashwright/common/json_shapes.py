"""Readers of JSON trees that may hold anything: a value of another shape is read as if it were missing."""

from collections.abc import Mapping
from typing import Any


def object_of(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the objects among the items of a list; none for any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def list_of(value: Any) -> list[Any]:
    """Return ``value`` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return ``value`` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def object_at(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object that a member holds; empty if the member is missing or holds something else."""
    return object_of(tree.get(name))


def text_at(tree: Mapping[str, Any], name: str) -> str:
    """Return the string that a member holds; empty if the member is missing or holds something else."""
    return text_of(tree.get(name))


def member_at(tree: Any, *path: str) -> Any:
    """Return the value at a path of member names; None if a step of the path is missing or not an object."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
