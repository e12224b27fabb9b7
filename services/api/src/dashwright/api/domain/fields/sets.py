"""Trees of fields, and sets of fields as FieldsV1: ``{"f:spec": {"f:title": {}}}`` is ``.spec.title``.

In a tree, an object has its members as children (``f:title``), and a list that is a set has its items (``v:"a"``). Every other
value is an atom with one owner: strings, numbers, other lists, empty values, and objects with a key that the database cannot store.

In a set of fields, an empty value is a leaf. In a result of ``leaves`` or ``expand`` a leaf is one atom; in a result of
``changed_fields`` a leaf includes everything below it.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from dashwright.common.json_documents import canonical_json, json_equal

Path: TypeAlias = tuple[str, ...]
"""The names of members from the root of an object to a field."""

_PREFIX_LENGTH = len("f:")
"""Characters of the prefixes ``f:`` and ``v:``."""

_UNSTORABLE_CHARACTERS = re.compile("[\0\ud800-\udfff]")
"""Characters that PostgreSQL cannot store: NUL, and surrogates that are not part of a pair."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A value that has a single owner, even if it has members."""

    value: Any


Node: TypeAlias = Atom | dict[str, Any]
"""An atom, or child nodes by their names in FieldsV1."""


def to_node(tree: Any, set_lists: Collection[Path] = ()) -> Node:
    """Return the node of a JSON tree. ``set_lists`` are the paths of lists that are sets; such a list with duplicates is an atom."""
    if isinstance(tree, dict):
        if not tree or _UNSTORABLE_CHARACTERS.search("".join(tree)):
            return Atom(tree)
        if not set_lists:  # A shorter way for most objects, whose lists are all atoms.
            return {f"f:{key}": to_node(value) if type(value) is dict else Atom(value) for key, value in tree.items()}
        return {f"f:{key}": to_node(value, [path[1:] for path in set_lists if path[:1] == (key,)]) for key, value in tree.items()}
    if isinstance(tree, list) and tree and () in set_lists:
        items = {f"v:{canonical_json(item).decode()}": Atom(item) for item in tree}
        return items if len(items) == len(tree) else Atom(tree)
    return Atom(tree)


def to_tree(node: Node) -> Any:
    """Return the JSON tree of a node. This is the inverse of ``to_node``."""
    if isinstance(node, Atom):
        return node.value
    if is_set(node):
        return [to_tree(item) for item in node.values()]
    return {name[_PREFIX_LENGTH:]: to_tree(member) for name, member in node.items()}


def is_set(node: dict[str, Any]) -> bool:
    """Return whether the node is a list that is a set."""
    return next(iter(node), "").startswith("v:")


def is_equal(first: Atom, second: Atom) -> bool:
    """Return whether both atoms have the same JSON value: ``1`` equals ``1.0``, but not ``true``."""
    return json_equal(first.value, second.value)


def is_emptied(atom: Atom, node: dict[str, Any]) -> bool:
    """Return whether the atom is the empty list or object that remains if all children of the node are removed."""
    return bool(atom.value == ([] if is_set(node) else {}))


def merge(live: Node, config: Node) -> Node:
    """Return ``live`` with the values of ``config``. Members that are only in ``live`` are kept."""
    if isinstance(config, Atom):
        # An empty value does not remove children. An apply removes them one by one, if only its manager owns them.
        return live if isinstance(live, dict) and is_emptied(config, live) else config
    if isinstance(live, Atom) or is_set(live) != is_set(config):
        return config
    return {**live, **{name: merge(live[name], member) if name in live else member for name, member in config.items()}}


FieldSet: TypeAlias = dict[str, Any]
"""A set of fields: sets of child fields by their names in FieldsV1. An empty set is a leaf."""

NO_FIELDS: FieldSet = {}


def leaves(node: Node) -> FieldSet:
    """Return all fields of a node. Each leaf is one atom."""
    return {name: leaves(member) if isinstance(member, dict) else {} for name, member in node.items()} if isinstance(node, dict) else {}


def union(first: FieldSet, second: FieldSet) -> FieldSet:
    """Return the fields of both sets. If one set has an object and the other has members of it, the result has the object."""
    result = first | second
    for name in first.keys() & second.keys():
        result[name] = union(first[name], second[name]) if first[name] and second[name] else {}
    return result


def subtract(first: FieldSet, second: FieldSet) -> FieldSet:
    """Return ``first`` without the fields of ``second``, and without fields that contain, or are contained in, a field of ``second``."""
    result: FieldSet = {}
    for name, children in first.items():
        if name not in second:
            result[name] = children
        elif children and second[name] and (remaining_children := subtract(children, second[name])):
            result[name] = remaining_children
    return result


def intersection(first: FieldSet, second: FieldSet) -> FieldSet:
    """Return the leaves that are in both sets."""
    result: FieldSet = {}
    for name in first.keys() & second.keys():
        if first[name] and second[name]:
            if children := intersection(first[name], second[name]):
                result[name] = children
        # At least one of them is a leaf here, so they are equal only if both are leaves.
        elif first[name] == second[name]:
            result[name] = {}
    return result


def covered_by(fields: FieldSet, cover: FieldSet) -> FieldSet:
    """Return the part of ``fields`` that is equal to or below a leaf of ``cover``."""
    result: FieldSet = {}
    for name in fields.keys() & cover.keys():
        if not cover[name]:
            result[name] = fields[name]
        elif children := covered_by(fields[name], cover[name]):
            result[name] = children
    return result


def expand(fields: FieldSet, node: Node) -> FieldSet:
    """Return ``fields`` with each leaf replaced by the leaves of ``node`` below it. Fields that are missing in ``node`` are left out."""
    if isinstance(node, Atom):
        return {}
    result: FieldSet = {}
    for name in fields.keys() & node.keys():
        if not fields[name]:
            result[name] = leaves(node[name])
        elif children := expand(fields[name], node[name]):
            result[name] = children
    return result


def changed_fields(old: Node, new: Node) -> FieldSet:
    """Return the fields in which two trees differ. An added or removed field is a leaf, without its children. Both roots are objects."""
    # Between an empty value and a value with children, only the children differ. Other atoms are compared by ``_differ``.
    if isinstance(old, Atom):
        return dict.fromkeys(new, NO_FIELDS) if isinstance(new, dict) and is_emptied(old, new) else {}
    if isinstance(new, Atom):
        return dict.fromkeys(old, NO_FIELDS) if is_emptied(new, old) else {}
    changes: FieldSet = {}
    for name in old.keys() | new.keys():
        if name not in old or name not in new:
            changes[name] = {}
        elif children := changed_fields(old[name], new[name]):
            changes[name] = children
        elif _differ(old[name], new[name]):
            changes[name] = {}
    return changes


def _differ(old: Node, new: Node) -> bool:
    """Return whether two nodes differ themselves, not only in their children: in their values, or because one of them is an atom."""
    if isinstance(old, Atom) and isinstance(new, Atom):
        return not is_equal(old, new)
    return isinstance(old, Atom) or isinstance(new, Atom)


def remove_fields(node: Node, fields: FieldSet) -> Node | None:
    """Return a node without the fields of a set, or None if nothing remains. Objects that lose all members are removed, too."""
    # The empty set is a leaf, which includes everything below it.
    if not fields:
        return None
    if isinstance(node, Atom):
        return node
    remaining_members: dict[str, Any] = {}
    for name, member in node.items():
        remaining_member = remove_fields(member, fields[name]) if name in fields else member
        if remaining_member is not None:
            remaining_members[name] = remaining_member
    return remaining_members or None


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yield the leaves as paths in the notation of Kubernetes: ``.spec.title``, ``.metadata.finalizers[="a"]``."""
    for name in sorted(fields):
        plain_name = name[_PREFIX_LENGTH:]
        path = f"{prefix}[={plain_name}]" if name.startswith("v:") else f"{prefix}.{plain_name}"
        if fields[name]:
            yield from paths(fields[name], path)
        else:
            yield path
