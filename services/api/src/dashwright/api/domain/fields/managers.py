"""Entries of ``metadata.managedFields``: the fields of each manager and the time of its last change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dashwright.api.domain.fields.sets import FieldSet, union
from dashwright.common.document import write_json
from dashwright.common.errors import TooLarge

BEFORE_FIRST_APPLY = "before-first-apply"
"""The owner of fields that existed before the first apply and had no known owner."""

ANCIENT_CHANGES = "ancient-changes"
"""The owner of the fields of the oldest managers, if there are too many of them."""

MOST_ENTRIES = 200
MOST_UPDATERS = 20
MOST_APPLIERS = MOST_ENTRIES - MOST_UPDATERS
LARGEST_ENTRY = 50 * 1024
"""Characters of one entry's fields as JSON. Larger sets are stored in less detail."""
LARGEST_TOGETHER = 1024 * 1024

_MEMBER, _ITEM, _ITSELF = "f:", "v:", "."


@dataclass(frozen=True, slots=True)
class ManagedFieldsEntry:
    """The fields of one manager."""

    manager: str
    operation: Literal["Apply", "Update"]
    #: Group and version of the object that was sent.
    version: str
    #: RFC 3339.
    time: str
    fields: FieldSet
    #: The sub-resource that was written through.
    subresource: str = ""

    def is_of(self, other: "ManagedFieldsEntry") -> bool:
        """Return whether both entries have the same manager and way of writing."""
        return (self.manager, self.operation, self.subresource) == (other.manager, other.operation, other.subresource)


def managers_of(stored: object, sent: object = None) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries that a write starts from: the sent ones, else the stored ones. ``[{}]`` clears them.

    Unreadable entries count as not sent.
    """
    # Kubernetes' convention to clear all owners.
    if sent == [{}]:
        return ()
    return _read(sent) or _read(stored)


def _read(entries: object) -> tuple[ManagedFieldsEntry, ...]:
    if not isinstance(entries, list):
        return ()
    found = [_entry(item) for item in entries]
    return tuple(entry for entry in found if entry is not None) if all(found) else ()


def _entry(item: object) -> ManagedFieldsEntry | None:
    if not isinstance(item, Mapping) or item.get("fieldsType") != "FieldsV1" or not _is_set(item.get("fieldsV1")):
        return None
    operation = item.get("operation")
    texts = [item.get(name, "") for name in ("manager", "apiVersion", "time", "subresource")]
    if operation not in ("Apply", "Update") or not all(isinstance(text, str) and len(text) <= 256 for text in texts):
        return None
    manager, version, time, subresource = texts
    return ManagedFieldsEntry(manager, operation, version, time, _without_itself(item["fieldsV1"]), subresource)


def _is_set(fields: object) -> bool:
    return isinstance(fields, Mapping) and all(_is_name(name) and _is_set(below) for name, below in fields.items())


def _is_name(name: object) -> bool:
    return isinstance(name, str) and (name == _ITSELF or name.startswith((_MEMBER, _ITEM)))


def _without_itself(fields: Mapping[str, Any]) -> FieldSet:
    """Return fields without the marker of the object itself. Other servers set it; here objects belong to the owners of their fields."""
    return {name: _without_itself(below) for name, below in fields.items() if name != _ITSELF}


def managed_fields_json(entries: Iterable[ManagedFieldsEntry]) -> list[dict[str, Any]]:
    """Return ``managedFields`` of entries. Entries without fields are left out."""
    return [_entry_json(entry) for entry in entries if entry.fields]


def _entry_json(entry: ManagedFieldsEntry) -> dict[str, Any]:
    members = {
        "manager": entry.manager,
        "operation": entry.operation,
        "apiVersion": entry.version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": _in_order(entry.fields),
    }
    return members | {"subresource": entry.subresource} if entry.subresource else members


def _in_order(fields: FieldSet) -> FieldSet:
    return {name: _in_order(fields[name]) for name in sorted(fields)}


def is_same_ownership(one: Iterable[ManagedFieldsEntry], other: Iterable[ManagedFieldsEntry]) -> bool:
    """Return whether both sets of entries are equal except for their times."""
    return _timeless(one) == _timeless(other)


def _timeless(entries: Iterable[ManagedFieldsEntry]) -> list[ManagedFieldsEntry]:
    known = [replace(entry, time="") for entry in entries if entry.fields]
    return sorted(known, key=lambda entry: (entry.manager, entry.operation, entry.subresource))


def bound(entries: Sequence[ManagedFieldsEntry]) -> tuple[ManagedFieldsEntry, ...]:
    """Return entries within the limits: the oldest updaters are merged, and large sets are shortened.

    Raises TooLarge for too many appliers and for too many fields in total.
    """
    # Merging the oldest updaters loses only who they were. Appliers are never merged: the next apply of each needs its own set.
    updaters = sorted((entry for entry in entries if entry.operation == "Update"), key=lambda entry: entry.time)
    surplus = updaters[: len(updaters) - MOST_UPDATERS + 1] if len(updaters) > MOST_UPDATERS else []
    left_out = {id(entry) for entry in surplus}
    kept = [entry for entry in entries if id(entry) not in left_out]
    if sum(entry.operation == "Apply" for entry in kept) > MOST_APPLIERS:
        raise TooLarge(f"more than {MOST_APPLIERS} managers apply to the object; apply as one of them, or drop all by managedFields [{{}}]")
    if surplus:
        fields: FieldSet = {}
        for old in surplus:
            fields = union(fields, old.fields)
        kept.insert(0, replace(surplus[-1], manager=ANCIENT_CHANGES, fields=fields))
    bounded = tuple(replace(entry, fields=_shortened(entry.fields)) for entry in kept)
    if sum(len(write_json(entry.fields)) for entry in bounded) > LARGEST_TOGETHER:
        raise TooLarge(f"the fields of all managers take more than {LARGEST_TOGETHER} characters; let fewer managers own the object")
    return bounded


def _shortened(fields: FieldSet) -> FieldSet:
    """Return the set, or a shallower one that owns whole objects instead of their members."""
    depth = 8
    while depth and len(write_json(fields)) > LARGEST_ENTRY:
        fields = _cut(fields, depth)
        depth -= 1
    return fields


def _cut(fields: FieldSet, depth: int) -> FieldSet:
    return {name: _cut(below, depth - 1) for name, below in fields.items()} if depth else {}
