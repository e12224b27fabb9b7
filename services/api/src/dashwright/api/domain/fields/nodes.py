"""A JSON tree opened into fields that can be owned one by one.

Objects open into their members (``f:title``) and lists that are sets into their items (``v:"a"``), as FieldsV1 names them. All else is
an atom and owned whole: texts, numbers, other lists, what is empty, and objects with a key that the database cannot hold.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

from dashwright.common.document import canonical, same

Path: TypeAlias = tuple[str, ...]

_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Atom:
    value: Any


Node: TypeAlias = Atom | dict[str, Any]
"""An atom, or nodes by their names in FieldsV1."""


def to_node(tree: Any, set_lists: Collection[Path] = ()) -> Node:
    """``set_lists`` are the paths of lists whose items are a set; one that holds an item twice is an atom."""
    if isinstance(tree, dict):
        if not tree or _UNKEEPABLE.search("".join(tree)):
            return Atom(tree)
        if not set_lists:
            return {f"f:{key}": to_node(value) if type(value) is dict else Atom(value) for key, value in tree.items()}
        return {f"f:{key}": to_node(value, [path[1:] for path in set_lists if path[:1] == (key,)]) for key, value in tree.items()}
    if isinstance(tree, list) and tree and () in set_lists:
        items = {f"v:{canonical(item).decode()}": Atom(item) for item in tree}
        return items if len(items) == len(tree) else Atom(tree)
    return Atom(tree)


def to_tree(node: Node) -> Any:
    """The tree of a node: what ``opened`` was given."""
    if isinstance(node, Atom):
        return node.value
    if is_set(node):
        return [to_tree(item) for item in node.values()]
    return {name[2:]: to_tree(member) for name, member in node.items()}


def is_set(node: dict[str, Any]) -> bool:
    return next(iter(node), "").startswith("v:")


def is_equal(one: Atom, other: Atom) -> bool:
    """Whether they hold the same JSON: ``1`` is ``1.0``, but not ``true``."""
    return same(one.value, other.value)


def is_empty_of(atom: Atom, node: dict[str, Any]) -> bool:
    """Whether the atom is what the node would be without members."""
    return bool(atom.value == ([] if is_set(node) else {}))


def merge(live: Node, config: Node) -> Node:
    """``live`` with what ``config`` says; members that it does not name stay."""
    if isinstance(config, Atom):
        return live if isinstance(live, dict) and is_empty_of(config, live) else config
    if isinstance(live, Atom) or is_set(live) != is_set(config):
        return config
    return {**live, **{name: merge(live[name], member) if name in live else member for name, member in config.items()}}
