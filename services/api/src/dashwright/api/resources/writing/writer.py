"""The writer of stored objects, which every entry point uses to create, change or delete an object.

Admission runs before the lock of objects is taken. Only the checks against stored objects and the write run under the lock.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.view import AccessView, deleted_by_filter, require_permission
from dashwright.api.domain.selectors import Selection
from dashwright.api.http.call import run_in_thread_if_large
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources import metadata
from dashwright.api.resources.writing import admission, checks, declared, edits, field_owners, removal
from dashwright.api.resources.writing.desired_object import (
    MODIFIED_MESSAGE,
    NO_PRECONDITIONS,
    DeleteResult,
    DesiredObject,
    Preconditions,
    UpdateResult,
    WriteContext,
    conflict_error,
    delete_result,
)
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.sealing import SecretSealer
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.json_documents import json_equal, read_json, write_json
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import histories, jobs, repositories, resources
from dashwright.common.stores.resources import StoredObject

_MAX_ATTEMPTS: Final = 5
"""Number of attempts of an update while other writers change the object."""


class Writer:
    """A writer of stored objects, which checks the caller's permissions and records audit events."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: AdmissionSettings,
        quotas: QuotaRules,
        policy: AccessPolicy,
        sealers: Mapping[Kind, Sequence[SecretSealer]],
        edits: Edits,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._quotas = quotas
        self._policy = policy
        self._sealers = sealers
        self._edits = edits
        # Updates of one object wait for each other: otherwise they would conflict and retry often.
        self._object_locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def create(self, desired: DesiredObject, context: WriteContext, *, size: int = 0) -> StoredObject:
        """Create an object in the caller's namespace. If ``size``, the bytes of the request, is large, admission runs in a thread.

        Raises AlreadyExists, NotFound if its folder is missing, Invalid, Forbidden and QuotaReached.
        """
        kind, namespace = desired.kind, context.identity.namespace
        desired = replace(desired, finalizers=desired.finalizers or kind.finalizers)
        _, write = await run_in_thread_if_large(size, partial(self._admit, desired, namespace, context))
        view = await self._policy.view(context.identity, namespace)
        _require_permission(view, context, kind, "create", "", write.annotations.get(FOLDER_KEY))
        status = kind.status().to_json().decode() if kind.status is not None and issubclass(kind.status, ApiModel) else None
        async with self._database.transaction(dry_run=context.dry_run) as connection:
            locked_connection = await resources.lock(connection, namespace)
            checks.check_caller_permissions(write, None, context.identity)
            await checks.check_write(connection, namespace, write, None, self._settings)
            write = await _restored_write(connection, namespace, write, desired.uid, context)
            actor, now = context.actor.uid, self._clock.now()
            created_object = await resources.create(locked_connection, namespace, write, actor=actor, now=now, status=status)
            if kind is REPOSITORY:
                await jobs.delete_of_repository(connection, namespace, write.name)  # Jobs of a deleted repository with the same name.
            await checks.check_quota(connection, kind, namespace, self._quotas, self._settings)
            await _record(connection, context, kind, write.name, "create", context.created_status)
        if kind.is_tree:
            self._policy.invalidate(namespace)
        # The resource version of a dry run was rolled back and must not be returned.
        return replace(created_object, resource_version=0) if context.dry_run else created_object

    async def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[StoredObject], DesiredObject],
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
        size: int = 0,
    ) -> UpdateResult:
        """Change an object, or the file of a managed object. ``change`` returns the desired object for the stored one.

        ``change`` must be pure: it may run in a thread and several times. Raises NotFound, Conflict if preconditions fail or other
        writers change the object during every attempt, and the errors of ``create`` and ``Edits``.
        """
        view = await self._policy.view(context.identity, namespace)
        object_lock = self._object_locks.setdefault((kind.key, namespace, name), asyncio.Lock())
        async with object_lock:
            for _ in range(_MAX_ATTEMPTS):
                result = await self._attempt_update(kind, namespace, name, change, context, view, preconditions, size)
                if result is not None:
                    # An object marked as deleted is deleted with its access rules if the update removed its last finalizer.
                    if kind.is_tree or metadata.is_deleting(result.stored_object):
                        self._policy.invalidate(namespace)
                    return result
        raise conflict_error(kind, name, MODIFIED_MESSAGE)

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
        cascade: bool = False,
        grace_seconds: int | None = None,
    ) -> DeleteResult:
        """Delete an object, or mark it as deleted if it has finalizers.

        With ``cascade`` a folder is deleted with its content. With ``grace_seconds`` 0, objects that a file provisions can be deleted.
        Raises NotFound, Conflict, Forbidden if its repository allows no edits, and BadRequest for a folder that is not empty.
        """
        view = await self._policy.view(context.identity, namespace)
        async with self._database.connection() as connection:
            current = await resources.get(connection, kind, namespace, name)
        if metadata.manager_of(current):
            return await self._delete_file(current, context, view, preconditions)
        async with self._database.transaction(dry_run=context.dry_run) as connection:
            await resources.lock(connection, namespace)
            locked_object = await resources.get(connection, kind, namespace, name)
            (result,) = await self._delete_objects(
                connection, namespace, [locked_object], context, view, preconditions, cascade=cascade, grace_seconds=grace_seconds
            )
        self._policy.invalidate(namespace)  # Access rules are deleted with an object, and folders with a repository.
        return result

    async def delete_selected(
        self,
        kind: Kind,
        namespace: str,
        selection: Selection,
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
        cascade: bool = False,
        grace_seconds: int | None = None,
    ) -> int:
        """Delete every selected object that the caller may see, or none; return their number. Options are those of ``delete``.

        Raises the errors of ``delete``, which name the object, and BadRequest if more than ``MAX_DELETED`` objects are selected.
        """
        view = await self._policy.view(context.identity, namespace)
        async with self._database.transaction(dry_run=context.dry_run) as connection:
            await resources.lock(connection, namespace)
            objects = await removal.select_objects(connection, kind, namespace, selection, view)
            # A folder is empty only after the folders inside it are deleted, so folders are checked and deleted one by one.
            batches = [[folder] for folder in removal.deepest_first(objects)] if kind.is_tree else [objects]
            for batch in batches:
                await self._delete_objects(
                    connection, namespace, batch, context, view, preconditions, cascade=cascade, grace_seconds=grace_seconds
                )
        self._policy.invalidate(namespace)  # Access rules are deleted with an object, and folders with a repository.
        return len(objects)

    async def update_status(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[StoredObject], dict[str, Any]],
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
    ) -> UpdateResult:
        """Change only the status of an object. ``change`` returns the new status. Raises NotFound, Conflict, Invalid and Forbidden."""
        view = await self._policy.view(context.identity, namespace)
        async with self._database.transaction(dry_run=context.dry_run) as connection:
            await resources.lock(connection, namespace)
            current = await resources.get(connection, kind, namespace, name)
            _require_change_permissions(view, context, "status", current)
            preconditions.check_update(current)
            status = admission.validated_status(kind, name, change(current))
            if json_equal(status, read_json(current.status or "{}")):
                return UpdateResult(current, False)
            managed_fields = field_owners.status_managed_fields(current, status, context, self._clock.now())
            await resources.write_status(connection, kind, namespace, name, write_json(status), managed_fields)
            await _record(connection, context, kind, name, "status")
            updated = await resources.get(connection, kind, namespace, name)
        return UpdateResult(replace(updated, resource_version=current.resource_version) if context.dry_run else updated, True)

    def _admit_update(
        self, change: Callable[[StoredObject], DesiredObject], namespace: str, current: StoredObject, context: WriteContext
    ) -> tuple[DesiredObject, resources.Write]:
        return self._admit(admission.without_repeated_message(change(current), current), namespace, context, current)

    def _admit(
        self, desired: DesiredObject, namespace: str, context: WriteContext, current: StoredObject | None = None
    ) -> tuple[DesiredObject, resources.Write]:
        """Return the desired object with sealed secrets, and its write. ``current`` is the stored object; None for a new one."""
        if desired.kind is REPOSITORY:
            desired = declared.permitted_object(desired, current, context)
        for sealer in self._sealers.get(desired.kind, ()):
            desired = sealer.seal(desired, namespace, current)
        admitted = admission.admit(desired, namespace, self._settings, current)
        managed_fields = field_owners.managed_fields(desired, admitted, context, self._clock.now(), current)
        return desired, replace(admitted.write, managed_fields=managed_fields)

    async def _attempt_update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[StoredObject], DesiredObject],
        context: WriteContext,
        view: AccessView,
        preconditions: Preconditions,
        size: int,
    ) -> UpdateResult | None:
        """Make one attempt. Return None if another writer changed the object between its read and the lock."""
        # Read outside of the lock, since admission of a large body can take long. The version is compared again under the lock.
        async with self._database.connection() as connection:
            current = await resources.get(connection, kind, namespace, name)
        _require_change_permissions(view, context, "update", current)
        preconditions.check_update(current)
        size = max(size, len(current.spec))
        desired, write = await run_in_thread_if_large(size, partial(self._admit_update, change, namespace, current, context))
        # A move needs the permission in the new folder, too.
        if (folder := write.annotations.get(FOLDER_KEY)) != current.folder:
            _require_permission(view, context, kind, "update", "", folder)
        if desired.releases_manager:
            result = await self._release(namespace, current, write, context)
        elif metadata.manager_of(current):
            edits.check_manager(current, desired.annotations)
            result = await self._edit(namespace, current, edits.in_file_version(current, write), context)
        else:
            result = await self._write_if_unchanged(namespace, current, write, context)
        return None if result is None else replace(result, warnings=desired.warnings)

    async def _release(self, namespace: str, current: StoredObject, write: resources.Write, context: WriteContext) -> UpdateResult | None:
        """Write an object without its manager. The file in the repository is kept."""
        if not context.identity.may(REPOSITORY.actions["update"]):
            raise permission_denied(REPOSITORY.actions["update"])
        edits.check_release(current)
        release = edits.without_manager(write)
        return await self._write_if_unchanged(namespace, current, release, context, released_from=metadata.manager_of(current))

    async def _edit(self, namespace: str, current: StoredObject, write: resources.Write, context: WriteContext) -> UpdateResult | None:
        """Change a managed object in its file."""
        await self._edits.check(current)
        # A dry run first, so that the file is not changed if nothing would change in the store or the store refuses the write.
        trial_write = edits.trial_write(current, write)
        trial_result = await self._write_if_unchanged(namespace, current, trial_write, replace(context, dry_run=True))
        if trial_result is None or not trial_result.is_changed:
            return trial_result
        await self._edits.edit(current, write, context, partial(self._record_edit, current, context, "update"))
        if context.dry_run:
            return trial_result
        async with self._database.connection() as connection:
            return UpdateResult(await resources.get(connection, current.kind, namespace, current.name), True)

    async def _record_edit(self, current: StoredObject, context: WriteContext, verb: str) -> None:
        async with self._database.transaction() as connection:
            await _record(connection, context, current.kind, current.name, verb)

    async def _write_if_unchanged(
        self, namespace: str, current: StoredObject, write: resources.Write, context: WriteContext, *, released_from: str | None = None
    ) -> UpdateResult | None:
        """Write the object, or return None if ``current`` is outdated. ``released_from`` is the repository that stops managing it."""
        async with self._database.transaction(dry_run=context.dry_run) as connection:
            locked_connection = await resources.lock(connection, namespace)
            if await resources.find_resource_version(connection, current.kind, namespace, current.name) != current.resource_version:
                return None
            if released_from is not None:
                await repositories.require_full_sync(connection, namespace, released_from)
            return await self._put_object(locked_connection, namespace, current, write, context)

    async def _delete_file(
        self, current: StoredObject, context: WriteContext, view: AccessView, preconditions: Preconditions
    ) -> DeleteResult:
        """Delete a managed object by deleting its file."""
        _require_permission(view, context, current.kind, "delete", current.name, current.folder)
        preconditions.check_delete(current)
        await self._edits.check(current, verb="remove")
        await self._edits.edit(current, None, context, partial(self._record_edit, current, context, "delete"))
        return DeleteResult(current, True)

    async def _put_object(
        self, connection: resources.LockedConnection, namespace: str, current: StoredObject, write: resources.Write, context: WriteContext
    ) -> UpdateResult:
        """Check and write the object under the lock of objects. Delete it if it waited only for finalizers that the write removes."""
        checks.check_finalizers(current, write)
        checks.check_caller_permissions(write, current, context.identity)
        await checks.check_write(connection, namespace, write, current, self._settings)
        updated = await resources.put(connection, namespace, write, actor=context.actor.uid, now=self._clock.now())
        if updated is None:
            return UpdateResult(current, False)
        await _record(connection, context, current.kind, current.name, "update")
        if metadata.is_deleting(updated) and not metadata.client_finalizers(updated):
            await self._delete_rows(connection, namespace, [updated], context)
        return UpdateResult(replace(updated, resource_version=current.resource_version) if context.dry_run else updated, True)

    async def _delete_objects(
        self,
        connection: Connection,
        namespace: str,
        objects: Sequence[StoredObject],
        context: WriteContext,
        view: AccessView,
        preconditions: Preconditions,
        *,
        cascade: bool,
        grace_seconds: int | None,
    ) -> Sequence[DeleteResult]:
        """Delete objects of one kind; mark those that wait for finalizers as deleted. If an error is raised, roll back the transaction."""
        for item in objects:
            _require_permission(view, context, item.kind, "delete", item.name, item.folder)
            preconditions.check_delete(item)
            await checks.check_delete(
                connection, namespace, item, view, actor=context.actor.uid, cascade=cascade, grace_seconds=grace_seconds
            )
        objects_to_keep = [item for item in objects if metadata.client_finalizers(item)]
        for item in objects_to_keep:
            _require_permission(view, context, item.kind, "get", item.name, item.folder)  # The response has the complete object.
        objects_to_mark = [item for item in objects_to_keep if not metadata.is_deleting(item)]
        for item in objects_to_mark:
            await resources.mark_deleted(connection, item.kind, namespace, item.name, actor=context.actor.uid, now=self._clock.now())
        objects_to_delete = [item for item in objects if not metadata.client_finalizers(item)]
        await self._delete_rows(connection, namespace, objects_to_delete, context)
        events = [_event(context, item.kind, item.name, "delete") for item in (*objects_to_mark, *objects_to_delete)]
        await audit.record_all(connection, events)
        waiting_objects = {item.name: await resources.get(connection, item.kind, namespace, item.name) for item in objects_to_keep}
        return [delete_result(item, waiting_objects.get(item.name), dry_run=context.dry_run) for item in objects]

    async def _delete_rows(self, connection: Connection, namespace: str, objects: Sequence[StoredObject], context: WriteContext) -> None:
        """Delete stored objects of one kind. For a repository, end its jobs and delete or release its managed objects first."""
        if not objects:
            return
        kind, actor = objects[0].kind, context.actor.uid
        if kind is REPOSITORY:
            for item in objects:
                await removal.end_jobs(connection, namespace, item.name, finished_at=self._clock.milliseconds())
                await removal.end_management(connection, namespace, item, actor=actor)
                await removal.queue_webhook_removal(connection, namespace, item)
        await resources.delete(connection, kind, namespace, [item.name for item in objects], actor=actor, to_trash=kind.history)


async def _restored_write(
    connection: Connection, namespace: str, write: resources.Write, uid: str, context: WriteContext
) -> resources.Write:
    """Return the write as a restore of the deleted object with this uid; unchanged if the caller can restore no such object."""
    if not uid or not write.kind.history:
        return write
    version = await histories.restore(connection, write.kind, namespace, write.name, uid, deleted_by=deleted_by_filter(context.identity))
    if version is None:
        return write
    return replace(write, uid=version.uid, number=version.number, generation=version.generation + 1, restored_from=version.generation)


def _require_permission(view: AccessView, context: WriteContext, kind: Kind, verb: str, name: str, folder: str | None) -> None:
    """Raise Forbidden if the caller may not use a verb. The name is empty for an object that is new in the folder: no rule names it."""
    require_permission(view, kind.actions[verb], kind, name, folder, login=context.identity.login)


def _require_change_permissions(view: AccessView, context: WriteContext, verb: str, current: StoredObject) -> None:
    """Raise Forbidden if the caller may not change and read the object: the response to a change has the complete object."""
    for required_verb in (verb, "get"):
        _require_permission(view, context, current.kind, required_verb, current.name, current.folder)


async def _record(connection: Connection, context: WriteContext, kind: Kind, name: str, verb: str, status: int = 200) -> None:
    await audit.record_all(connection, [_event(context, kind, name, verb, status)])


def _event(context: WriteContext, kind: Kind, name: str, verb: str, status: int = 200) -> audit.Event:
    return audit.Event(
        context.actor, context.event or event_of(kind, verb), subject_of(kind, name), status=status, org_id=context.actor.org_id
    )
