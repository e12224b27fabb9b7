"""Paths in JSON trees, and copies of trees with another value at a path."""

from collections.abc import Iterator
from typing import Any

Path = tuple[int | str, ...]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of the tree, which is empty, and the paths of all its members and items."""
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths(item, (*path, key))


def replace_at(value: Any, path: Path, replacement: Any) -> Any:
    """Return a copy of the tree with a replacement at a path."""
    if not path:
        return replacement
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replace_at(value[path[0]], path[1:], replacement)
    return copy
