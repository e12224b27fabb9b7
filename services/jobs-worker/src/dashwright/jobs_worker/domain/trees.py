"""Trees of JSON that may hold anything, read as far as they have the shape that is looked for."""

from collections.abc import Mapping
from typing import Any


def object_in(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty where there is none."""
    value = item.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(items: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; empty for what is no list."""
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
