"""The one writer of stored objects, for every entry point that creates, changes or deletes one.

Reading, comparing and admission run before the lock. Only checks that need the store and the write itself run under it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.view import View, deleter_of, demand
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.domain.selectors import Selection
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources import metadata
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.writing import admission, checks, edits, field_owners, removal
from dashwright.api.resources.writing.desired_object import (
    MODIFIED,
    NO_PRECONDITIONS,
    DeleteResult,
    DesiredObject,
    Preconditions,
    UpdateResult,
    WriteContext,
    conflict_error,
)
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.sealing import TokenSealer
from dashwright.api.stores import audit
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.trial import trial
from dashwright.common.document import json_equal, read_json, write_json
from dashwright.common.kinds.annotations import FOLDER_KEY
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.models.shape import Shape
from dashwright.common.stores import histories, repositories, resources
from dashwright.common.stores.resources import StoredObject

_TRIES: Final = 5


class Writer:
    """Writer of stored objects."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: AdmissionSettings,
        quotas: QuotaRules,
        policy: AccessPolicy,
        sealing: TokenSealer,
        edits: Edits,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._quotas = quotas
        self._policy = policy
        self._sealing = sealing
        self._edits = edits
        # Writers of one object queue here. Without the queue they would conflict in the store again and again.
        self._object_locks: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def create(self, desired: DesiredObject, context: WriteContext, *, size: int = 0) -> StoredObject:
        """Create an object in the caller's namespace. ``size`` is the number of bytes that were sent.

        Raises AlreadyExists, NotFound for its folder, Invalid, Forbidden and QuotaReached.
        """
        kind, namespace = desired.kind, context.identity.namespace
        desired = replace(desired, finalizers=desired.finalizers or kind.finalizers)
        write = await run_sized(size, partial(self._new, desired, namespace, context))
        view = await self._policy.view(context.identity, namespace)
        _demand(view, context, kind, "create", "", write.annotations.get(FOLDER_KEY))
        status = kind.status().to_json().decode() if kind.status is not None and issubclass(kind.status, Shape) else None
        async with self._transaction(context) as connection:
            locked = await resources.lock(connection)
            checks.check_claims(write, None, context.identity)
            await checks.check_write(connection, namespace, write, None, self._settings)
            write = await _restored_write(connection, namespace, write, desired.uid, context)
            stored = await resources.create(locked, namespace, write, actor=context.actor.uid, now=self._clock.now(), status=status)
            await checks.check_created(connection, kind, namespace, self._quotas)
            await _record(connection, context, kind, write.name, "create", context.created)
        if kind.is_tree:
            self._policy.forget(namespace)
        # The version that a dry run drew was rolled back and must not be returned.
        return replace(stored, resource_version=0) if context.dry_run else stored

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
        """Change an object. ``change`` returns the desired object for the stored one; it is pure and may run again, in a thread.

        A managed object is changed in its file. Raises NotFound, Conflict if preconditions fail or the object changes faster than
        it can be written, and what ``create`` and ``Edits`` raise.
        """
        view = await self._policy.view(context.identity, namespace)
        object_lock = self._object_locks.setdefault((kind.key, namespace, name), asyncio.Lock())
        async with object_lock:
            for _ in range(_TRIES):
                changed = await self._try_update(kind, namespace, name, change, context, view, preconditions, size)
                if changed is not None:
                    if kind.is_tree or metadata.is_deleting(changed.stored):
                        self._policy.forget(namespace)
                    return changed
        raise conflict_error(kind, name, MODIFIED)

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
        cascade: bool = False,
        grace: int | None = None,
    ) -> DeleteResult:
        """Delete an object, or mark it as deleted if it has finalizers.

        With ``cascade`` a folder is deleted with its content; a ``grace`` of 0 deletes provisioned objects. Raises NotFound,
        Conflict, Forbidden for a managed object, and BadRequest for a folder that is not empty.
        """
        view = await self._policy.view(context.identity, namespace)
        async with self._database.connection() as connection:
            stored = await resources.get(connection, kind, namespace, name)
        if metadata.manager_of(stored):
            return await self._delete_file(stored, context, view, preconditions)
        async with self._transaction(context) as connection:
            await resources.lock(connection)
            found = [await resources.get(connection, kind, namespace, name)]
            (deleted,) = await self._delete(
                connection, namespace, found, context, view, preconditions=preconditions, cascade=cascade, grace=grace
            )
        self._policy.forget(namespace)  # rules are deleted with an object, folders with a repository
        return deleted

    async def delete_selected(
        self,
        kind: Kind,
        namespace: str,
        selection: Selection,
        context: WriteContext,
        *,
        preconditions: Preconditions = NO_PRECONDITIONS,
        cascade: bool = False,
        grace: int | None = None,
    ) -> int:
        """Delete every selected object that the caller may see, or none; return their number. Options are those of ``delete``.

        Raises what ``delete`` raises, naming the object, and BadRequest if the objects exceed one transaction.
        """
        view = await self._policy.view(context.identity, namespace)
        async with self._transaction(context) as connection:
            await resources.lock(connection)
            found = await removal.select(connection, kind, namespace, selection, view)
            for batch in [[stored] for stored in removal.deepest_first(found)] if kind.is_tree else [found]:
                await self._delete(connection, namespace, batch, context, view, preconditions=preconditions, cascade=cascade, grace=grace)
        self._policy.forget(namespace)  # rules are deleted with an object, folders with a repository
        return len(found)

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
        """Change only the status of an object. ``change`` returns the new status for the stored object.

        Raises NotFound, Conflict, Invalid and Forbidden.
        """
        view = await self._policy.view(context.identity, namespace)
        async with self._transaction(context) as connection:
            await resources.lock(connection)
            stored = await resources.get(connection, kind, namespace, name)
            _demand_change(view, context, "status", stored)
            preconditions.check_update(stored)
            status = admission.validated_status(kind, name, change(stored))
            if json_equal(status, read_json(stored.status or "{}")):
                return UpdateResult(stored, False)
            fields = field_owners.status_managed_fields(stored, status, context, self._clock.now())
            await resources.write_status(connection, kind, namespace, name, write_json(status), fields)
            await _record(connection, context, kind, name, "status")
            now = await resources.get(connection, kind, namespace, name)
        return UpdateResult(replace(now, resource_version=stored.resource_version) if context.dry_run else now, True)

    def _new(self, desired: DesiredObject, namespace: str, context: WriteContext) -> resources.Write:
        desired = self._sealing.seal(desired, namespace, None)
        admitted = admission.admit(desired, namespace, self._settings)
        return replace(admitted.write, managed_fields=field_owners.managed_fields(desired, admitted, context, self._clock.now()))

    def _changed(
        self, change: Callable[[StoredObject], DesiredObject], namespace: str, stored: StoredObject, context: WriteContext
    ) -> tuple[DesiredObject, resources.Write]:
        desired = admission.without_old_message(change(stored), stored)
        desired = self._sealing.seal(desired, namespace, stored)
        admitted = admission.admit(desired, namespace, self._settings, stored)
        return desired, replace(
            admitted.write, managed_fields=field_owners.managed_fields(desired, admitted, context, self._clock.now(), stored)
        )

    async def _try_update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[StoredObject], DesiredObject],
        context: WriteContext,
        view: View,
        preconditions: Preconditions,
        size: int,
    ) -> UpdateResult | None:
        """Try the update once; return None if the object was written between the read and the lock."""
        # Read outside of the lock: admission can take long for a large body and would hold up all other writers. The version is
        # compared again under the lock, and the caller retries if another write came first.
        async with self._database.connection() as connection:
            stored = await resources.get(connection, kind, namespace, name)
        _demand_change(view, context, "update", stored)
        preconditions.check_update(stored)
        desired, write = await run_sized(max(size, len(stored.spec)), partial(self._changed, change, namespace, stored, context))
        if (folder := write.annotations.get(FOLDER_KEY)) != stored.folder:
            _demand(view, context, kind, "update", "", folder)
        if desired.releases:
            changed = await self._release(namespace, stored, write, context)
        elif metadata.manager_of(stored):
            edits.check_manager(stored, desired.annotations)
            changed = await self._edit(namespace, stored, write, context)
        else:
            changed = await self._write_if_unchanged(namespace, stored, write, context)
        return None if changed is None else replace(changed, warnings=desired.warnings)

    async def _release(self, namespace: str, stored: StoredObject, write: resources.Write, context: WriteContext) -> UpdateResult | None:
        """Write an object that its repository stops managing. Its file is kept."""
        if not context.identity.may(REPOSITORY.actions["update"]):
            raise permission_denied(REPOSITORY.actions["update"])
        edits.check_release(stored)
        return await self._write_if_unchanged(
            namespace, stored, edits.without_manager(write), context, releases=metadata.manager_of(stored)
        )

    async def _edit(self, namespace: str, stored: StoredObject, write: resources.Write, context: WriteContext) -> UpdateResult | None:
        """Change a managed object in its file."""
        await self._edits.check(stored)
        # A dry run first: a change without effect, or one that the store refuses, must not reach the file.
        trial_result = await self._write_if_unchanged(namespace, stored, edits.file_write(stored, write), replace(context, dry_run=True))
        if trial_result is None or not trial_result.is_changed:
            return trial_result
        await self._edits.make(stored, write, context, partial(self._record_edit, stored, context, "update"))
        if context.dry_run:
            return trial_result
        async with self._database.connection() as connection:
            return UpdateResult(await resources.get(connection, stored.kind, namespace, stored.name), True)

    async def _record_edit(self, stored: StoredObject, context: WriteContext, verb: str) -> None:
        async with self._database.transaction() as connection:
            await _record(connection, context, stored.kind, stored.name, verb)

    async def _write_if_unchanged(
        self, namespace: str, stored: StoredObject, write: resources.Write, context: WriteContext, *, releases: str | None = None
    ) -> UpdateResult | None:
        """Write the object, or return None if it was written since it was read. ``releases`` is the repository that stops managing it."""
        async with self._transaction(context) as connection:
            locked = await resources.lock(connection)
            if await resources.version(connection, stored.kind, namespace, stored.name) != stored.resource_version:
                return None
            if releases is not None:
                await repositories.require_full_sync(connection, namespace, releases)
            return await self._put(locked, namespace, stored, write, context)

    async def _delete_file(self, stored: StoredObject, context: WriteContext, view: View, preconditions: Preconditions) -> DeleteResult:
        """Delete a managed object by deleting its file."""
        _demand(view, context, stored.kind, "delete", stored.name, stored.folder)
        preconditions.check_delete(stored)
        await self._edits.check(stored, instead="remove")
        await self._edits.make(stored, None, context, partial(self._record_edit, stored, context, "delete"))
        return DeleteResult(stored, True)

    async def _put(
        self, connection: resources.LockedConnection, namespace: str, stored: StoredObject, write: resources.Write, context: WriteContext
    ) -> UpdateResult:
        kind, name = stored.kind, stored.name
        checks.check_finalizers(stored, write)
        checks.check_claims(write, stored, context.identity)
        await checks.check_write(connection, namespace, write, stored, self._settings)
        now = await resources.put(connection, namespace, write, actor=context.actor.uid, now=self._clock.now())
        if now is None:
            return UpdateResult(stored, False)
        await _record(connection, context, kind, name, "update")
        if metadata.is_deleting(now) and not metadata.others_finalizers(now):
            await self._remove(connection, namespace, [now], context)
        return UpdateResult(replace(now, resource_version=stored.resource_version) if context.dry_run else now, True)

    async def _delete(
        self,
        connection: Connection,
        namespace: str,
        found: Sequence[StoredObject],
        context: WriteContext,
        view: View,
        *,
        preconditions: Preconditions,
        cascade: bool,
        grace: int | None,
    ) -> Sequence[DeleteResult]:
        """Delete objects of one kind: all of them, or with an error none."""
        for stored in found:
            _demand(view, context, stored.kind, "delete", stored.name, stored.folder)
            preconditions.check_delete(stored)
            await checks.check_delete(connection, namespace, stored, view, actor=context.actor.uid, cascade=cascade, grace=grace)
        waiting = {stored.name: stored for stored in found if metadata.others_finalizers(stored)}
        for stored in waiting.values():
            _demand(view, context, stored.kind, "get", stored.name, stored.folder)  # the response shows the whole object
        marked = [stored for stored in waiting.values() if not metadata.is_deleting(stored)]
        for stored in marked:
            await resources.mark_deleted(connection, stored.kind, namespace, stored.name, actor=context.actor.uid, now=self._clock.now())
        removed = [stored for stored in found if stored.name not in waiting]
        await self._remove(connection, namespace, removed, context)
        await audit.record_all(connection, [_event(context, stored.kind, stored.name, "delete") for stored in (*marked, *removed)])
        remaining = {stored.name: await resources.get(connection, stored.kind, namespace, stored.name) for stored in waiting.values()}
        return [_deleted(stored, remaining.get(stored.name), context) for stored in found]

    async def _remove(self, connection: Connection, namespace: str, removed: Sequence[StoredObject], context: WriteContext) -> None:
        """Delete rows. A repository is deleted together with what it manages, or releases it."""
        if not removed:
            return
        kind, actor = removed[0].kind, context.actor.uid
        if kind is REPOSITORY:
            for stored in removed:
                await removal.end_jobs(connection, namespace, stored.name, now=self._clock.milliseconds())
                await removal.end_management(connection, namespace, stored, actor=actor)
                await removal.queue_hook_removal(connection, namespace, stored)
        await resources.delete(connection, kind, namespace, [stored.name for stored in removed], actor=actor, keep=kind.history)

    @asynccontextmanager
    async def _transaction(self, context: WriteContext) -> AsyncIterator[Connection]:
        async with self._database.connection() as connection, trial(connection, dry_run=context.dry_run):
            yield connection


async def _restored_write(
    connection: Connection, namespace: str, write: resources.Write, uid: str, context: WriteContext
) -> resources.Write:
    """Return a write that continues a deleted object of this uid: its number and generations."""
    if not uid or not write.kind.history:
        return write
    taken = await histories.restore(connection, write.kind, namespace, write.name, uid, deleted_by=deleter_of(context.identity))
    if taken is None:
        return write
    return replace(write, uid=taken.uid, number=taken.number, generation=taken.generation + 1, restored_from=taken.generation)


def _demand(view: View, context: WriteContext, kind: Kind, verb: str, name: str, folder: str | None) -> None:
    demand(view, kind.actions[verb], kind, name, folder, login=context.identity.login)


def _demand_change(view: View, context: WriteContext, verb: str, stored: StoredObject) -> None:
    """Raise Forbidden if the caller may not change and read the object: a change responds with the whole object."""
    for needed in (verb, "get"):
        _demand(view, context, stored.kind, needed, stored.name, stored.folder)


async def _record(connection: Connection, context: WriteContext, kind: Kind, name: str, verb: str, status: int = 200) -> None:
    await audit.record_all(connection, [_event(context, kind, name, verb, status)])


def _event(context: WriteContext, kind: Kind, name: str, verb: str, status: int = 200) -> audit.Event:
    return audit.Event(
        context.actor, context.event or event_of(kind, verb), subject_of(kind, name), status=status, org_id=context.actor.org_id
    )


def _deleted(stored: StoredObject, remaining: StoredObject | None, context: WriteContext) -> DeleteResult:
    if remaining is None:
        return DeleteResult(stored, True)
    return DeleteResult(replace(remaining, resource_version=stored.resource_version) if context.dry_run else remaining, False)
