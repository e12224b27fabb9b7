"""Sets of fields, in the form of FieldsV1: ``{"f:spec": {"f:title": {}}}`` holds ``.spec.title``.

What is empty within is a leaf. In a set that ``leaves`` or ``within`` made, a leaf is one atom of the tree it was made for; a leaf of
what ``changed`` answers stands for everything below it too.
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
    return json_equal(one.value, other.value)


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


FieldSet: TypeAlias = dict[str, Any]

NOTHING: FieldSet = {}


def leaves(node: Node) -> FieldSet:
    """All fields of a tree."""
    return {name: leaves(member) if isinstance(member, dict) else {} for name, member in node.items()} if isinstance(node, dict) else {}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """The fields of both; where one holds a whole and the other a part of it, the whole."""
    both = one | other
    for name in one.keys() & other.keys():
        both[name] = union(one[name], other[name]) if one[name] and other[name] else {}
    return both


def minus(one: FieldSet, other: FieldSet) -> FieldSet:
    """The fields of ``one`` that ``other`` says nothing of: neither of them, nor of what they lie in, nor of something below."""
    left: FieldSet = {}
    for name, below in one.items():
        if name not in other:
            left[name] = below
        elif below and other[name] and (rest := minus(below, other[name])):
            left[name] = rest
    return left


def common(one: FieldSet, other: FieldSet) -> FieldSet:
    """The leaves of both."""
    shared: FieldSet = {}
    for name in one.keys() & other.keys():
        if one[name] and other[name]:
            if below := common(one[name], other[name]):
                shared[name] = below
        elif one[name] == other[name]:
            shared[name] = {}
    return shared


def covered_by(fields: FieldSet, by: FieldSet) -> FieldSet:
    """The fields that lie at a leaf of ``by``, or below one."""
    found: FieldSet = {}
    for name in fields.keys() & by.keys():
        if not by[name]:
            found[name] = fields[name]
        elif below := covered_by(fields[name], by[name]):
            found[name] = below
    return found


def within(fields: FieldSet, node: Node) -> FieldSet:
    """What a set means in a tree: its leaves as the leaves that lie there, and nothing that is not there."""
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
    """Where two trees differ, each place as high as it is different as a whole. At the root both must be objects."""
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
    """Whether nodes without a difference in their members differ all the same."""
    if isinstance(old, Atom) and isinstance(new, Atom):
        return not is_equal(old, new)
    return isinstance(old, Atom) or isinstance(new, Atom)


def without(node: Node, fields: FieldSet) -> Node | None:
    """A tree without the leaves of a set; objects that lose all they had go too. None where nothing is left."""
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
    """The leaves as Kubernetes writes them: ``.spec.title``, ``.metadata.finalizers[="a"]``."""
    for name in sorted(fields):
        path = f"{prefix}[={name[2:]}]" if name.startswith("v:") else f"{prefix}.{name[2:]}"
        if fields[name]:
            yield from paths(fields[name], path)
        else:
            yield path
