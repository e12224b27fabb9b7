"""What an update and an apply make of an object's fields and of those who own them.

Trees are what ``tracked`` answers. Entries of other sub-resources than the writer's own are handed through: what they own lies
elsewhere. What comes out is to be ``settled`` before it is stored or compared with what is.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from dashwright.api.domain.fields.managers import BEFORE_FIRST_APPLY, ManagedFieldsEntry, bound
from dashwright.api.domain.fields.sets import (
    Atom,
    Node,
    Path,
    common,
    covered_by,
    difference,
    leaves,
    merge,
    minus,
    paths,
    to_node,
    to_tree,
    union,
    within,
    without,
)
from dashwright.common.errors import Cause, Conflict
from dashwright.common.kinds.annotations import GRANT_PERMISSIONS, MESSAGE, NUMBER_LABEL, SET_BY_STORE

Tree = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FieldManager:
    """Who writes: manager, group and version of the object that was sent, the time as RFC 3339."""

    manager: str
    version: str
    now: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that an apply would change and that an entry of somebody else owns."""

    owner: ManagedFieldsEntry
    path: str


class ApplyResult(NamedTuple):
    tree: Tree
    managers: tuple[ManagedFieldsEntry, ...]


def update(
    old: Tree, new: Tree, managers: Sequence[ManagedFieldsEntry], writer: FieldManager, set_lists: Collection[Path] = ()
) -> tuple[ManagedFieldsEntry, ...]:
    """The entries after a write other than an apply: what it changed is the writer's, and nobody else's any longer.

    ``old`` is ``{}`` for an object that is new.
    """
    before, after = to_node(old, set_lists), to_node(new, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Update", writer.version, writer.now, {}, writer.subresource)
    ours, others, elsewhere = _partition(managers, own, before)
    places = difference(before, after)
    if not places:
        return (*elsewhere, *others, ours)
    gained = covered_by(leaves(after), places)
    mine = replace(own, fields=union(minus(ours.fields, places), gained))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return (*elsewhere, *lost, mine)


def apply(
    live: Tree | None,
    config: Tree,
    managers: Sequence[ManagedFieldsEntry],
    writer: FieldManager,
    set_lists: Collection[Path] = (),
    *,
    force: bool = False,
    yielded: Tree | None = None,
) -> ApplyResult:
    """The tree in which ``config`` holds, and the entries then: all that ``config`` names is the writer's.

    What the writer applied before, names no more and nobody else owns is removed. ``live`` is None where there is no object yet. Raises
    Conflict where others own what would change; with ``force`` they lose it, as they do where all of it still is as ``yielded`` has it.
    """
    wanted, before = to_node(config, set_lists), to_node(live or {}, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Apply", writer.version, writer.now, {}, writer.subresource)
    if isinstance(before, dict) and not any(entry.subresource == writer.subresource for entry in managers):
        first = ManagedFieldsEntry(BEFORE_FIRST_APPLY, "Update", writer.version, writer.now, leaves(before), writer.subresource)
        managers = [*managers, first]
    ours, others, elsewhere = _partition(managers, own, before)
    joined = merge(before, wanted)
    places = difference(before, joined)
    contested = [FieldConflict(entry, path) for entry in others for path in paths(covered_by(entry.fields, places))]
    if contested and not force and not _all_yielded(contested, to_node(yielded or {}, set_lists), before):
        raise conflict_error(contested)
    kept = common(leaves(wanted), leaves(joined))
    gone = minus(ours.fields, kept)
    for entry in others:
        gone = minus(gone, entry.fields)
    after = merge(without(before, gone) or Atom({}), wanted) if gone else joined
    mine = replace(own, fields=common(leaves(wanted), leaves(after)))
    if mine.fields == ours.fields and not places and not gone:
        return ApplyResult(to_tree(after), (*elsewhere, *others, ours))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return ApplyResult(to_tree(after), (*elsewhere, *lost, mine))


def settle(
    managers: Sequence[ManagedFieldsEntry], tree: Tree, set_lists: Collection[Path] = (), subresource: str = ""
) -> tuple[ManagedFieldsEntry, ...]:
    """What ``update`` or ``apply`` made, as it is stored with a tree: without the fields that its model dropped, and within bounds.

    Raises TooLarge where there is no room for all of them.
    """
    found = leaves(to_node(tree, set_lists))
    here = [replace(entry, fields=common(entry.fields, found)) for entry in managers if entry.subresource == subresource]
    return bound([*(entry for entry in managers if entry.subresource != subresource), *here])


def _partition(
    managers: Sequence[ManagedFieldsEntry], own: ManagedFieldsEntry, before: Node
) -> tuple[ManagedFieldsEntry, list[ManagedFieldsEntry], list[ManagedFieldsEntry]]:
    """The writer's own entry, those it shares the tree with, and the rest."""
    elsewhere = [entry for entry in managers if entry.subresource != own.subresource]
    here = [replace(entry, fields=within(entry.fields, before)) for entry in managers if entry.subresource == own.subresource]
    ours = next((entry for entry in here if entry.is_of(own)), own)
    others = sorted((entry for entry in here if not entry.is_of(own)), key=lambda entry: (entry.manager, entry.operation))
    return ours, others, elsewhere


def _all_yielded(contested: Sequence[FieldConflict], yielded: Node, live: Node) -> bool:
    """Whether each of the fields still is as ``yielded`` has it."""
    given = set(paths(minus(leaves(yielded), difference(yielded, live))))
    return all(each.path in given for each in contested)


_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
CONSUMED = frozenset({MESSAGE, GRANT_PERMISSIONS})
"""Annotations that tell of the change, and not of the object."""

_UNOWNED = {"annotations": SET_BY_STORE | CONSUMED, "labels": frozenset({NUMBER_LABEL})}

FINALIZERS = ("metadata", "finalizers")


def tracked_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """``{"metadata": …, "spec": …}`` of an object: what a manager of fields may own of it."""
    metadata = value.get("metadata")
    owned = {field: _owned_part(field, metadata.get(field)) for field in _METADATA} if isinstance(metadata, Mapping) else {}
    kept = {field: value for field, value in owned.items() if value}
    tree: dict[str, Any] = {"metadata": kept} if kept else {}
    if "spec" in value:
        tree["spec"] = value["spec"]
    return tree


def _owned_part(field: str, value: Any) -> Any:
    unowned = _UNOWNED.get(field)
    return {key: text for key, text in value.items() if key not in unowned} if unowned and isinstance(value, Mapping) else value


def conflict_error(contested: Sequence[FieldConflict]) -> Conflict:
    """The error of an apply without ``force``; one cause a field."""
    causes = [Cause(each.path, "FieldManagerConflict", f"conflict with {_owner_text(each.owner)}") for each in contested]
    if len(contested) == 1:
        return Conflict(f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}", causes=causes)
    lines: list[str] = []
    owner: ManagedFieldsEntry | None = None
    for each in contested:
        if each.owner is not owner:
            owner = each.owner
            lines.append(f"conflicts with {_owner_text(owner)}:")
        lines.append(f"- {each.path}")
    return Conflict(f"Apply failed with {len(contested)} conflicts: " + "\n".join(lines), causes=causes)


def _owner_text(owner: ManagedFieldsEntry) -> str:
    told = orjson.dumps(owner.manager).decode()
    if owner.subresource:
        told += f" with subresource {orjson.dumps(owner.subresource).decode()}"
    if owner.operation == "Update":
        told += f" using {owner.version}"
        told += f" at {owner.time}" if owner.time else ""
    return told
