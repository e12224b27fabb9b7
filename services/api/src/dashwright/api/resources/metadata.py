"""Functions that read the metadata of a stored object."""

from collections.abc import Sequence
from typing import Final

import orjson

from dashwright.common.errors import Forbidden
from dashwright.common.kinds import annotations as annotation_names
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.stores.resources import StoredObject

LAST_APPLIED_CONFIGURATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which ``kubectl apply`` stores the object that it sent."""


def annotations_of(stored_object: StoredObject) -> dict[str, str]:
    """Return the annotations of an object."""
    annotations: dict[str, str] = orjson.loads(stored_object.metadata).get("annotations") or {}
    return annotations


def finalizers_of(stored_object: StoredObject) -> Sequence[str]:
    """Return the finalizers of an object."""
    finalizers: list[str] = orjson.loads(stored_object.metadata).get("finalizers") or []
    return finalizers


def client_finalizers(stored_object: StoredObject) -> Sequence[str]:
    """Return the finalizers that a client has to remove before the object can be deleted."""
    return [name for name in finalizers_of(stored_object) if name not in stored_object.kind.server_finalizers]


def is_deleting(stored_object: StoredObject) -> bool:
    """Return whether the object is marked as deleted and waits for its finalizers."""
    return "deletionTimestamp" in orjson.loads(stored_object.metadata)


def manager_of(stored_object: StoredObject) -> str | None:
    """Return the name of the repository that manages the object, or None. Only objects in folders can be managed."""
    return annotation_names.repository_of(annotations_of(stored_object)) if stored_object.kind.in_folder else None


def declaring_file_of(stored_object: StoredObject) -> str | None:
    """Return the path of the file that declares a repository, or None. Files declare only repositories."""
    return annotation_names.declaring_file_of(annotations_of(stored_object)) if stored_object.kind is REPOSITORY else None


def managed_by_clause(stored_object: StoredObject) -> str:
    """Return the first clause of an error message: the object "is managed by the repository"."""
    return f'{stored_object.kind.singular} "{stored_object.name}" is managed by the repository "{manager_of(stored_object)}"'


def check_unmanaged(stored_object: StoredObject, *, advice: str) -> None:
    """Raise Forbidden for an object that a repository manages. ``advice`` ends the message with an alternative."""
    if manager_of(stored_object):
        raise Forbidden(f"{managed_by_clause(stored_object)}; {advice}")
