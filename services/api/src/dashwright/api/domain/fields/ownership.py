"""Fields and owners of an object after an update or an apply.

Trees are results of ``tracked_fields``. Entries of other sub-resources are kept unchanged, because their fields are elsewhere.
Results have to be passed to ``settle`` before they are stored or compared with stored entries.
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
    """The manager of a write."""

    manager: str
    #: Group and version of the object that was sent.
    version: str
    #: RFC 3339.
    now: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that an apply would change and another manager's entry owns."""

    owner: ManagedFieldsEntry
    path: str


class ApplyResult(NamedTuple):
    """The tree and the entries after an apply."""

    tree: Tree
    managers: tuple[ManagedFieldsEntry, ...]


def update(
    old: Tree, new: Tree, managers: Sequence[ManagedFieldsEntry], writer: FieldManager, set_lists: Collection[Path] = ()
) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries after a write other than an apply: changed fields belong to the writer alone.

    ``old`` is ``{}`` for a new object.
    """
    before, after = to_node(old, set_lists), to_node(new, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Update", writer.version, writer.now, {}, writer.subresource)
    ours, others, elsewhere = _partition(managers, own, before)
    places = difference(before, after)
    if not places:
        return (*elsewhere, *others, ours)
    gained = covered_by(leaves(after), places)
    own_entry = replace(own, fields=union(minus(ours.fields, places), gained))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return (*elsewhere, *lost, own_entry)


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
    """Return the tree after an apply, and its entries: every field in ``config`` belongs to the writer.

    Fields that the writer applied earlier are removed if ``config`` no longer has them and no other manager owns them. Without
    ``live`` there is no object yet. Raises Conflict if other managers own changed fields. With ``force``, or if all contested
    fields are as in ``yielded``, they lose them instead.
    """
    applied, before = to_node(config, set_lists), to_node(live or {}, set_lists)
    own = ManagedFieldsEntry(writer.manager, "Apply", writer.version, writer.now, {}, writer.subresource)
    # Fields from before the first apply get an owner, so that the apply does not remove them silently.
    if isinstance(before, dict) and not any(entry.subresource == writer.subresource for entry in managers):
        first = ManagedFieldsEntry(BEFORE_FIRST_APPLY, "Update", writer.version, writer.now, leaves(before), writer.subresource)
        managers = [*managers, first]
    ours, others, elsewhere = _partition(managers, own, before)
    joined = merge(before, applied)
    places = difference(before, joined)
    contested = [FieldConflict(entry, path) for entry in others for path in paths(covered_by(entry.fields, places))]
    if contested and not force and not _all_yielded(contested, to_node(yielded or {}, set_lists), before):
        raise conflict_error(contested)
    kept = common(leaves(applied), leaves(joined))
    # Applied before and missing now: removed, unless another manager owns it, too.
    removed = minus(ours.fields, kept)
    for entry in others:
        removed = minus(removed, entry.fields)
    after = merge(without(before, removed) or Atom({}), applied) if removed else joined
    own_entry = replace(own, fields=common(leaves(applied), leaves(after)))
    if own_entry.fields == ours.fields and not places and not removed:
        return ApplyResult(to_tree(after), (*elsewhere, *others, ours))
    lost = [replace(entry, fields=minus(entry.fields, places)) for entry in others]
    return ApplyResult(to_tree(after), (*elsewhere, *lost, own_entry))


def settle(
    managers: Sequence[ManagedFieldsEntry], tree: Tree, set_lists: Collection[Path] = (), subresource: str = ""
) -> tuple[ManagedFieldsEntry, ...]:
    """Return entries as they are stored with a tree: without fields that the model dropped, and within the limits. Raises TooLarge."""
    found = leaves(to_node(tree, set_lists))
    here = [replace(entry, fields=common(entry.fields, found)) for entry in managers if entry.subresource == subresource]
    return bound([*(entry for entry in managers if entry.subresource != subresource), *here])


def _partition(
    managers: Sequence[ManagedFieldsEntry], own: ManagedFieldsEntry, before: Node
) -> tuple[ManagedFieldsEntry, list[ManagedFieldsEntry], list[ManagedFieldsEntry]]:
    """Return the writer's entry, the others of its sub-resource, and those of other sub-resources."""
    elsewhere = [entry for entry in managers if entry.subresource != own.subresource]
    here = [replace(entry, fields=within(entry.fields, before)) for entry in managers if entry.subresource == own.subresource]
    ours = next((entry for entry in here if entry.is_of(own)), own)
    others = sorted((entry for entry in here if not entry.is_of(own)), key=lambda entry: (entry.manager, entry.operation))
    return ours, others, elsewhere


def _all_yielded(contested: Sequence[FieldConflict], yielded: Node, live: Node) -> bool:
    """Return whether each contested field is still as in ``yielded``."""
    given = set(paths(minus(leaves(yielded), difference(yielded, live))))
    return all(each.path in given for each in contested)


_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
CONSUMED = frozenset({MESSAGE, GRANT_PERMISSIONS})
"""Annotations that describe a change instead of the object."""

_UNOWNED = {"annotations": SET_BY_STORE | CONSUMED, "labels": frozenset({NUMBER_LABEL})}

FINALIZERS = ("metadata", "finalizers")


def tracked_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"metadata": …, "spec": …}`` of an object: the members that managers can own."""
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
    """Return the error of an apply without ``force``, in the words of Kubernetes, which its clients parse. It has one cause per field."""
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
    text = orjson.dumps(owner.manager).decode()
    if owner.subresource:
        text += f" with subresource {orjson.dumps(owner.subresource).decode()}"
    if owner.operation == "Update":
        text += f" using {owner.version}"
        text += f" at {owner.time}" if owner.time else ""
    return text
