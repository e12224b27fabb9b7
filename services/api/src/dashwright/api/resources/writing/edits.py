"""Edits of managed objects: a change of the object's file in its repository, if the repository allows it."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from dashwright.api.accounts.authors import author_of
from dashwright.api.resources import metadata
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.workers.repository_client import RepositoryClient, deadline_after, recording_deadline
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Cause, Forbidden
from dashwright.common.kinds.annotations import (
    FOLDER_KEY,
    GRANT_PERMISSIONS,
    MANAGED_BY,
    MANAGER_ID,
    MESSAGE,
    NUMBER_LABEL,
    SET_BY_MANAGER,
    SET_BY_STORE,
    SOURCE_CHECKSUM,
    SOURCE_PATH,
)
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.provisioning import RepositorySpec, Workflow
from dashwright.common.models.repository_calls import EditedObject, EditRequest
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject, Write

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_OF_A_FILE: Final = SET_BY_STORE | SET_BY_MANAGER | {FOLDER_KEY, MESSAGE, GRANT_PERMISSIONS, _LAST_APPLIED}


class Edits:
    """The edits of managed objects. Callers check permissions before they edit."""

    def __init__(self, database: Database, worker: RepositoryClient, clock: Clock) -> None:
        self._database = database
        self._worker = worker
        self._clock = clock

    async def check(self, stored: StoredObject, *, instead: str = "change") -> None:
        """Raise Forbidden if the object's repository allows no edits. ``instead`` says what the caller can do with the file."""
        async with self._database.connection() as connection:
            why = await refusal_text(connection, stored)
        if why is not None:
            raise Forbidden(
                f"{metadata.managed_by_text(stored)}{why}; {instead} its {'directory' if stored.kind.is_tree else 'file'} there instead"
            )

    async def make(
        self, stored: StoredObject, write: Write | None, context: WriteContext, record: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Change the object's file, or without ``write`` delete it, and so the object. Call it outside of a transaction.

        The change is recorded even if the client no longer waits for it. Raises Conflict if the file has changed, Unhealthy,
        DeadlineExceeded, Unavailable, and the worker's errors about the content.
        """
        annotations = metadata.annotations_of(stored)
        name, until = metadata.manager_of(stored) or "", deadline_after()
        await self._worker.require_ready(context.identity, stored.namespace, name)
        request = EditRequest(
            namespace=stored.namespace,
            name=name,
            path=annotations.get(SOURCE_PATH, ""),
            checksum=annotations.get(SOURCE_CHECKSUM, ""),
            edited=None if write is None else _edited_object(write),
            message="" if write is None else write.annotations.get(MESSAGE, ""),
            author=await author_of(self._database, context.identity, self._clock),
            dry_run=context.dry_run,
        )

        async def change() -> None:
            await self._worker.call(request, deadline=until if context.dry_run else recording_deadline(until))
            if not context.dry_run:
                await record()

        await self._worker.complete(change, deadline=until)


async def refusal_text(connection: Connection, stored: StoredObject) -> str | None:
    """Return the reason why a managed object must not be edited, or None.

    Folders are not edited. Other objects are edited only if the repository has the workflow ``write`` and is synced: without
    syncs the change would never be stored here.
    """
    found = await resources.get_many(connection, REPOSITORY, stored.namespace, [metadata.manager_of(stored) or ""])
    if stored.kind.is_tree or not found:
        return ""
    spec = RepositorySpec.model_validate_json(found[0].spec)
    if metadata.is_deleting(found[0]):
        return ", which is being deleted"
    if Workflow.WRITE not in spec.workflows:
        return ', whose workflows do not include "write"'
    return None if spec.sync.enabled else ", whose sync is off"


async def is_editable(connection: Connection, stored: StoredObject) -> bool:
    """Return whether a caller with the permission may change or delete the object here."""
    return metadata.manager_of(stored) is None or await refusal_text(connection, stored) is None


def file_write(stored: StoredObject, write: Write) -> Write:
    """Return the part of a write that a file stores: the manager is kept, owners of fields and kubectl's notes are not stored.

    Raises Invalid for members that have no place in a file.
    """
    metadata: dict[str, Any] = orjson.loads(stored.metadata)
    if list(write.finalizers) != (metadata.get("finalizers") or []):
        raise _no_place_error(stored, "metadata.finalizers")
    if list(write.owner_references) != (metadata.get("ownerReferences") or []):
        raise _no_place_error(stored, "metadata.ownerReferences")
    known = metadata.get("annotations") or {}
    kept = {key: text for key, text in known.items() if key in SET_BY_MANAGER or key == _LAST_APPLIED}
    own = {key: text for key, text in write.annotations.items() if key not in SET_BY_MANAGER and key != _LAST_APPLIED}
    return replace(write, annotations={**own, **kept}, managed_fields=metadata.get("managedFields", []))


def check_manager(stored: StoredObject, given: Mapping[str, str]) -> None:
    """Raise Forbidden if another manager is sent."""
    known = metadata.annotations_of(stored)
    if any(given.get(key, known[key]) != known[key] for key in (MANAGED_BY, MANAGER_ID) if key in known):
        raise Forbidden("Cannot change resource manager identity; remove the existing manager first, then add the new one")


def check_release(stored: StoredObject) -> None:
    """Raise Forbidden for a folder."""
    if stored.kind.is_tree:
        raise Forbidden(
            f"{metadata.managed_by_text(stored)}; a folder cannot be released on its own: "
            "release the whole repository, or delete its directory there"
        )


def without_manager(write: Write) -> Write:
    """Return the write without the annotations of a manager."""
    return replace(write, annotations={key: text for key, text in write.annotations.items() if key not in SET_BY_MANAGER})


def _edited_object(write: Write) -> EditedObject:
    """Return the object as the worker writes it into the file."""
    return EditedObject(
        version=write.stored_version,
        name=write.name,
        spec=write.spec,
        labels={key: text for key, text in write.labels.items() if key != NUMBER_LABEL},
        annotations={key: text for key, text in write.annotations.items() if key not in _NOT_OF_A_FILE},
        folder=write.annotations.get(FOLDER_KEY),
    )


def _no_place_error(stored: StoredObject, field: str) -> Exception:
    text = f"Forbidden: the file of a {stored.kind.singular} that a repository manages has no place for it"
    return stored.kind.invalid(stored.name, [Cause(field, "FieldValueForbidden", text)])
