"""Access to parts of JSON documents of unknown shape. A value of another type than expected counts as missing."""

from collections.abc import Mapping
from typing import Any


def object_of(value: Any) -> dict[str, Any]:
    """Return ``value`` if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    """Return the items of a list that are objects. The result is empty if ``value`` is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def list_of(value: Any) -> list[Any]:
    """Return ``value`` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def string_of(value: Any) -> str:
    """Return ``value`` if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def number_of(value: Any) -> float | None:
    """Return the finite number that ``value`` is or contains as a string, else None. A boolean is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    # The comparison is also false for NaN.
    return number if abs(number) < float("inf") else None


def object_at(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object in member ``name``, or an empty object if the member is missing or has another type."""
    return object_of(tree.get(name))


def string_at(tree: Mapping[str, Any], name: str) -> str:
    """Return the string in member ``name``, or an empty string if the member is missing or has another type."""
    return string_of(tree.get(name))


def member_at(tree: Any, *path: str) -> Any:
    """Return the value at a path of member names, or None if a member on the path is missing or not an object."""
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
