"""What an apply would take from others, in the words of Kubernetes, which its clients print and read."""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from dashwright.api.domain.fields.managers import ManagedFieldsEntry
from dashwright.common.errors import Cause, Conflict


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A field that an apply would change and that an entry of somebody else owns."""

    owner: ManagedFieldsEntry
    path: str


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
