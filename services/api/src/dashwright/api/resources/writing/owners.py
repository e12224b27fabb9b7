"""``metadata.managedFields`` of an object that is written."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import orjson

from dashwright.api.domain.fields import ownership
from dashwright.api.domain.fields.managers import ManagedFieldsEntry, is_same_ownership, managed_fields_json, managers_of
from dashwright.api.domain.fields.nodes import Path
from dashwright.api.domain.fields.tracked import FINALIZERS, tracked_fields
from dashwright.api.resources.writing.admission import Admission
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.common.document import read_json
from dashwright.common.kinds.kind import Kind
from dashwright.common.stores.resources import Stored, Write

APPLY: Final = "Apply"


def managed_fields(
    wanted: DesiredObject, admitted: Admission, context: WriteContext, now: datetime, stored: Stored | None = None
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


def status_managed_fields(stored: Stored, status: dict[str, Any], context: WriteContext, now: datetime) -> Sequence[Mapping[str, Any]]:
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
