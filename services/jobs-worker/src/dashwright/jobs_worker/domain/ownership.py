"""The managers of objects: the annotations that name them, and the rights of a repository on existing objects."""

from dashwright.common.kinds.annotations import (
    FOLDER_KEY,
    MANAGED_BY,
    MANAGER_ID,
    REPOSITORY_MANAGER,
    SET_BY_MANAGER,
    SET_BY_STORE,
    SOURCE_CHECKSUM,
    SOURCE_PATH,
)
from dashwright.common.kinds.registry import FOLDER
from dashwright.jobs_worker.domain.objects import Key, Owner

SET_BY_US = SET_BY_STORE | SET_BY_MANAGER | {FOLDER_KEY}
"""Annotations that a file cannot set: the store and the sync set them."""


def annotations(repository: str, path: str, checksum: str, folder: str) -> dict[str, str]:
    """Return the annotations of a managed object without empty values. The path of a directory has no slash at its end."""
    carried = {
        MANAGED_BY: REPOSITORY_MANAGER,
        MANAGER_ID: repository,
        SOURCE_PATH: path.rstrip("/"),
        SOURCE_CHECKSUM: checksum,
        FOLDER_KEY: folder,
    }
    return {name: value for name, value in carried.items() if value}


def write_refusal(key: Key, owner: Owner | None, repository: str) -> str:
    """Return why ``repository`` may not write the object, or an empty string. Pass None as ``owner`` of an object that does not exist."""
    if owner is None or (owner.kind == REPOSITORY_MANAGER and owner.identity == repository) or (owner.kind and owner.allows_edits):
        return ""
    if key.group == FOLDER.group:
        if not owner.kind:
            return "target folder is not managed by a repository"
        return f"target folder is managed by a different repository ({owner.identity})"
    if not owner.kind:
        return f"resource '{key.name}' already exists and is not managed"
    return f"resource '{key.name}' is managed by {owner.kind} '{owner.identity}' and cannot be modified by repo '{repository}'"
