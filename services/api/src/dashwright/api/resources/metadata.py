"""Facts about a stored object, read from its metadata."""

from collections.abc import Sequence

import orjson

from dashwright.common.errors import Forbidden
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.stores.resources import StoredObject


def annotations_of(stored: StoredObject) -> dict[str, str]:
    """Return the annotations of an object."""
    found: dict[str, str] = orjson.loads(stored.metadata).get("annotations") or {}
    return found


def finalizers_of(stored: StoredObject) -> Sequence[str]:
    """Return the finalizers of an object."""
    found: list[str] = orjson.loads(stored.metadata).get("finalizers") or []
    return found


def others_finalizers(stored: StoredObject) -> Sequence[str]:
    """Return the finalizers that a client has to remove before the object can be deleted."""
    return [name for name in finalizers_of(stored) if name not in stored.kind.own_finalizers]


def is_deleting(stored: StoredObject) -> bool:
    """Return whether the object is deleted except for its finalizers."""
    return "deletionTimestamp" in orjson.loads(stored.metadata)


def manager_of(stored: StoredObject) -> str | None:
    """Return the name of the repository that manages the object, or None."""
    return repository_of(annotations_of(stored)) if stored.kind.in_folder else None


def managed_by_text(stored: StoredObject) -> str:
    """Return the first half of a sentence: the object "is managed by the repository"."""
    return f'{stored.kind.singular} "{stored.name}" is managed by the repository "{manager_of(stored)}"'


def check_unmanaged(stored: StoredObject, *, instead: str) -> None:
    """Raise Forbidden for an object that a repository manages. ``instead`` says what the caller can do."""
    if manager_of(stored):
        raise Forbidden(f"{managed_by_text(stored)}; {instead}")
