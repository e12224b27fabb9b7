"""``metadata.ownerReferences``: the objects that one belongs to."""

from typing import Any, Final

from dashwright.api.resources.writing.admission import invalid
from dashwright.common.errors import Cause
from dashwright.common.kinds.kind import Kind

MOST_OWNERS: Final = 100

_FIELD: Final = "metadata.ownerReferences"
_TEXTS: Final = ("apiVersion", "kind", "name", "uid")
_SWITCHES: Final = ("controller", "blockOwnerDeletion")
_MEMBERS: Final = (*_TEXTS, *_SWITCHES)


def owner_references(metadata: dict[str, Any], kind: Kind, name: str) -> list[dict[str, Any]]:
    """The references that were sent for an object. Raises Invalid for what is none; a switch that is null counts as not sent."""
    sent = metadata.get("ownerReferences")
    if sent is None:
        return []
    if not isinstance(sent, list) or not all(isinstance(item, dict) for item in sent):
        raise invalid(kind, name, [Cause(_FIELD, "FieldValueTypeInvalid", "Invalid value: must be a list of objects")])
    if len(sent) > MOST_OWNERS:
        raise invalid(kind, name, [Cause(_FIELD, "FieldValueTooMany", f"Too many: {len(sent)}: must have at most {MOST_OWNERS} items")])
    references = [{key: value for key, value in item.items() if key not in _SWITCHES or value is not None} for item in sent]
    if causes := [cause for index, reference in enumerate(references) for cause in _faults(reference, f"{_FIELD}[{index}]")]:
        raise invalid(kind, name, causes)
    return references


def _faults(reference: dict[str, Any], field: str) -> list[Cause]:
    faults = [
        Cause(f"{field}.{key}", "FieldValueRequired", "Required value: must be text, and not empty")
        for key in _TEXTS
        if not isinstance(reference.get(key), str) or not reference[key]
    ]
    faults += [
        Cause(f"{field}.{key}", "FieldValueTypeInvalid", "Invalid value: must be true or false")
        for key in _SWITCHES
        if not isinstance(reference.get(key, False), bool)
    ]
    if unknown := sorted(reference.keys() - set(_MEMBERS)):
        said = f"Invalid value: a reference has no member {unknown[0][:80]!r}; it has {', '.join(_MEMBERS)}"
        faults.append(Cause(field, "FieldValueInvalid", said))
    return faults
