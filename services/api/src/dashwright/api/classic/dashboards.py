"""Dashboards in the classic API: save, find, restore and delete, by the rules of the resource API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.domain.access.view import deleter_of
from dashwright.api.domain.events import event_of
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.threads import run_sized
from dashwright.api.resources.writing.desired_object import DesiredObject, Preconditions, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import titles
from dashwright.common.database.pool import Database
from dashwright.common.document import read_json
from dashwright.common.errors import AlreadyExists, NotFound, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import histories, quotas, resources
from dashwright.common.stores.histories import StoredVersion
from dashwright.common.stores.resources import StoredObject

SAVE: Final = event_of(DASHBOARD, "save")
RESTORE: Final = event_of(DASHBOARD, "restore")

_MOST_DELETED: Final = 1000
# The store has the current values; copies in the body would become outdated.
_SET_BY_STORE: Final = frozenset({"id", "uid", "version"})


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """A dashboard to save."""

    #: The body as it was sent.
    spec: Mapping[str, Any]
    #: Empty if not given.
    uid: str
    #: 0 if not given.
    number: int
    #: The version to replace; None: create, or replace with ``overwrite``.
    version: int | None
    #: None: use ``folder_number``; without both the folder is the root.
    folder_uid: str | None
    folder_number: int | None
    #: Stored with the version.
    message: str
    #: Replace any version.
    overwrite: bool
    #: Bytes of the request.
    size: int


class Dashboards:
    """The dashboards of a caller's current organization."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def get(self, caller: Identity, uid: str) -> StoredObject:
        """Return a dashboard. Raises NotFound, and Forbidden if the caller may not read it."""
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, DASHBOARD, caller.namespace, [uid])
        if not found:
            raise not_found()
        view, action = await self._policy.view(caller, caller.namespace), DASHBOARD.actions["get"]
        if not view.may(action, DASHBOARD, uid, found[0].folder):
            raise permission_denied(action)
        return found[0]

    async def name_of(self, caller: Identity, number: int) -> str:
        """Return the uid of the dashboard with this number. Raises NotFound."""
        async with self._database.connection() as connection:
            name = await titles.name_by_number(connection, DASHBOARD, caller.org_id, number)
        if name is None:
            raise not_found()
        return name

    async def folder_of(self, caller: Identity, stored: StoredObject) -> StoredObject | None:
        """Return the folder of a dashboard; None at the root, or if the caller may not read the folder."""
        if not stored.folder:
            return None
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, FOLDER, caller.namespace, [stored.folder])
        view = await self._policy.view(caller, caller.namespace)
        return next((folder for folder in found if view.may(FOLDER.actions["get"], FOLDER, folder.name, folder.folder)), None)

    async def save(self, context: WriteContext, request: SaveRequest) -> StoredObject:
        """Create or replace a dashboard and return it.

        Raises BadRequest for an invalid title or uid, NotFound for an unknown folder or number, Forbidden without permission or if
        a repository manages the dashboard, VersionMismatch, and QuotaReached.
        """
        caller, context = context.identity, replace(context, event=SAVE)
        async with self._database.connection() as connection:
            folder = await common.find_folder(connection, caller.org_id, request.folder_uid, request.folder_number) or ""
            name = request.uid or (
                await titles.name_by_number(connection, DASHBOARD, caller.org_id, request.number) if request.number else None
            )
            is_there = name is not None and await resources.version(connection, DASHBOARD, caller.namespace, name) is not None
        if name is not None and is_there:
            return await self._replace(context, name, request, folder)
        if request.number:
            raise not_found()
        spec = _body(request.spec)
        desired = common.new_object(DASHBOARD, name or common.new_uid(), _version(spec), spec, folder=folder, message=request.message)
        try:
            return await self._writer.create(desired, context, size=request.size)
        except AlreadyExists:  # another client created it after the check
            return await self._replace(context, desired.name, request, folder)
        except quotas.QuotaReached as error:
            raise quotas.QuotaReached(error.claim, limit=error.limit, used=error.used, text="Quota reached") from error

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Delete a dashboard and return it. Raises NotFound, and Forbidden without permission or if a repository manages it."""
        try:
            return (await self._writer.delete(DASHBOARD, context.identity.namespace, uid, context)).stored
        except NotFound as error:
            raise not_found() from error

    async def versions(self, stored: StoredObject, *, before: int | None, limit: int) -> Sequence[StoredVersion]:
        """Return versions without their bodies, the newest first."""
        async with self._database.connection() as connection:
            return await histories.versions(connection, stored.uid, before=before, limit=limit)

    async def version(self, stored: StoredObject, generation: int) -> StoredVersion:
        """Return one version. Raises NotFound."""
        async with self._database.connection() as connection:
            found = await histories.version(connection, stored.uid, generation) if 0 < generation < 2**63 else None
        if found is None:
            raise NotFound("Dashboard version not found")
        return found

    async def restore(self, context: WriteContext, stored: StoredObject, generation: int) -> StoredObject:
        """Make an older body the newest again. The folder and other metadata are kept. Raises NotFound."""
        version = await self.version(stored, generation)
        spec = await run_sized(len(version.spec), partial(read_json, version.spec))

        def change(current: StoredObject) -> DesiredObject:
            return common.replacement(
                current,
                version.stored_version,
                spec,
                folder=current.folder or "",
                message=f"Restored from version {generation}",
                restored_from=generation,
            )

        context = replace(context, event=RESTORE)
        return (await self._writer.update(DASHBOARD, context.identity.namespace, stored.name, change, context)).stored

    async def restore_deleted(self, context: WriteContext, uid: str, folder_uid: str | None) -> StoredObject:
        """Restore a deleted dashboard with its history; of several with this uid the latest.

        Without ``folder_uid`` it returns to its old folder. Raises NotFound for the dashboard or the folder, AlreadyExists if
        another dashboard has its uid now, Forbidden, and QuotaReached.
        """
        caller, context = context.identity, replace(context, event=RESTORE)
        deleter = deleter_of(caller)
        async with self._database.connection() as connection:
            found = await histories.list_trash(connection, DASHBOARD, caller.namespace, name=uid, limit=_MOST_DELETED, deleted_by=deleter)
            if not found:
                raise not_found()
            last = max(found, key=lambda stored: stored.resource_version)  # the latest of several deleted dashboards with this uid
            version = await histories.version(connection, last.uid, last.generation)
            folder = await common.find_folder(connection, caller.org_id, last.folder or "" if folder_uid is None else folder_uid, None)
        if version is None:
            raise not_found()
        spec = await run_sized(len(version.spec), partial(read_json, version.spec))
        desired = common.replacement(
            last, version.stored_version, spec, folder=folder or "", message="Restored from the trash", uid=str(last.uid)
        )
        return await self._writer.create(desired, context, size=len(version.spec))

    async def _replace(self, context: WriteContext, name: str, request: SaveRequest, folder: str) -> StoredObject:
        spec = _body(request.spec)

        def change(stored: StoredObject) -> DesiredObject:
            return common.replacement(stored, _version(spec), spec, folder=folder, message=request.message)

        preconditions = (
            Preconditions() if request.overwrite else Preconditions(generation=-1 if request.version is None else request.version)
        )
        try:
            changed = await self._writer.update(
                DASHBOARD, context.identity.namespace, name, change, context, preconditions=preconditions, size=request.size
            )
        except PreconditionFailed as error:
            raise VersionMismatch(error.message) from error
        return changed.stored


def not_found() -> NotFound:
    """Return the error for an unknown dashboard."""
    return NotFound("Dashboard not found")


def _body(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body to store: a classic body without the members that the store sets."""
    is_layout = DASHBOARD.extract(spec).layout
    return {key: value for key, value in spec.items() if is_layout or key not in _SET_BY_STORE}


def _version(spec: Mapping[str, Any]) -> str:
    return DASHBOARD.version if DASHBOARD.extract(spec).layout else common.VERSION
