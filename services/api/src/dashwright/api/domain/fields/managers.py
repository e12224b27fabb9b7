"""Entries of ``metadata.managedFields``: the fields that each manager owns and the time of its last change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dashwright.api.domain.fields.sets import FieldSet, union
from dashwright.common.errors import TooLarge
from dashwright.common.json_documents import write_json

BEFORE_FIRST_APPLY = "before-first-apply"
"""The owner of fields that existed before the first apply and had no known owner."""

ANCIENT_CHANGES = "ancient-changes"
"""The manager of the entry that replaces the oldest entries if there are too many."""

MAX_ENTRIES = 200
"""Limit on the entries of one object."""

MAX_UPDATERS = 20
"""Limit on the entries of updates. Beyond it, the oldest of these entries are merged."""

MAX_APPLIERS = MAX_ENTRIES - MAX_UPDATERS
"""Limit on the entries of applies."""

MAX_ENTRY_LENGTH = 50 * 1024
"""Limit on the characters of one entry's fields as JSON. Larger sets are stored in less detail."""

MAX_TOTAL_LENGTH = 1024 * 1024
"""Limit on the characters of the fields of all entries as JSON."""

_MAX_STRING_LENGTH = 256
"""Limit on the characters of a manager, version, time or subresource. An entry with a longer string is invalid."""

_DETAILED_DEPTH = 8
"""The maximum depth of the fields of an entry that is too large to store all of its fields."""

_MEMBER_PREFIX = "f:"
_ITEM_PREFIX = "v:"
"""Prefixes of names in FieldsV1: members of an object, and items of a list that is a set."""
_OBJECT_MARKER = "."
"""The name by which other servers mark an object itself as owned, in addition to its members."""


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
    #: The subresource that was written through.
    subresource: str = ""

    def has_same_writer(self, other: "ManagedFieldsEntry") -> bool:
        """Return whether both entries have the same manager, operation and subresource."""
        return (self.manager, self.operation, self.subresource) == (other.manager, other.operation, other.subresource)


def parse_managed_fields(stored_entries: object, sent_entries: object = None) -> tuple[ManagedFieldsEntry, ...]:
    """Return the sent entries, or the stored entries if no entries were sent or a sent entry is invalid.

    The result is empty if one of the stored entries is invalid, too. Sent entries of ``[{}]`` clear all owners, so the result is empty.
    """
    # Kubernetes' convention to clear all owners.
    if sent_entries == [{}]:
        return ()
    return _parse_entries(sent_entries) or _parse_entries(stored_entries)


def _parse_entries(entries: object) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries of a list in JSON; empty if it is not a list, or one of the entries is invalid."""
    if not isinstance(entries, list):
        return ()
    parsed_entries = [_parse_entry(entry) for entry in entries]
    valid_entries = tuple(entry for entry in parsed_entries if entry is not None)
    return valid_entries if len(valid_entries) == len(parsed_entries) else ()


def _parse_entry(entry: object) -> ManagedFieldsEntry | None:
    """Return an entry in JSON, or None if it is invalid."""
    if not isinstance(entry, Mapping) or entry.get("fieldsType") != "FieldsV1" or not _is_field_set(entry.get("fieldsV1")):
        return None
    operation = entry.get("operation")
    values = [entry.get(name, "") for name in ("manager", "apiVersion", "time", "subresource")]
    if operation not in ("Apply", "Update") or not all(isinstance(value, str) and len(value) <= _MAX_STRING_LENGTH for value in values):
        return None
    manager, version, time, subresource = values
    return ManagedFieldsEntry(manager, operation, version, time, _without_markers(entry["fieldsV1"]), subresource)


def _is_field_set(fields: object) -> bool:
    """Return whether a JSON value has the format FieldsV1."""
    return isinstance(fields, Mapping) and all(_is_name(name) and _is_field_set(children) for name, children in fields.items())


def _is_name(name: object) -> bool:
    """Return whether a member of FieldsV1 has a known format. Kubernetes' keys and indices of lists are not supported."""
    return isinstance(name, str) and (name == _OBJECT_MARKER or name.startswith((_MEMBER_PREFIX, _ITEM_PREFIX)))


def _without_markers(fields: Mapping[str, Any]) -> FieldSet:
    """Return fields without the markers of objects. In this server only the fields of an object have owners."""
    return {name: _without_markers(children) for name, children in fields.items() if name != _OBJECT_MARKER}


def managed_fields_json(entries: Iterable[ManagedFieldsEntry]) -> list[dict[str, Any]]:
    """Return the JSON of ``managedFields``. Entries without fields are left out."""
    return [_entry_json(entry) for entry in entries if entry.fields]


def _entry_json(entry: ManagedFieldsEntry) -> dict[str, Any]:
    """Return an entry as JSON. Its fields are sorted, so that equal entries have equal texts."""
    members = {
        "manager": entry.manager,
        "operation": entry.operation,
        "apiVersion": entry.version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": _sorted_fields(entry.fields),
    }
    return members | {"subresource": entry.subresource} if entry.subresource else members


def _sorted_fields(fields: FieldSet) -> FieldSet:
    return {name: _sorted_fields(fields[name]) for name in sorted(fields)}


def is_same_ownership(first: Iterable[ManagedFieldsEntry], second: Iterable[ManagedFieldsEntry]) -> bool:
    """Return whether both lists of entries are equal, except for their order, their times, and entries without fields."""
    return _without_times(first) == _without_times(second)


def _without_times(entries: Iterable[ManagedFieldsEntry]) -> list[ManagedFieldsEntry]:
    """Return the entries that have fields, without their times, and in an order that does not depend on the given one."""
    owned_entries = [replace(entry, time="") for entry in entries if entry.fields]
    return sorted(owned_entries, key=lambda entry: (entry.manager, entry.operation, entry.subresource))


def limit_entries(entries: Sequence[ManagedFieldsEntry]) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries within the limits: the oldest entries of updates are merged, and large sets are shortened.

    Raises TooLarge for too many appliers and for too many fields in total.
    """
    # Merging entries of updates loses only the managers' names. Entries of applies are not merged: the next apply needs its own set.
    updates = sorted((entry for entry in entries if entry.operation == "Update"), key=lambda entry: entry.time)
    # One more than the surplus, because the merged entry is an entry, too.
    oldest_entries = updates[: len(updates) - MAX_UPDATERS + 1] if len(updates) > MAX_UPDATERS else []
    merged_ids = {id(entry) for entry in oldest_entries}
    remaining_entries = [entry for entry in entries if id(entry) not in merged_ids]
    if sum(entry.operation == "Apply" for entry in remaining_entries) > MAX_APPLIERS:
        raise TooLarge(
            f"more than {MAX_APPLIERS} managers apply to the object; apply as one of them, or send managedFields [{{}}] to clear all"
        )
    if oldest_entries:
        fields: FieldSet = {}
        for entry in oldest_entries:
            fields = union(fields, entry.fields)
        remaining_entries.insert(0, replace(oldest_entries[-1], manager=ANCIENT_CHANGES, fields=fields))
    limited_entries = tuple(replace(entry, fields=_shorten(entry.fields)) for entry in remaining_entries)
    if sum(len(write_json(entry.fields)) for entry in limited_entries) > MAX_TOTAL_LENGTH:
        raise TooLarge(f"the fields of all managers take more than {MAX_TOTAL_LENGTH} characters; let fewer managers own the object")
    return limited_entries


def _shorten(fields: FieldSet) -> FieldSet:
    """Return the set, or for a set above ``MAX_ENTRY_LENGTH`` a shallower one, which has objects instead of their members."""
    if len(write_json(fields)) <= MAX_ENTRY_LENGTH:
        return fields
    # From the shallowest cut, because a deep cut of a large set takes seconds.
    shortened_fields = _truncate(fields, 1)
    for depth in range(2, _DETAILED_DEPTH + 1):
        candidate = _truncate(fields, depth)
        if len(write_json(candidate)) > MAX_ENTRY_LENGTH:
            break
        shortened_fields = candidate
    return shortened_fields


def _truncate(fields: FieldSet, depth: int) -> FieldSet:
    """Return the set with at most ``depth`` names in each path. A field at this depth includes everything below it."""
    return {name: _truncate(children, depth - 1) for name, children in fields.items()} if depth else {}
