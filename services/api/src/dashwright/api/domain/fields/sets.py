"""JSON trees opened into fields, and sets of fields as FieldsV1: ``{"f:spec": {"f:title": {}}}`` is ``.spec.title``.

Objects open into members (``f:title``) and lists that are sets into items (``v:"a"``). Everything else is an atom with one
owner: texts, numbers, other lists, empty values, and objects with a key that the database cannot store.

Empty members of a set are leaves. In a set of ``leaves`` or ``within`` a leaf is one atom; in a result of ``difference`` it
includes everything below it.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from dashwright.common.document import canonical, json_equal

Path: TypeAlias = tuple[str, ...]

_UNKEEPABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Atom:
    """A value that has one owner as a whole."""

    value: Any


Node: TypeAlias = Atom | dict[str, Any]
"""An atom, or nodes by their names in FieldsV1."""


def to_node(tree: Any, set_lists: Collection[Path] = ()) -> Node:
    """Return the node of a tree. ``set_lists`` are the paths of lists that are sets; one with duplicates is an atom."""
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
    """Return the tree of a node; the inverse of ``to_node``."""
    if isinstance(node, Atom):
        return node.value
    if is_set(node):
        return [to_tree(item) for item in node.values()]
    return {name[2:]: to_tree(member) for name, member in node.items()}


def is_set(node: dict[str, Any]) -> bool:
    """Return whether the node is a list that is a set."""
    return next(iter(node), "").startswith("v:")


def is_equal(one: Atom, other: Atom) -> bool:
    """Return whether both atoms hold the same JSON: ``1`` equals ``1.0``, but not ``true``."""
    return json_equal(one.value, other.value)


def is_empty_of(atom: Atom, node: dict[str, Any]) -> bool:
    """Return whether the atom is the node without members."""
    return bool(atom.value == ([] if is_set(node) else {}))


def merge(live: Node, config: Node) -> Node:
    """Return ``live`` with the values of ``config``. Members that ``config`` does not name are kept."""
    if isinstance(config, Atom):
        return live if isinstance(live, dict) and is_empty_of(config, live) else config
    if isinstance(live, Atom) or is_set(live) != is_set(config):
        return config
    return {**live, **{name: merge(live[name], member) if name in live else member for name, member in config.items()}}


FieldSet: TypeAlias = dict[str, Any]

NOTHING: FieldSet = {}


def leaves(node: Node) -> FieldSet:
    """Return all fields of a tree."""
    return {name: leaves(member) if isinstance(member, dict) else {} for name, member in node.items()} if isinstance(node, dict) else {}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of both sets. If one has a whole object and the other a part of it, the result has the whole."""
    both = one | other
    for name in one.keys() & other.keys():
        both[name] = union(one[name], other[name]) if one[name] and other[name] else {}
    return both


def minus(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the fields of ``one`` that are not related to ``other``: not equal to, inside or around any of its fields."""
    left: FieldSet = {}
    for name, below in one.items():
        if name not in other:
            left[name] = below
        elif below and other[name] and (rest := minus(below, other[name])):
            left[name] = rest
    return left


def common(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return the leaves that both sets have."""
    shared: FieldSet = {}
    for name in one.keys() & other.keys():
        if one[name] and other[name]:
            if below := common(one[name], other[name]):
                shared[name] = below
        elif one[name] == other[name]:
            shared[name] = {}
    return shared


def covered_by(fields: FieldSet, by: FieldSet) -> FieldSet:
    """Return the fields that are at or below a leaf of ``by``."""
    found: FieldSet = {}
    for name in fields.keys() & by.keys():
        if not by[name]:
            found[name] = fields[name]
        elif below := covered_by(fields[name], by[name]):
            found[name] = below
    return found


def within(fields: FieldSet, node: Node) -> FieldSet:
    """Return a set as it applies to a tree: its leaves become the leaves below them, and missing fields are dropped."""
    if isinstance(node, Atom):
        return {}
    found: FieldSet = {}
    for name in fields.keys() & node.keys():
        if not fields[name]:
            found[name] = leaves(node[name])
        elif below := within(fields[name], node[name]):
            found[name] = below
    return found


def difference(old: Node, new: Node) -> FieldSet:
    """Return the places where two trees differ, each at the highest level that differs as a whole. Both roots must be objects."""
    if isinstance(old, Atom):
        return dict.fromkeys(new, NOTHING) if isinstance(new, dict) and is_empty_of(old, new) else {}
    if isinstance(new, Atom):
        return dict.fromkeys(old, NOTHING) if is_empty_of(new, old) else {}
    places: FieldSet = {}
    for name in old.keys() | new.keys():
        if name not in old or name not in new:
            places[name] = {}
        elif below := difference(old[name], new[name]):
            places[name] = below
        elif _differ(old[name], new[name]):
            places[name] = {}
    return places


def _differ(old: Node, new: Node) -> bool:
    """Return whether two nodes differ although no members differ."""
    if isinstance(old, Atom) and isinstance(new, Atom):
        return not is_equal(old, new)
    return isinstance(old, Atom) or isinstance(new, Atom)


def without(node: Node, fields: FieldSet) -> Node | None:
    """Return a tree without the leaves of a set, or None if it is empty. Objects that lose all members are removed, too."""
    if not fields:
        return None
    if isinstance(node, Atom):
        return node
    kept: dict[str, Any] = {}
    for name, member in node.items():
        left = without(member, fields[name]) if name in fields else member
        if left is not None:
            kept[name] = left
    return kept or None


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yield the leaves as Kubernetes writes them: ``.spec.title``, ``.metadata.finalizers[="a"]``."""
    for name in sorted(fields):
        path = f"{prefix}[={name[2:]}]" if name.startswith("v:") else f"{prefix}.{name[2:]}"
        if fields[name]:
            yield from paths(fields[name], path)
        else:
            yield path
