"""Edits of managed objects: the worker changes the object's file in its repository, if the repository allows it."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from dashwright.api.accounts.authors import author_of
from dashwright.api.resources import metadata
from dashwright.api.resources.metadata import LAST_APPLIED_CONFIGURATION
from dashwright.api.resources.writing.desired_object import WriteContext
from dashwright.api.workers.repository_client import RepositoryClient, background_deadline, deadline_after
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Cause, Forbidden, Invalid
from dashwright.common.kinds.annotations import (
    CLASSIC_ID_LABEL,
    FOLDER_KEY,
    GRANT_PERMISSIONS,
    MANAGED_BY,
    MANAGER_ID,
    MESSAGE,
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

_ANNOTATIONS_NOT_IN_FILES: Final = SET_BY_STORE | SET_BY_MANAGER | {FOLDER_KEY, MESSAGE, GRANT_PERMISSIONS, LAST_APPLIED_CONFIGURATION}
"""Annotations about the storage or about one change. The directory of a file is the folder, and its commit has the message."""


class Edits:
    """Edits of managed objects. Check the caller's permissions before an edit."""

    def __init__(self, database: Database, repository_client: RepositoryClient, clock: Clock) -> None:
        self._database = database
        self._repository_client = repository_client
        self._clock = clock

    async def check(self, stored_object: StoredObject, *, verb: str = "change") -> None:
        """Raise Forbidden if the object's repository allows no edits. The message advises to ``verb`` the file."""
        async with self._database.connection() as connection:
            reason = await refusal_reason(connection, stored_object)
        if reason is not None:
            source = "directory" if stored_object.kind.is_tree else "file"
            raise Forbidden(f"{metadata.managed_by_clause(stored_object)}{reason}; {verb} its {source} there instead")

    async def edit(
        self, stored_object: StoredObject, write: Write | None, context: WriteContext, record: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Change the object's file and with it the object; without ``write`` delete both. Call this outside of a transaction.

        ``record`` is called after the change, even if the client no longer waits for the response. Raises Conflict if the file has
        changed, Unhealthy, DeadlineExceeded, Unavailable, and the worker's errors about the content.
        """
        annotations = metadata.annotations_of(stored_object)
        repository, deadline = metadata.manager_of(stored_object) or "", deadline_after()
        await self._repository_client.get_healthy(context.identity, stored_object.namespace, repository)
        request = EditRequest(
            namespace=stored_object.namespace,
            name=repository,
            path=annotations.get(SOURCE_PATH, ""),
            checksum=annotations.get(SOURCE_CHECKSUM, ""),
            resource=stored_object.kind.plural,
            object_name=stored_object.name,
            edited=None if write is None else _edited_object(write),
            message="" if write is None else write.annotations.get(MESSAGE, ""),
            author=await author_of(self._database, context.identity, self._clock),
            dry_run=context.dry_run,
        )

        async def change() -> None:
            # The change continues after the client's deadline, so that its result is still recorded. A dry run has nothing to record.
            await self._repository_client.call(request, deadline=deadline if context.dry_run else background_deadline(deadline))
            if not context.dry_run:
                await record()

        await self._repository_client.run_to_completion(change, deadline=deadline)


async def refusal_reason(connection: Connection, stored_object: StoredObject) -> str | None:
    """Return why a managed object must not be edited, or None if it may be edited.

    The reason is a subordinate clause about the repository, such as ", which is being deleted". It is empty for folders, which
    cannot be edited, and if the repository does not exist. Other objects can be edited if the repository has the workflow ``write``
    and its sync is enabled: without a sync the change would never be stored in the database.
    """
    repositories = await resources.get_many(connection, REPOSITORY, stored_object.namespace, [metadata.manager_of(stored_object) or ""])
    if stored_object.kind.is_tree or not repositories:
        return ""
    spec = RepositorySpec.model_validate_json(repositories[0].spec)
    if metadata.is_deleting(repositories[0]):
        return ", which is being deleted"
    if Workflow.WRITE not in spec.workflows:
        return ', whose workflows do not include "write"'
    return None if spec.sync.enabled else ", whose sync is off"


async def is_editable(connection: Connection, stored_object: StoredObject) -> bool:
    """Return whether a caller with the permission may change or delete the object: it is unmanaged, or its repository allows edits."""
    return metadata.manager_of(stored_object) is None or await refusal_reason(connection, stored_object) is None


def in_file_version(stored_object: StoredObject, write: Write) -> Write:
    """Return the write converted to the version of the object's file, so that an edit does not change the form of the file.

    Stored parts that the version of the write cannot express are restored. A write whose spec the file's version cannot express
    is returned unchanged.
    """
    kind, version = write.kind, stored_object.stored_version
    if kind.versioning is None or write.stored_version == version:
        return write
    edited = replace(stored_object, spec=write.spec, stored_version=write.stored_version, layout=write.extract.layout, status=write.status)
    try:
        spec = kind.versioning.convert(edited.body, version)
    except Invalid:
        return write
    extract = kind.extract(orjson.loads(spec))._replace(title=write.extract.title)
    return replace(write, spec=spec, stored_version=version, extract=extract, status=stored_object.status)


def trial_write(stored_object: StoredObject, write: Write) -> Write:
    """Return the write of the dry run before an edit, which finds out whether the edit changes anything.

    Everything that a file does not contain, such as the manager and the field owners, has its stored value. Raises Invalid for a
    change of members that a file cannot contain.
    """
    stored_metadata: dict[str, Any] = orjson.loads(stored_object.metadata)
    if list(write.finalizers) != (stored_metadata.get("finalizers") or []):
        raise _not_in_file_error(stored_object, "metadata.finalizers")
    if list(write.owner_references) != (stored_metadata.get("ownerReferences") or []):
        raise _not_in_file_error(stored_object, "metadata.ownerReferences")
    current_annotations = stored_metadata.get("annotations") or {}
    kept_keys = {*SET_BY_MANAGER, LAST_APPLIED_CONFIGURATION}
    kept_annotations = {key: value for key, value in current_annotations.items() if key in kept_keys}
    sent_annotations = {key: value for key, value in write.annotations.items() if key not in kept_keys}
    return replace(write, annotations={**sent_annotations, **kept_annotations}, managed_fields=stored_metadata.get("managedFields", []))


def check_manager(stored_object: StoredObject, annotations: Mapping[str, str]) -> None:
    """Raise Forbidden if ``annotations`` name another manager than that of the object. They need not name a manager."""
    current_annotations = metadata.annotations_of(stored_object)
    if any(
        annotations.get(key, current_annotations[key]) != current_annotations[key]
        for key in (MANAGED_BY, MANAGER_ID)
        if key in current_annotations
    ):
        raise Forbidden("Cannot change resource manager identity; remove the existing manager first, then add the new one")


def check_release(stored_object: StoredObject) -> None:
    """Raise Forbidden if the object cannot be released from its repository, which is the case for folders."""
    if stored_object.kind.is_tree:
        raise Forbidden(
            f"{metadata.managed_by_clause(stored_object)}; a folder cannot be released on its own: "
            "release the whole repository, or delete its directory there"
        )


def without_manager(write: Write) -> Write:
    """Return the write without the annotations of a manager."""
    return replace(write, annotations={key: value for key, value in write.annotations.items() if key not in SET_BY_MANAGER})


def _edited_object(write: Write) -> EditedObject:
    """Return the object as the worker writes it into the file."""
    return EditedObject(
        version=write.stored_version,
        name=write.name,
        spec=write.spec,
        labels={key: value for key, value in write.labels.items() if key != CLASSIC_ID_LABEL},
        annotations={key: value for key, value in write.annotations.items() if key not in _ANNOTATIONS_NOT_IN_FILES},
        folder=write.annotations.get(FOLDER_KEY),
    )


def _not_in_file_error(stored_object: StoredObject, field: str) -> Exception:
    message = f"Forbidden: the file of a {stored_object.kind.singular} that a repository manages has no place for it"
    return stored_object.kind.invalid(stored_object.name, [Cause(field, "FieldValueForbidden", message)])
