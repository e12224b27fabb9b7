"""The one writer of stored objects: every door that makes, changes or removes one comes through here.

What can be done without the lock is done before it: reading, comparing, checking against the model. Under it only rules that need
the store, and the write.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.domain.access.view import View, deleter_of, demand
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.domain.selectors import Selection
from dashwright.api.http.denial import denied
from dashwright.api.resources import rules
from dashwright.api.resources.writing import admission, edits, owners, selecting
from dashwright.api.resources.writing.desired_object import ANYTHING, MODIFIED, By, Changed, Deleted, Expect, Wanted, conflict
from dashwright.api.resources.writing.edits import Edits
from dashwright.api.resources.writing.sealing import Sealing
from dashwright.api.stores import audit
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.trial import trial
from dashwright.common.document import read_json, same, write_json
from dashwright.common.kinds.annotations import FOLDER, MESSAGE
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.models.shape import Shape
from dashwright.common.stores import histories, repositories, resources
from dashwright.common.stores.resources import Stored

LARGE: Final = 64 * 1024
"""Bytes of a body whose reading is noticed by others."""

_TRIES: Final = 5

Result = TypeVar("Result")


class Writer:
    def __init__(
        self,
        database: Database,
        clock: Clock,
        settings: AdmissionSettings,
        quotas: QuotaRules,
        guard: AccessPolicy,
        sealing: Sealing,
        edits: Edits,
    ) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._quotas = quotas
        self._guard = guard
        self._sealing = sealing
        self._edits = edits
        # Who changes one object waits for the others here, rather than to be turned away again and again by the store.
        self._turns: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    async def create(self, wanted: Wanted, by: By, *, size: int = 0) -> Stored:
        """Makes an object in the caller's namespace. ``size`` is how many bytes it came in.

        Raises AlreadyExists, NotFound for its folder, Invalid, Forbidden, and QuotaReached.
        """
        kind, namespace = wanted.kind, by.identity.namespace
        wanted = replace(wanted, finalizers=wanted.finalizers or kind.finalizers)
        write = await aside(size, partial(self._new, wanted, namespace, by))
        view = await self._guard.view(by.identity, namespace)
        _demand(view, by, kind, "create", "", write.annotations.get(FOLDER))
        status = kind.status().to_json().decode() if kind.status is not None and issubclass(kind.status, Shape) else None
        async with self._transaction(by) as connection:
            await resources.lock(connection)
            rules.check_claims(write, None, by.identity)
            await rules.check_write(connection, namespace, write, None, self._settings)
            write = await _made_again(connection, namespace, write, wanted.uid, by)
            await resources.create(connection, namespace, write, actor=by.actor.uid, now=self._clock.now(), status=status)
            await rules.check_created(connection, kind, namespace, self._quotas)
            await _record(connection, by, kind, write.name, "create", by.created)
            stored = await resources.get(connection, kind, namespace, write.name)
        if kind.is_tree:
            self._guard.forget(namespace)
        return replace(stored, resource_version=0) if by.dry_run else stored

    async def update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[Stored], Wanted],
        by: By,
        *,
        expect: Expect = ANYTHING,
        size: int = 0,
    ) -> Changed:
        """Changes an object. ``change`` says what is wanted of the one that is stored: it is pure, may run in a thread, and again.

        What a repository manages is changed by its file. Raises NotFound, Conflict where the object is not as expected, or changes faster
        than it can be written, and what ``create`` and ``Edits`` do.
        """
        view = await self._guard.view(by.identity, namespace)
        turn = self._turns.setdefault((kind.key, namespace, name), asyncio.Lock())
        async with turn:
            for _ in range(_TRIES):
                changed = await self._try_update(kind, namespace, name, change, by, view, expect, size)
                if changed is not None:
                    if kind.is_tree or rules.is_deleting(changed.stored):
                        self._guard.forget(namespace)
                    return changed
        raise conflict(kind, name, MODIFIED)

    async def delete(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        by: By,
        *,
        expect: Expect = ANYTHING,
        cascade: bool = False,
        grace: int | None = None,
    ) -> Deleted:
        """Removes an object, or marks it as deleted where finalizers are left.

        ``cascade``: a folder goes with everything inside. ``grace`` 0 overrules what a file provisions. Raises NotFound, Conflict,
        Forbidden for what a repository manages, and BadRequest for a folder that is not empty.
        """
        view = await self._guard.view(by.identity, namespace)
        async with self._database.connection() as connection:
            stored = await resources.get(connection, kind, namespace, name)
        if rules.manager_of(stored):
            return await self._delete_file(stored, by, view, expect)
        async with self._transaction(by) as connection:
            await resources.lock(connection)
            found = [await resources.get(connection, kind, namespace, name)]
            (deleted,) = await self._delete(connection, namespace, found, by, view, expect=expect, cascade=cascade, grace=grace)
        self._guard.forget(namespace)  # with an object go its rules, and with a repository its folders
        return deleted

    async def delete_selected(
        self,
        kind: Kind,
        namespace: str,
        selection: Selection,
        by: By,
        *,
        expect: Expect = ANYTHING,
        cascade: bool = False,
        grace: int | None = None,
    ) -> int:
        """Removes every object that is selected and that the caller may see, or none; answers how many. Options as in ``delete``.

        Raises what that does, naming the object, and BadRequest where they are too many for one transaction.
        """
        view = await self._guard.view(by.identity, namespace)
        async with self._transaction(by) as connection:
            await resources.lock(connection)
            found = await selecting.selected(connection, kind, namespace, selection, view)
            for batch in [[stored] for stored in selecting.deepest_first(found)] if kind.is_tree else [found]:
                await self._delete(connection, namespace, batch, by, view, expect=expect, cascade=cascade, grace=grace)
        self._guard.forget(namespace)  # with an object go its rules, and with a repository its folders
        return len(found)

    async def update_status(
        self, kind: Kind, namespace: str, name: str, change: Callable[[Stored], dict[str, Any]], by: By, *, expect: Expect = ANYTHING
    ) -> Changed:
        """Changes the status of an object, and nothing else of it. ``change`` says what it is to be, by the stored object.

        Raises NotFound, Conflict, Invalid and Forbidden.
        """
        view = await self._guard.view(by.identity, namespace)
        async with self._transaction(by) as connection:
            await resources.lock(connection)
            stored = await resources.get(connection, kind, namespace, name)
            _demand_change(view, by, "status", stored)
            expect.check_update(stored)
            status = admission.shaped_status(kind, name, change(stored))
            if same(status, read_json(stored.status or "{}")):
                return Changed(stored, False)
            fields = owners.owned_status(stored, status, by, self._clock.now())
            await resources.write_status(connection, kind, namespace, name, write_json(status), fields)
            await _record(connection, by, kind, name, "status")
            now = await resources.get(connection, kind, namespace, name)
        return Changed(replace(now, resource_version=stored.resource_version) if by.dry_run else now, True)

    def _new(self, wanted: Wanted, namespace: str, by: By) -> resources.Write:
        wanted = self._sealing.seal(wanted, namespace, None)
        admitted = admission.admit(wanted, namespace, self._settings)
        return replace(admitted.write, managed_fields=owners.owned(wanted, admitted, by, self._clock.now()))

    def _changed(self, change: Callable[[Stored], Wanted], namespace: str, stored: Stored, by: By) -> tuple[Wanted, resources.Write]:
        wanted = _without_old_message(change(stored), stored)
        wanted = self._sealing.seal(wanted, namespace, stored)
        admitted = admission.admit(wanted, namespace, self._settings, stored)
        return wanted, replace(admitted.write, managed_fields=owners.owned(wanted, admitted, by, self._clock.now(), stored))

    async def _try_update(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Callable[[Stored], Wanted],
        by: By,
        view: View,
        expect: Expect,
        size: int,
    ) -> Changed | None:
        """None where the object was written between its reading and its lock."""
        async with self._database.connection() as connection:
            stored = await resources.get(connection, kind, namespace, name)
        _demand_change(view, by, "update", stored)
        expect.check_update(stored)
        wanted, write = await aside(max(size, len(stored.spec)), partial(self._changed, change, namespace, stored, by))
        if (folder := write.annotations.get(FOLDER)) != stored.folder:
            _demand(view, by, kind, "update", "", folder)
        if wanted.lets_go:
            changed = await self._let_go(namespace, stored, write, by)
        elif rules.manager_of(stored):
            edits.check_manager(stored, wanted.annotations)
            changed = await self._edit(namespace, stored, write, by)
        else:
            changed = await self._tried(namespace, stored, write, by)
        return None if changed is None else replace(changed, warnings=wanted.warnings)

    async def _let_go(self, namespace: str, stored: Stored, write: resources.Write, by: By) -> Changed | None:
        """The same of what a repository is to manage no more. Its file stays as it is."""
        if not by.identity.may(REPOSITORY.actions["update"]):
            raise denied(REPOSITORY.actions["update"])
        edits.check_letting_go(stored)
        return await self._tried(namespace, stored, edits.unmanaged(write), by, lets_go=rules.manager_of(stored))

    async def _edit(self, namespace: str, stored: Stored, write: resources.Write, by: By) -> Changed | None:
        """The same of what a repository manages. It is tried here first: what the store refuses, or has, is not asked of the file."""
        await self._edits.check(stored)
        tried = await self._tried(namespace, stored, edits.of_its_file(stored, write), replace(by, dry_run=True))
        if tried is None or not tried.is_changed:
            return tried
        await self._edits.make(stored, write, by, partial(self._record_edit, stored, by, "update"))
        if by.dry_run:
            return tried
        async with self._database.connection() as connection:
            return Changed(await resources.get(connection, stored.kind, namespace, stored.name), True)

    async def _record_edit(self, stored: Stored, by: By, verb: str) -> None:
        async with self._database.transaction() as connection:
            await _record(connection, by, stored.kind, stored.name, verb)

    async def _tried(self, namespace: str, stored: Stored, write: resources.Write, by: By, *, lets_go: str | None = None) -> Changed | None:
        """None where the object was written since it was read. ``lets_go`` is the repository that manages it no more."""
        async with self._transaction(by) as connection:
            await resources.lock(connection)
            if await resources.version(connection, stored.kind, namespace, stored.name) != stored.resource_version:
                return None
            if lets_go is not None:
                await repositories.look_anew(connection, namespace, lets_go)
            return await self._put(connection, namespace, stored, write, by)

    async def _delete_file(self, stored: Stored, by: By, view: View, expect: Expect) -> Deleted:
        """Removes what a repository manages by its file."""
        _demand(view, by, stored.kind, "delete", stored.name, stored.folder)
        expect.check_delete(stored)
        await self._edits.check(stored, instead="remove")
        await self._edits.make(stored, None, by, partial(self._record_edit, stored, by, "delete"))
        return Deleted(stored, True)

    async def _put(self, connection: Connection, namespace: str, stored: Stored, write: resources.Write, by: By) -> Changed:
        kind, name = stored.kind, stored.name
        rules.check_finalizers(stored, write)
        rules.check_claims(write, stored, by.identity)
        await rules.check_write(connection, namespace, write, stored, self._settings)
        if await resources.put(connection, namespace, write, actor=by.actor.uid, now=self._clock.now()) is None:
            return Changed(stored, False)
        await _record(connection, by, kind, name, "update")
        now = await resources.get(connection, kind, namespace, name)
        if rules.is_deleting(now) and not rules.others_finalizers(now):
            await self._remove(connection, namespace, [now], by)
        return Changed(replace(now, resource_version=stored.resource_version) if by.dry_run else now, True)

    async def _delete(
        self,
        connection: Connection,
        namespace: str,
        found: Sequence[Stored],
        by: By,
        view: View,
        *,
        expect: Expect,
        cascade: bool,
        grace: int | None,
    ) -> Sequence[Deleted]:
        """Removes objects of one kind: all, or with an error none."""
        for stored in found:
            _demand(view, by, stored.kind, "delete", stored.name, stored.folder)
            expect.check_delete(stored)
            await rules.check_delete(connection, namespace, stored, view, actor=by.actor.uid, cascade=cascade, grace=grace)
        waiting = {stored.name: stored for stored in found if rules.others_finalizers(stored)}
        for stored in waiting.values():
            _demand(view, by, stored.kind, "get", stored.name, stored.folder)  # they are answered whole
        marked = [stored for stored in waiting.values() if not rules.is_deleting(stored)]
        for stored in marked:
            await resources.mark_deleted(connection, stored.kind, namespace, stored.name, actor=by.actor.uid, now=self._clock.now())
        gone = [stored for stored in found if stored.name not in waiting]
        await self._remove(connection, namespace, gone, by)
        await audit.record_all(connection, [_event(by, stored.kind, stored.name, "delete") for stored in (*marked, *gone)])
        left = {stored.name: await resources.get(connection, stored.kind, namespace, stored.name) for stored in waiting.values()}
        return [_deleted(stored, left.get(stored.name), by) for stored in found]

    async def _remove(self, connection: Connection, namespace: str, gone: Sequence[Stored], by: By) -> None:
        """A repository goes together with what it manages, or lets go of it."""
        if not gone:
            return
        kind, actor = gone[0].kind, by.actor.uid
        if kind is REPOSITORY:
            for stored in gone:
                await rules.end_jobs(connection, namespace, stored.name, now=self._clock.milliseconds())
                await rules.end_managing(connection, namespace, stored, actor=actor)
                await rules.end_hook(connection, namespace, stored)
        await resources.delete(connection, kind, namespace, [stored.name for stored in gone], actor=actor, keep=kind.history)

    @asynccontextmanager
    async def _transaction(self, by: By) -> AsyncIterator[Connection]:
        async with self._database.connection() as connection, trial(connection, dry_run=by.dry_run):
            yield connection


async def aside(size: int, work: Callable[[], Result]) -> Result:
    """Does ``work`` on so many bytes: in a thread where they are many, since everybody else would wait for it."""
    return work() if size < LARGE else await asyncio.to_thread(work)


async def _made_again(connection: Connection, namespace: str, write: resources.Write, uid: str, by: By) -> resources.Write:
    """A write that goes on where the object was when it was deleted, if it is that one that is wanted again."""
    if not uid or not write.kind.history:
        return write
    taken = await histories.take_back(connection, write.kind, namespace, write.name, uid, deleted_by=deleter_of(by.identity))
    if taken is None:
        return write
    return replace(write, uid=taken.uid, number=taken.number, generation=taken.generation + 1, restored_from=taken.generation)


def _demand(view: View, by: By, kind: Kind, verb: str, name: str, folder: str | None) -> None:
    demand(view, kind.actions[verb], kind, name, folder, login=by.identity.login)


def _demand_change(view: View, by: By, verb: str, stored: Stored) -> None:
    """Who changes an object is answered the whole of it: that takes the right to read it, too."""
    for needed in (verb, "get"):
        _demand(view, by, stored.kind, needed, stored.name, stored.folder)


def _without_old_message(wanted: Wanted, stored: Stored) -> Wanted:
    """Return what is wanted without the message of the stored version, which clients send back with the object that they read."""
    message = wanted.annotations.get(MESSAGE)
    if wanted.is_body or message is None or message != rules.annotations_of(stored).get(MESSAGE):
        return wanted
    return replace(wanted, annotations={key: text for key, text in wanted.annotations.items() if key != MESSAGE})


async def _record(connection: Connection, by: By, kind: Kind, name: str, verb: str, status: int = 200) -> None:
    await audit.record_all(connection, [_event(by, kind, name, verb, status)])


def _event(by: By, kind: Kind, name: str, verb: str, status: int = 200) -> audit.Event:
    return audit.Event(by.actor, by.event or event_of(kind, verb), subject_of(kind, name), status=status, org_id=by.actor.org_id)


def _deleted(stored: Stored, left: Stored | None, by: By) -> Deleted:
    if left is None:
        return Deleted(stored, True)
    return Deleted(replace(left, resource_version=stored.resource_version) if by.dry_run else left, False)
