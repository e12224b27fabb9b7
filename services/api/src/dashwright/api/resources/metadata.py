"""Facts about a stored object, read from its metadata."""

from collections.abc import Sequence

import orjson

from dashwright.common.errors import Forbidden
from dashwright.common.kinds.annotations import repository_of
from dashwright.common.stores.resources import StoredObject


def annotations_of(stored: StoredObject) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(stored.metadata).get("annotations") or {}
    return found


def finalizers_of(stored: StoredObject) -> Sequence[str]:
    found: list[str] = orjson.loads(stored.metadata).get("finalizers") or []
    return found


def others_finalizers(stored: StoredObject) -> Sequence[str]:
    """Those that somebody else has to see to before the object can go."""
    return [name for name in finalizers_of(stored) if name not in stored.kind.own_finalizers]


def is_deleting(stored: StoredObject) -> bool:
    """Whether the object only waits for its finalizers."""
    return "deletionTimestamp" in orjson.loads(stored.metadata)


def manager_of(stored: StoredObject) -> str | None:
    """The repository that manages an object."""
    return repository_of(annotations_of(stored)) if stored.kind.in_folder else None


def managed_by_text(stored: StoredObject) -> str:
    """The beginning of what is said of an object that a repository manages."""
    return f'{stored.kind.singular} "{stored.name}" is managed by the repository "{manager_of(stored)}"'


def check_unmanaged(stored: StoredObject, *, instead: str) -> None:
    """Raises Forbidden for an object that a repository manages, saying what to do ``instead``."""
    if manager_of(stored):
        raise Forbidden(f"{managed_by_text(stored)}; {instead}")
