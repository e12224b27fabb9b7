"""Dashboards in the classic API: save, find, restore and delete, by the rules of the resource API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.domain.access.view import deleted_by_filter
from dashwright.api.http.call import run_in_thread_if_large
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.conversion_contexts import ConversionContexts
from dashwright.api.resources.writing.desired_object import DesiredObject, Preconditions, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import titles
from dashwright.api.stores.audit import event_of
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import AlreadyExists, NotFound, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.json_documents import read_json
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import histories, quotas, resources
from dashwright.common.stores.histories import StoredVersion
from dashwright.common.stores.resources import StoredObject

SAVE: Final = event_of(DASHBOARD, "save")
RESTORE: Final = event_of(DASHBOARD, "restore")

_IMPOSSIBLE_GENERATION: Final = -1
"""A generation that no dashboard has, since generations begin at 1."""
_MAX_TRASH_ENTRIES: Final = 1000
"""Limit on the deleted dashboards with the same uid that are read."""
# The store has the current values; copies in the body would become outdated.
_SET_BY_STORE: Final = frozenset({"id", "uid", "version"})


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """A dashboard to save."""

    #: The dashboard as it was sent.
    spec: Mapping[str, Any]
    #: Empty if missing.
    uid: str
    #: 0 if missing. The uid takes precedence.
    dashboard_id: int
    #: The generation to replace. None: create a dashboard, or replace any generation if ``overwrite`` is set.
    version: int | None
    #: None: use ``folder_id``; without both, the dashboard is saved at the root.
    folder_uid: str | None
    folder_id: int | None
    #: Message of the change, stored with the new version in the history.
    message: str
    #: Replace the dashboard without a check of its generation.
    overwrite: bool
    #: Bytes of the request.
    size: int


class Dashboards:
    """The dashboards of a caller's current organization.

    The uid of a dashboard in the classic API, as in ``uid`` parameters, is the *name* of the stored object. ``StoredObject.uid`` is a UUID
    that identifies the object in histories.
    """

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer, conversion_contexts: ConversionContexts) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer
        self._conversion_contexts = conversion_contexts

    async def get(self, caller: Identity, uid: str) -> StoredObject:
        """Return a dashboard. Raises NotFound, and Forbidden if the caller may not read it."""
        await self._conversion_contexts.enter(caller.namespace)
        async with self._database.connection() as connection:
            matches = await resources.get_many(connection, DASHBOARD, caller.namespace, [uid])
        if not matches:
            raise not_found()
        dashboard, action = matches[0], DASHBOARD.actions["get"]
        view = await self._policy.view(caller, caller.namespace)
        if not view.may(action, DASHBOARD, uid, dashboard.folder):
            raise permission_denied(action)
        return dashboard

    async def uid_of(self, caller: Identity, dashboard_id: int) -> str:
        """Return the uid of the dashboard with an id. Raises NotFound."""
        async with self._database.connection() as connection:
            uid = await titles.name_by_numeric_id(connection, DASHBOARD, caller.org_id, dashboard_id)
        if uid is None:
            raise not_found()
        return uid

    async def visible_folder(self, caller: Identity, dashboard: StoredObject) -> StoredObject | None:
        """Return the folder of a dashboard. Return None at the root, or if the caller may not read the folder."""
        if not dashboard.folder:
            return None
        async with self._database.connection() as connection:
            folders = await resources.get_many(connection, FOLDER, caller.namespace, [dashboard.folder])
        view = await self._policy.view(caller, caller.namespace)
        return next((folder for folder in folders if view.may(FOLDER.actions["get"], FOLDER, folder.name, folder.folder)), None)

    async def save(self, context: WriteContext, request: SaveRequest) -> StoredObject:
        """Create or replace a dashboard and return it.

        Raises BadRequest for an invalid title or uid, NotFound for an unknown folder or id, VersionMismatch, and QuotaReached. Raises
        Forbidden without permission, or if the repository that manages the dashboard allows no edits.
        """
        caller, context = context.identity, replace(context, event=SAVE)
        await self._conversion_contexts.enter(caller.namespace)
        async with self._database.connection() as connection:
            folder = await common.find_folder(connection, caller.org_id, request.folder_uid, request.folder_id) or ""
            name = request.uid or None
            if name is None and request.dashboard_id:
                name = await titles.name_by_numeric_id(connection, DASHBOARD, caller.org_id, request.dashboard_id)
        if name is not None:
            # A uid may be that of a stored dashboard, or a new one: only the attempt to replace it shows which.
            try:
                return await self._replace(context, name, request, folder)
            except NotFound as error:
                if error.details != DASHBOARD.details(name):
                    raise  # The folder was deleted since it was found.
        if request.dashboard_id:
            raise not_found()
        spec = _spec_to_store(request.spec)
        desired = common.new_object(DASHBOARD, name or common.new_uid(), _api_version(spec), spec, folder=folder, message=request.message)
        try:
            return await self._writer.create(desired, context, size=request.size)
        except AlreadyExists:  # Another client created the dashboard since the attempt to replace it.
            return await self._replace(context, desired.name, request, folder)
        except quotas.QuotaReached as error:  # In Grafana, the message of this route does not name the quota.
            raise quotas.QuotaReached(error.claim, limit=error.limit, used=error.used, message="Quota reached") from error

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Delete a dashboard and return it.

        Raises NotFound, and Forbidden without permission or if the repository that manages the dashboard allows no edits.
        """
        try:
            return (await self._writer.delete(DASHBOARD, context.identity.namespace, uid, context)).stored_object
        except NotFound as error:
            raise not_found() from error

    async def versions(self, dashboard: StoredObject, *, before: int | None, limit: int) -> Sequence[StoredVersion]:
        """Return up to ``limit`` versions older than ``before`` without their bodies, the newest first."""
        async with self._database.connection() as connection:
            return await histories.versions(connection, dashboard.uid, before=before, limit=limit)

    async def version(self, dashboard: StoredObject, generation: int) -> StoredVersion:
        """Return one version with its body. Raises NotFound."""
        async with self._database.connection() as connection:
            can_be_stored = 0 < generation < 2**63  # The type of the column is bigint.
            version = await histories.version(connection, dashboard.uid, generation) if can_be_stored else None
        if version is None:
            raise NotFound("Dashboard version not found")
        return version

    async def restore(self, context: WriteContext, dashboard: StoredObject, generation: int) -> StoredObject:
        """Save the body of an older version again, and return the dashboard. Folder and metadata are kept. Raises NotFound."""
        version = await self.version(dashboard, generation)
        spec = await run_in_thread_if_large(len(version.spec), partial(read_json, version.spec))

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
        return (await self._writer.update(DASHBOARD, context.identity.namespace, dashboard.name, change, context)).stored_object

    async def restore_deleted(self, context: WriteContext, uid: str, folder_uid: str | None) -> StoredObject:
        """Restore a deleted dashboard with its history, and return it. Of several with this uid, the last deleted one is restored.

        Without ``folder_uid`` the dashboard is restored into its former folder. Raises NotFound for the dashboard or the folder,
        AlreadyExists if another dashboard has the uid now, Forbidden, and QuotaReached.
        """
        caller, context = context.identity, replace(context, event=RESTORE)
        deleted_by = deleted_by_filter(caller)
        async with self._database.connection() as connection:
            deleted_dashboards = await histories.list_trash(
                connection, DASHBOARD, caller.namespace, name=uid, limit=_MAX_TRASH_ENTRIES, deleted_by=deleted_by
            )
            if not deleted_dashboards:
                raise _not_in_trash(uid)
            last_deleted = max(deleted_dashboards, key=lambda dashboard: dashboard.resource_version)
            version = await histories.version(connection, last_deleted.uid, last_deleted.generation)
            folder = await _find_target_folder(connection, caller.org_id, last_deleted, folder_uid)
        if version is None:
            raise _not_in_trash(uid)
        spec = await run_in_thread_if_large(len(version.spec), partial(read_json, version.spec))
        desired = common.replacement(
            last_deleted, version.stored_version, spec, folder=folder or "", message="Restored from the trash", uid=str(last_deleted.uid)
        )
        return await self._writer.create(desired, context, size=len(version.spec))

    async def _replace(self, context: WriteContext, name: str, request: SaveRequest, folder: str) -> StoredObject:
        """Replace a stored dashboard, and return it. Raises NotFound, and VersionMismatch for another generation than the requested one."""
        spec = _spec_to_store(request.spec)

        def change(current: StoredObject) -> DesiredObject:
            return common.replacement(current, _api_version(spec), spec, folder=folder, message=request.message)

        # Without version and ``overwrite``, the request may only create a dashboard, so any stored one is a mismatch.
        expected_generation = _IMPOSSIBLE_GENERATION if request.version is None else request.version
        preconditions = Preconditions() if request.overwrite else Preconditions(generation=expected_generation)
        try:
            result = await self._writer.update(
                DASHBOARD, context.identity.namespace, name, change, context, preconditions=preconditions, size=request.size
            )
        except PreconditionFailed as error:
            raise VersionMismatch(error.message) from error
        return result.stored_object


def not_found() -> NotFound:
    """Return the error for an unknown dashboard."""
    return NotFound("Dashboard not found")


async def _find_target_folder(connection: Connection, org_id: int, deleted_dashboard: StoredObject, folder_uid: str | None) -> str | None:
    """Return the folder to restore a dashboard into. Raises NotFound if it does not exist."""
    if folder_uid is not None:
        return await common.find_folder(connection, org_id, folder_uid, None)
    former_folder = deleted_dashboard.folder or ""
    try:
        return await common.find_folder(connection, org_id, former_folder, None)
    except NotFound as error:
        raise NotFound(
            f'the former folder "{former_folder}" of the dashboard was deleted; name another one in folderUid (an empty one is the root)'
        ) from error


def _not_in_trash(uid: str) -> NotFound:
    return NotFound(
        f'dashboard "{uid}" is not in the trash, or another user deleted it. A dashboard that a repository managed is never there: '
        "restore its file in the repository, and the next sync creates it again"
    )


def _spec_to_store(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec to store: a classic spec without the members that the store sets. A spec with a layout is unchanged."""
    if DASHBOARD.extract(spec).layout:
        return dict(spec)
    return {key: value for key, value in spec.items() if key not in _SET_BY_STORE}


def _api_version(spec: Mapping[str, Any]) -> str:
    """Return the API version of a spec: a spec with elements and a layout is not classic."""
    return DASHBOARD.version if DASHBOARD.extract(spec).layout else common.CLASSIC_VERSION
