"""Fields and owners of an object after an update or an apply.

Trees are results of ``tracked_fields``. Entries of other subresources are returned unchanged, because a write does not reach
their fields. Pass the resulting entries to ``settle`` before you store them or compare them with stored entries.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from dashwright.api.domain.fields.managers import BEFORE_FIRST_APPLY, ManagedFieldsEntry, limit_entries
from dashwright.api.domain.fields.sets import (
    Atom,
    FieldSet,
    Node,
    Path,
    changed_fields,
    covered_by,
    expand,
    intersection,
    leaves,
    merge,
    paths,
    remove_fields,
    subtract,
    to_node,
    to_tree,
    union,
)
from dashwright.common.errors import Cause, Conflict
from dashwright.common.kinds.annotations import CLASSIC_ID_LABEL, GRANT_PERMISSIONS, MESSAGE, SET_BY_STORE

Tree = dict[str, Any]
"""The tracked fields of an object: a JSON object with ``metadata`` and ``spec``."""


@dataclass(frozen=True, slots=True)
class FieldManager:
    """The program that sent a write, as field manager."""

    name: str
    #: Group and version of the object that was sent.
    version: str
    #: The time of the write in RFC 3339.
    time: str
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that an apply would change and that another manager's entry owns."""

    owner: ManagedFieldsEntry
    path: str


class ApplyResult(NamedTuple):
    """The object's tree and its entries after an apply."""

    tree: Tree
    entries: tuple[ManagedFieldsEntry, ...]


class _Partition(NamedTuple):
    """The entries before a write. Fields of the subresource that is written are expanded to leaves."""

    #: The entry of the field manager that writes; without fields if it is new.
    previous_entry: ManagedFieldsEntry
    #: Entries of other managers of the same subresource.
    other_entries: list[ManagedFieldsEntry]
    #: Entries of other subresources, which the write does not change.
    unrelated: list[ManagedFieldsEntry]


def update(
    old: Tree, new: Tree, entries: Sequence[ManagedFieldsEntry], field_manager: FieldManager, set_lists: Collection[Path] = ()
) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries after a write other than an apply: changed fields belong to the field manager alone.

    ``old`` is ``{}`` for a new object.
    """
    before, after = to_node(old, set_lists), to_node(new, set_lists)
    new_entry = ManagedFieldsEntry(field_manager.name, "Update", field_manager.version, field_manager.time, {}, field_manager.subresource)
    previous_entry, other_entries, unrelated = _partition(entries, new_entry, before)
    changes = changed_fields(before, after)
    if not changes:
        return (*unrelated, *other_entries, previous_entry)
    # ``changes`` also has removed fields, and added objects without their members: the field manager owns the leaves that exist.
    gained_fields = covered_by(leaves(after), changes)
    own_entry = replace(new_entry, fields=union(subtract(previous_entry.fields, changes), gained_fields))
    return (*unrelated, *_without_fields(other_entries, changes), own_entry)


def apply(
    live: Tree | None,
    config: Tree,
    entries: Sequence[ManagedFieldsEntry],
    field_manager: FieldManager,
    set_lists: Collection[Path] = (),
    *,
    force: bool = False,
    last_applied: Tree | None = None,
) -> ApplyResult:
    """Return the tree after an apply, and its entries: every field in ``config`` belongs to the field manager.

    A new object has no ``live`` tree. Fields that the field manager applied earlier are removed if ``config`` no longer has them and no
    other manager owns them. Raises Conflict if other managers own changed fields. With ``force``, the other managers lose these
    fields instead. They also lose them if ``last_applied``, the last configuration that the field manager applied, has the same values as
    ``live`` in all fields in conflict.
    """
    config_node, live_node = to_node(config, set_lists), to_node(live or {}, set_lists)
    new_entry = ManagedFieldsEntry(field_manager.name, "Apply", field_manager.version, field_manager.time, {}, field_manager.subresource)
    # Fields from before the first apply get an owner, so that the apply does not remove them silently.
    if isinstance(live_node, dict) and not any(entry.subresource == field_manager.subresource for entry in entries):
        first_entry = ManagedFieldsEntry(
            BEFORE_FIRST_APPLY, "Update", field_manager.version, field_manager.time, leaves(live_node), field_manager.subresource
        )
        entries = [*entries, first_entry]
    previous_entry, other_entries, unrelated = _partition(entries, new_entry, live_node)
    merged = merge(live_node, config_node)
    changes = changed_fields(live_node, merged)
    conflicts = [FieldConflict(entry, path) for entry in other_entries for path in paths(covered_by(entry.fields, changes))]
    if conflicts and not force and not _have_equal_values(conflicts, to_node(last_applied or {}, set_lists), live_node):
        raise conflict_error(conflicts)
    # Fields that the field manager applied before and does not apply now are removed, unless another manager owns them.
    # The intersection has no empty value in ``config`` where ``live`` has children: ``merge`` keeps the children instead.
    removed_fields = subtract(previous_entry.fields, intersection(leaves(config_node), leaves(merged)))
    for entry in other_entries:
        removed_fields = subtract(removed_fields, entry.fields)
    after = merge(remove_fields(live_node, removed_fields) or Atom({}), config_node) if removed_fields else merged
    own_entry = replace(new_entry, fields=intersection(leaves(config_node), leaves(after)))
    if own_entry.fields == previous_entry.fields and not changes and not removed_fields:
        return ApplyResult(to_tree(after), (*unrelated, *other_entries, previous_entry))
    return ApplyResult(to_tree(after), (*unrelated, *_without_fields(other_entries, changes), own_entry))


def settle(
    entries: Sequence[ManagedFieldsEntry], tree: Tree, set_lists: Collection[Path] = (), subresource: str = ""
) -> tuple[ManagedFieldsEntry, ...]:
    """Return entries as they are stored with a tree: without fields that the tree lacks, and within the limits. Raises TooLarge."""
    existing_fields = leaves(to_node(tree, set_lists))
    unrelated = [entry for entry in entries if entry.subresource != subresource]
    related = [replace(entry, fields=intersection(entry.fields, existing_fields)) for entry in entries if entry.subresource == subresource]
    return limit_entries([*unrelated, *related])


def _partition(entries: Sequence[ManagedFieldsEntry], new_entry: ManagedFieldsEntry, before: Node) -> _Partition:
    """Return the entry with the manager, operation and subresource of ``new_entry``, and the other entries."""
    unrelated = [entry for entry in entries if entry.subresource != new_entry.subresource]
    related = [replace(entry, fields=expand(entry.fields, before)) for entry in entries if entry.subresource == new_entry.subresource]
    previous_entry = next((entry for entry in related if entry.has_same_writer(new_entry)), new_entry)
    other_entries = [entry for entry in related if not entry.has_same_writer(new_entry)]
    return _Partition(previous_entry, sorted(other_entries, key=lambda entry: (entry.manager, entry.operation)), unrelated)


def _without_fields(entries: Sequence[ManagedFieldsEntry], fields: FieldSet) -> list[ManagedFieldsEntry]:
    """Return the entries without ownership of these fields."""
    return [replace(entry, fields=subtract(entry.fields, fields)) for entry in entries]


def _have_equal_values(conflicts: Sequence[FieldConflict], last_applied: Node, live: Node) -> bool:
    """Return whether each field in conflict has the same value in both nodes."""
    equal_paths = set(paths(subtract(leaves(last_applied), changed_fields(last_applied, live))))
    return all(conflict.path in equal_paths for conflict in conflicts)


_OWNED_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
"""Members of the metadata whose fields have owners. The server sets all others."""
CHANGE_ANNOTATIONS = frozenset({MESSAGE, GRANT_PERMISSIONS})
"""Annotations that describe a change instead of the object."""

_UNOWNED_KEYS = {"annotations": SET_BY_STORE | CHANGE_ANNOTATIONS, "labels": frozenset({CLASSIC_ID_LABEL})}
"""Annotations and labels without owners."""

FINALIZERS = ("metadata", "finalizers")
"""The path of the finalizers, a list that is a set: each finalizer has its own owner."""


def tracked_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``{"metadata": …, "spec": …}`` of an object: the members that managers can own."""
    metadata = value.get("metadata")
    tree: dict[str, Any] = {}
    if isinstance(metadata, Mapping):
        members = {field: _without_unowned_keys(field, metadata.get(field)) for field in _OWNED_METADATA}
        if non_empty_members := {field: member for field, member in members.items() if member}:
            tree["metadata"] = non_empty_members
    if "spec" in value:
        tree["spec"] = value["spec"]
    return tree


def _without_unowned_keys(field: str, value: Any) -> Any:
    """Return a member of the metadata without the keys that have no owners."""
    unowned_keys = _UNOWNED_KEYS.get(field)
    if not unowned_keys or not isinstance(value, Mapping):
        return value
    return {key: item for key, item in value.items() if key not in unowned_keys}


def conflict_error(conflicts: Sequence[FieldConflict]) -> Conflict:
    """Return the error of an apply without ``force``, with one cause for each field. Clients parse its messages, as in Kubernetes."""
    causes = [Cause(conflict.path, "FieldManagerConflict", f"conflict with {_owner_description(conflict.owner)}") for conflict in conflicts]
    if len(conflicts) == 1:
        return Conflict(f"Apply failed with 1 conflict: {causes[0].message}: {causes[0].field}", causes=causes)
    lines: list[str] = []
    owner: ManagedFieldsEntry | None = None
    for conflict in conflicts:
        if conflict.owner is not owner:
            owner = conflict.owner
            lines.append(f"conflicts with {_owner_description(owner)}:")
        lines.append(f"- {conflict.path}")
    return Conflict(f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines), causes=causes)


def _owner_description(owner: ManagedFieldsEntry) -> str:
    """Return the owner of a field in the wording of Kubernetes, such as ``"kubectl" using v1``."""
    description = orjson.dumps(owner.manager).decode()
    if owner.subresource:
        description += f" with subresource {orjson.dumps(owner.subresource).decode()}"
    if owner.operation == "Update":
        description += f" using {owner.version}"
        description += f" at {owner.time}" if owner.time else ""
    return description
