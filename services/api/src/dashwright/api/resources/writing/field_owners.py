"""Owners of fields: ``metadata.managedFields`` after a write, and server-side apply."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import orjson

from dashwright.api.domain.fields import ownership
from dashwright.api.domain.fields.managers import ManagedFieldsEntry, is_same_ownership, managed_fields_json, managers_of
from dashwright.api.domain.fields.ownership import CONSUMED, FINALIZERS, tracked_fields
from dashwright.api.domain.fields.sets import Path
from dashwright.api.resources import objects
from dashwright.api.resources.metadata import manager_of
from dashwright.api.resources.objects import ApplyConfiguration
from dashwright.api.resources.writing.admission import Admission
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.common.document import json_equal, read_json
from dashwright.common.errors import Invalid
from dashwright.common.kinds import rendering
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import StoredObject, Write

KUBECTL: Final = "kubectl"
"""The manager that takes over the fields that the same program applied by other means before."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def new_object(
    config: ApplyConfiguration, kind: Kind, namespace: str, version: str, name: str, writer: ownership.FieldManager
) -> DesiredObject:
    """Return the object that an apply creates."""
    done = ownership.apply(None, tracked_fields(config.tree), (), writer, set_lists(kind))
    metadata = {**(config.tree.get("metadata") or {}), "name": name, "managedFields": managed_fields_json(done.managers)}
    return replace(objects.read_new({**config.tree, "metadata": metadata}, kind, namespace, version), warnings=config.warnings)


def updated_object(
    config: ApplyConfiguration, version: str, writer: ownership.FieldManager, force: bool, stored: StoredObject
) -> DesiredObject:
    """Return the stored object after an apply. Raises Conflict if other managers own fields that would change.

    Objects that a repository manages have no owners of fields, so nothing is contested there.
    """
    kind = stored.kind
    metadata: dict[str, Any] = orjson.loads(stored.metadata)
    shown = rendering.render(kind, stored.body, version).spec
    sent = tracked_fields(config.tree)
    body = read_json(shown)
    if stored.layout and shown != stored.spec:
        # The version shows a stub in place of this body. An apply changes the body; a stub that is sent back unchanged does not.
        if json_equal(sent.get("spec"), body):
            del sent["spec"]
        body = read_json(stored.spec)
    done = ownership.apply(
        tree_of(metadata, body),
        sent,
        managers_of(metadata.get("managedFields")),
        writer,
        set_lists(kind),
        force=force or manager_of(stored) is not None,
        yielded=_last_applied(metadata) if writer.manager == KUBECTL else None,
    )
    owned = done.tree.get("metadata", {})
    sent_annotations = (config.tree.get("metadata") or {}).get("annotations") or {}
    annotations = owned.get("annotations", {}) | {key: text for key, text in sent_annotations.items() if key in CONSUMED}
    tree = {
        "metadata": {**owned, "annotations": annotations, "managedFields": managed_fields_json(done.managers)},
        "spec": done.tree.get("spec", {}),
        "secure": config.tree.get("secure"),
    }
    desired = objects.read_update(tree, kind, stored.namespace, version, stored.name).desired
    return replace(desired, warnings=config.warnings)


def _last_applied(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """Return the configuration that kubectl applied before it used server-side apply."""
    text = metadata.get("annotations", {}).get(_LAST_APPLIED)
    try:
        tree = read_json(text) if text else None
    except Invalid:
        return None
    return tracked_fields(tree) if isinstance(tree, dict) else None


APPLY: Final = "Apply"


def managed_fields(
    desired: DesiredObject, admitted: Admission, context: WriteContext, now: datetime, stored: StoredObject | None = None
) -> Sequence[Mapping[str, Any]]:
    """Return the entries after a write; the stored ones if the write does not change them. A creation has no ``stored`` object.

    An apply has computed its entries already; they are in ``desired``.
    """
    known: list[dict[str, Any]] = [] if stored is None else orjson.loads(stored.metadata).get("managedFields", [])
    after, sets = tree_of(_metadata(admitted.write), admitted.body), set_lists(desired.kind)
    if context.operation == APPLY:
        entries = managers_of(desired.managed_fields)
    else:
        before = {} if stored is None else tree_of(orjson.loads(stored.metadata), admitted.old)
        writer = ownership.FieldManager(context.manager, desired.kind.api_version(desired.version), time_text(now))
        entries = ownership.update(before, after, managers_of(known, desired.managed_fields), writer, sets)
    # Unchanged entries are returned as stored, so that a write without effect does not change the row.
    settled: Sequence[ManagedFieldsEntry] = ownership.settle(entries, after, sets)
    return known if is_same_ownership(settled, managers_of(known)) else managed_fields_json(settled)


def status_managed_fields(
    stored: StoredObject, status: dict[str, Any], context: WriteContext, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """Return the entries after a write of the status alone."""
    known: list[dict[str, Any]] = orjson.loads(stored.metadata).get("managedFields", [])
    before, after = {"status": read_json(stored.status or "{}")}, {"status": status}
    writer = ownership.FieldManager(context.manager, stored.kind.api_version(), time_text(now), context.subresource)
    return managed_fields_json(
        ownership.settle(ownership.update(before, after, managers_of(known), writer), after, subresource=context.subresource)
    )


def time_text(now: datetime) -> str:
    """Return a time in the format of the entries."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def tree_of(metadata: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """Return the part of an object that managers own. The spec is the stored body, in whatever version a client sees it."""
    return tracked_fields({"metadata": metadata, "spec": body})


def set_lists(kind: Kind) -> tuple[Path, ...]:
    """Return the paths of lists whose items form a set."""
    return (FINALIZERS, *kind.set_lists)


def _metadata(write: Write) -> dict[str, Any]:
    return {
        "labels": write.labels,
        "annotations": write.annotations,
        "finalizers": list(write.finalizers),
        "ownerReferences": list(write.owner_references),
    }
