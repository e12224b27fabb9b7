"""Server-side apply: what an object is to be by a part of it that somebody sends, and who owns which field then."""

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
"""The manager that takes up what the same program applied by other means before."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def new_object(
    config: ApplyConfiguration, kind: Kind, namespace: str, version: str, name: str, writer: ownership.FieldManager
) -> DesiredObject:
    """The object that an apply makes where there is none."""
    done = ownership.apply(None, tracked_fields(config.tree), (), writer, set_lists(kind))
    metadata = {**(config.tree.get("metadata") or {}), "name": name, "managedFields": managed_fields_json(done.managers)}
    return replace(objects.read_new({**config.tree, "metadata": metadata}, kind, namespace, version), warnings=config.warnings)


def updated_object(
    config: ApplyConfiguration, version: str, writer: ownership.FieldManager, force: bool, stored: StoredObject
) -> DesiredObject:
    """What an apply makes of a stored object. Raises Conflict where others own what would change; what a repository manages keeps no owners
    of its fields.
    """
    kind = stored.kind
    metadata: dict[str, Any] = orjson.loads(stored.metadata)
    shown = rendering.render(kind, stored.body, version).spec
    sent = tracked_fields(config.tree)
    body = read_json(shown)
    if stored.layout and shown != stored.spec:
        # The version shows a stub: the body is what changes, and the stub, sent back, says nothing of it.
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
    said = (config.tree.get("metadata") or {}).get("annotations") or {}
    annotations = owned.get("annotations", {}) | {key: text for key, text in said.items() if key in CONSUMED}
    tree = {
        "metadata": {**owned, "annotations": annotations, "managedFields": managed_fields_json(done.managers)},
        "spec": done.tree.get("spec", {}),
        "secure": config.tree.get("secure"),
    }
    wanted = objects.read_update(tree, kind, stored.namespace, version, stored.name).wanted
    return replace(wanted, warnings=config.warnings)


def _last_applied(metadata: dict[str, Any]) -> dict[str, Any] | None:
    """The configuration that kubectl applied before it left that to servers."""
    text = metadata.get("annotations", {}).get(_LAST_APPLIED)
    try:
        tree = read_json(text) if text else None
    except Invalid:
        return None
    return tracked_fields(tree) if isinstance(tree, dict) else None


APPLY: Final = "Apply"


def managed_fields(
    wanted: DesiredObject, admitted: Admission, context: WriteContext, now: datetime, stored: StoredObject | None = None
) -> Sequence[Mapping[str, Any]]:
    """The entries after a write; those that are stored, where it does not make them say anything else. ``stored`` is None at a creation.

    An apply has said already who owns what, in ``wanted``.
    """
    known: list[dict[str, Any]] = [] if stored is None else orjson.loads(stored.metadata).get("managedFields", [])
    after, sets = tree_of(_metadata(admitted.write), admitted.body), set_lists(wanted.kind)
    if context.operation == APPLY:
        entries = managers_of(wanted.managed_fields)
    else:
        before = {} if stored is None else tree_of(orjson.loads(stored.metadata), admitted.old)
        writer = ownership.FieldManager(context.manager, wanted.kind.api_version(wanted.version), time_text(now))
        entries = ownership.update(before, after, managers_of(known, wanted.managed_fields), writer, sets)
    settled: Sequence[ManagedFieldsEntry] = ownership.settle(entries, after, sets)
    return known if is_same_ownership(settled, managers_of(known)) else managed_fields_json(settled)


def status_managed_fields(
    stored: StoredObject, status: dict[str, Any], context: WriteContext, now: datetime
) -> Sequence[Mapping[str, Any]]:
    """The entries after a write of the status alone."""
    known: list[dict[str, Any]] = orjson.loads(stored.metadata).get("managedFields", [])
    before, after = {"status": read_json(stored.status or "{}")}, {"status": status}
    writer = ownership.FieldManager(context.manager, stored.kind.api_version(), time_text(now), context.subresource)
    return managed_fields_json(
        ownership.settle(ownership.update(before, after, managers_of(known), writer), after, subresource=context.subresource)
    )


def time_text(now: datetime) -> str:
    """A time as the entries tell it."""
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def tree_of(metadata: Mapping[str, Any], body: Any) -> dict[str, Any]:
    """The part of an object that is owned; its spec is the stored body, whatever a version shows of it."""
    return tracked_fields({"metadata": metadata, "spec": body})


def set_lists(kind: Kind) -> tuple[Path, ...]:
    return (FINALIZERS, *kind.set_lists)


def _metadata(write: Write) -> dict[str, Any]:
    return {
        "labels": write.labels,
        "annotations": write.annotations,
        "finalizers": list(write.finalizers),
        "ownerReferences": list(write.owner_references),
    }
