"""The parts of an object that somebody owns: all but its names, what the store says of it, and its status."""

from collections.abc import Mapping
from typing import Any

from dashwright.common.kinds.annotations import GRANT_PERMISSIONS, MESSAGE, NUMBER_LABEL, SET_BY_STORE

_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
CONSUMED = frozenset({MESSAGE, GRANT_PERMISSIONS})
"""Annotations that tell of the change, and not of the object."""

_UNOWNED = {"annotations": SET_BY_STORE | CONSUMED, "labels": frozenset({NUMBER_LABEL})}

FINALIZERS = ("metadata", "finalizers")


def tracked_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """``{"metadata": …, "spec": …}`` of an object: what a manager of fields may own of it."""
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
