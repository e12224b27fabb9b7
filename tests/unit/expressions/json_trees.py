"""Paths in JSON trees, and copies of trees with another value at a path."""

from collections.abc import Iterable, Iterator
from typing import Any

Path = tuple[int | str, ...]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path of the tree, which is empty, and the paths of all its members and items."""
    yield path
    children: Iterable[tuple[int | str, Any]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, item in children:
        yield from paths(item, (*path, key))


def replace_at(value: Any, path: Path, replacement: Any) -> Any:
    """Return a copy of the tree with a replacement at a path."""
    if not path:
        return replacement
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replace_at(value[path[0]], path[1:], replacement)
    return copy
