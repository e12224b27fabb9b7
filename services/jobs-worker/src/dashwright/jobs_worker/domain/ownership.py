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
from dashwright.jobs_worker.domain.objects import Key, Manager

SYSTEM_ANNOTATIONS = SET_BY_STORE | SET_BY_MANAGER | {FOLDER_KEY}
"""Annotations that a file cannot set: the store and the sync set them."""


def manager_annotations(repository: str, path: str, checksum: str, folder: str) -> dict[str, str]:
    """Return the annotations that a sync sets on a managed object, without empty ones. The slash at the end of ``path`` is left out."""
    values = {
        MANAGED_BY: REPOSITORY_MANAGER,
        MANAGER_ID: repository,
        SOURCE_PATH: path.rstrip("/"),
        SOURCE_CHECKSUM: checksum,
        FOLDER_KEY: folder,
    }
    return {name: value for name, value in values.items() if value}


def write_refusal(key: Key, manager: Manager | None, repository: str) -> str:
    """Return why ``repository`` may not write the object, or an empty string. Pass None as ``manager`` of an object that does not exist."""
    if (
        manager is None
        or (manager.kind == REPOSITORY_MANAGER and manager.identity == repository)
        or (manager.kind and manager.allows_edits)
    ):
        return ""
    if key.group == FOLDER.group:
        if not manager.kind:
            return "target folder is not managed by a repository"
        return f"target folder is managed by a different repository ({manager.identity})"
    if not manager.kind:
        return f"resource '{key.name}' already exists and is not managed"
    return f"resource '{key.name}' is managed by {manager.kind} '{manager.identity}' and cannot be modified by repo '{repository}'"
