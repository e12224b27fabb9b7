"""Owners of fields: ``metadata.managedFields`` after a write, and server-side apply."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import orjson

from dashwright.api.domain.fields import ownership
from dashwright.api.domain.fields.managers import ManagedFieldsEntry, is_same_ownership, managed_fields_json, parse_managed_fields
from dashwright.api.domain.fields.ownership import CHANGE_ANNOTATIONS, FINALIZERS, tracked_fields
from dashwright.api.domain.fields.sets import Path
from dashwright.api.resources import objects
from dashwright.api.resources.metadata import LAST_APPLIED_CONFIGURATION, manager_of
from dashwright.api.resources.objects import ApplyConfiguration
from dashwright.api.resources.writing.admission import Admission
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.common.errors import Invalid
from dashwright.common.json_documents import json_equal, read_json
from dashwright.common.kinds.conversion import is_placeholder
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject, Write

KUBECTL: Final = "kubectl"
"""The field manager of kubectl. Its apply takes over the fields that kubectl applied before it used server-side apply."""


def new_object(
    config: ApplyConfiguration, kind: Kind, namespace: str, version: str, name: str, field_manager: ownership.FieldManager
) -> DesiredObject:
    """Return the object that an apply creates."""
    result = ownership.apply(None, tracked_fields(config.tree), (), field_manager, set_lists(kind))
    metadata = {**(config.tree.get("metadata") or {}), "name": name, "managedFields": managed_fields_json(result.entries)}
    return replace(objects.read_new_object({**config.tree, "metadata": metadata}, kind, namespace, version), warnings=config.warnings)


def updated_object(
    config: ApplyConfiguration, version: str, field_manager: ownership.FieldManager, force: bool, current: StoredObject
) -> DesiredObject:
    """Return the desired object after an apply to the ``current`` one.

    Raises Conflict if other field managers own fields that would change, unless ``force``. Fields of objects that a repository
    manages are never in conflict, because their owners are not recorded.
    """
    kind = current.kind
    metadata: dict[str, Any] = orjson.loads(current.metadata)
    displayed_spec = kind.rendered(current.body, version).spec
    applied_fields = tracked_fields(config.tree)
    body = read_json(displayed_spec)
    if is_placeholder(body):
        # The API version shows a placeholder instead of this body. An apply changes the body, unless it sends the placeholder.
        if json_equal(applied_fields.get("spec"), body):
            del applied_fields["spec"]
        body = read_json(current.spec)
    result = ownership.apply(
        owned_tree(kind, metadata, body),
        applied_fields,
        parse_managed_fields(metadata.get("managedFields")),
        field_manager,
        set_lists(kind),
        force=force or manager_of(current) is not None,
        last_applied=_last_applied(metadata) if field_manager.name == KUBECTL else None,
    )
    metadata_members = result.tree.get("metadata", {})
    # Annotations about the change itself, such as its message, are not tracked, so the result of the apply lacks them.
    sent_annotations = (config.tree.get("metadata") or {}).get("annotations") or {}
    annotations = metadata_members.get("annotations", {}) | {
        key: value for key, value in sent_annotations.items() if key in CHANGE_ANNOTATIONS
    }
    tree = {
        "metadata": {**metadata_members, "annotations": annotations, "managedFields": managed_fields_json(result.entries)},
        "spec": result.tree.get("spec", {}),
        "secure": config.tree.get("secure"),
    }
    desired = objects.read_update(tree, kind, current.namespace, version, current.name).desired
    return replace(desired, warnings=config.warnings)


def _last_applied(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields that kubectl applied before it used server-side apply, or None."""
    source = metadata.get("annotations", {}).get(LAST_APPLIED_CONFIGURATION)
    try:
        tree = read_json(source) if source else None
    except Invalid:
        return None
    return tracked_fields(tree) if isinstance(tree, dict) else None


APPLY: Final = "Apply"
"""The operation of an apply in ``managedFields``."""


def managed_fields(
    desired: DesiredObject, admitted: Admission, context: WriteContext, timestamp: datetime, current: StoredObject | None = None
) -> Sequence[Mapping[str, Any]]:
    """Return ``managedFields`` after a write; the stored ones if the write does not change them. A create has no ``current``.

    The entries after an apply are already in ``desired``.
    """
    kind = desired.kind
    current_entries: list[dict[str, Any]] = [] if current is None else orjson.loads(current.metadata).get("managedFields", [])
    tree_after, set_list_paths = owned_tree(kind, _write_metadata(admitted.write), admitted.body), set_lists(kind)
    if context.operation == APPLY:
        entries = parse_managed_fields(desired.managed_fields)
    else:
        tree_before = {} if current is None else owned_tree(kind, orjson.loads(current.metadata), admitted.current_body)
        field_manager = ownership.FieldManager(context.field_manager, kind.api_version(desired.version), format_time(timestamp))
        entries_before = parse_managed_fields(current_entries, desired.managed_fields)
        entries = ownership.update(tree_before, tree_after, entries_before, field_manager, set_list_paths)
    new_entries: Sequence[ManagedFieldsEntry] = ownership.settle(entries, tree_after, set_list_paths)
    # Unchanged entries are returned as stored, so that a write without effect does not change the row.
    return current_entries if is_same_ownership(new_entries, parse_managed_fields(current_entries)) else managed_fields_json(new_entries)


def status_managed_fields(
    current: StoredObject, status: dict[str, Any], context: WriteContext, timestamp: datetime
) -> Sequence[Mapping[str, Any]]:
    """Return ``managedFields`` after a write of only the status."""
    current_entries: list[dict[str, Any]] = orjson.loads(current.metadata).get("managedFields", [])
    tree_before, tree_after = {"status": read_json(current.status or "{}")}, {"status": status}
    field_manager = ownership.FieldManager(context.field_manager, current.kind.api_version(), format_time(timestamp), context.subresource)
    entries = ownership.update(tree_before, tree_after, parse_managed_fields(current_entries), field_manager)
    return managed_fields_json(ownership.settle(entries, tree_after, subresource=context.subresource))


def format_time(timestamp: datetime) -> str:
    """Return a timestamp in the format of ``managedFields``."""
    return timestamp.strftime("%Y-%m-%dT%H:%M:%SZ")


def owned_tree(kind: Kind, metadata: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """Return the part of an object that managers own. Its spec is the stored body without hidden members, in the stored form."""
    tree = tracked_fields({"metadata": metadata, "spec": body})
    for path in kind.hidden_members:
        tree = _without_member(tree, path)
    return tree


def _without_member(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return a tree without the member at a path. The passed tree is not changed."""
    name, *names = path
    if not names:
        return {key: value for key, value in tree.items() if key != name}
    child = tree.get(name)
    return {**tree, name: _without_member(child, tuple(names))} if isinstance(child, dict) else tree


def set_lists(kind: Kind) -> tuple[Path, ...]:
    """Return the paths of lists whose items form a set, so that each item has its own owner."""
    return (FINALIZERS, *kind.set_lists)


def _write_metadata(write: Write) -> dict[str, Any]:
    """Return the metadata that a write stores, as far as field managers own it."""
    return {
        "labels": write.labels,
        "annotations": write.annotations,
        "finalizers": list(write.finalizers),
        "ownerReferences": list(write.owner_references),
    }
