"""Folders in the classic API: create, change, move and delete, by the rules of the resource API."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.domain.access.view import AccessView
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import access, titles
from dashwright.api.stores import folders as folder_store
from dashwright.api.stores.folders import KindCount
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

_CONFLICT_MESSAGE: Final = "the folder has been changed by someone else"
"""Grafana's message for another version than the requested one, and for a new folder with a used uid."""


@dataclass(frozen=True, slots=True)
class FolderDetails:
    """A folder with the folders above it, as far as one caller may read them."""

    #: The folder itself.
    folder: StoredObject
    #: The caller's view of the namespace.
    view: AccessView
    #: The folders above it that the caller may read, the topmost first.
    ancestors: Sequence[StoredObject]
    #: Uids of the folder and the ancestors that have access rules of their own.
    uids_with_rules: frozenset[uuid.UUID]


class Folders:
    """The folders of a caller's current organization, by their uid. Every method raises Forbidden without permission."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def get(self, caller: Identity, uid: str) -> FolderDetails:
        """Return a folder. Raises NotFound."""
        details = await self.get_unchecked(caller, uid)
        action, folder = FOLDER.actions["get"], details.folder
        if not details.view.may(action, FOLDER, folder.name, folder.folder):
            raise permission_denied(action)
        return details

    async def get_unchecked(self, caller: Identity, uid: str) -> FolderDetails:
        """Return a folder without a check of permissions, for the response to a write. Raises NotFound."""
        view = await self._policy.view(caller, caller.namespace)
        async with self._database.connection() as connection:
            path = await folder_store.ancestors(connection, caller.namespace, uid)  # Ends with the folder itself.
            names = [ancestor.name for ancestor in path[:-1] if view.may(FOLDER.actions["get"], FOLDER, ancestor.name, ancestor.parent)]
            folders = await resources.get_many(connection, FOLDER, caller.namespace, [*names, uid])
            folders_by_name = {folder.name: folder for folder in folders}
            if uid not in folders_by_name:
                raise not_found()
            uids_with_rules = await access.uids_with_rules(connection, [folder.uid for folder in folders])
        ancestors = [folders_by_name[name] for name in names if name in folders_by_name]
        return FolderDetails(folders_by_name[uid], view, ancestors, uids_with_rules)

    async def check_container(self, caller: Identity, uid: str) -> None:
        """Raise NotFound unless ``uid`` is that of a folder, or of a dashboard that the caller may read.

        Some clients request the folders in every result of a search, even in a dashboard, which contains no folders.
        """
        try:
            await self.get(caller, uid)
        except NotFound:
            view = await self._policy.view(caller, caller.namespace)
            async with self._database.connection() as connection:
                dashboards = await resources.get_many(connection, DASHBOARD, caller.namespace, [uid])
            if not any(view.may(DASHBOARD.actions["get"], DASHBOARD, uid, dashboard.folder) for dashboard in dashboards):
                raise

    async def uid_of(self, caller: Identity, folder_id: int) -> str:
        """Return the uid of the folder with an id. Raises NotFound."""
        async with self._database.connection() as connection:
            uid = await titles.name_by_numeric_id(connection, FOLDER, caller.org_id, folder_id)
        if uid is None:
            raise not_found()
        return uid

    async def counts(self, caller: Identity, uid: str) -> Sequence[KindCount]:
        """Return the number of objects in a folder at any depth, by kind. Raises NotFound."""
        await self.get(caller, uid)
        async with self._database.connection() as connection:
            return await folder_store.counts(connection, caller.namespace, uid)

    async def create(self, context: WriteContext, uid: str, title: str, description: str, parent: str) -> StoredObject:
        """Create a folder and return it.

        Raises BadRequest for an invalid title or uid and for too many levels, NotFound for an unknown parent, and VersionMismatch for a
        used uid.
        """
        _check_title(title)
        # An empty description is stored, too, as in Grafana: clients expect the member in the resource.
        spec = {"title": title, "description": description}
        desired = common.new_object(FOLDER, uid or common.new_uid(), FOLDER.version, spec, folder=_stored_parent(parent))
        try:
            return await self._writer.create(desired, context)
        except AlreadyExists as error:
            raise VersionMismatch(_CONFLICT_MESSAGE) from error
        except NotFound as error:
            raise not_found() from error

    async def change(
        self, context: WriteContext, uid: str, title: str | None, description: str | None, *, version: int | None, overwrite: bool
    ) -> StoredObject:
        """Change title and description, and return the folder. None keeps the stored value.

        Raises NotFound, BadRequest, and VersionMismatch if ``version`` is not the current generation and ``overwrite`` is not set.
        """
        if title is not None:
            _check_title(title)
        requested_members = {"title": title, "description": description}
        changes = {member: value for member, value in requested_members.items() if value is not None}

        def apply_changes(current: StoredObject) -> DesiredObject:
            if not overwrite and version != current.generation:
                raise VersionMismatch(_CONFLICT_MESSAGE)
            return common.replacement(current, FOLDER.version, orjson.loads(current.spec) | changes, folder=current.folder or "")

        return await self._update(context, uid, apply_changes)

    async def move(self, context: WriteContext, uid: str, parent: str) -> StoredObject:
        """Move a folder into ``parent``, and return it.

        Raises NotFound for either folder, and BadRequest for a parent inside the folder or too many levels.
        """

        def apply_move(current: StoredObject) -> DesiredObject:
            return common.replacement(current, FOLDER.version, orjson.loads(current.spec), folder=_stored_parent(parent))

        return await self._update(context, uid, apply_move)

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Delete a folder with its content, and return it. Raises NotFound, and Forbidden if a repository manages some of it."""
        try:
            return (await self._writer.delete(FOLDER, context.identity.namespace, uid, context, cascade=True)).stored_object
        except NotFound as error:
            raise not_found() from error

    async def _update(self, context: WriteContext, uid: str, change: Callable[[StoredObject], DesiredObject]) -> StoredObject:
        """Write the result of ``change`` for the stored folder, and return the folder. Raises NotFound in the classic wording."""
        try:
            return (await self._writer.update(FOLDER, context.identity.namespace, uid, change, context)).stored_object
        except NotFound as error:
            raise not_found() from error


def not_found() -> NotFound:
    """Return the error for an unknown folder."""
    return NotFound("folder not found")


def _stored_parent(parent: str) -> str:
    """Return the name of the parent folder as it is stored: empty for the root."""
    return "" if parent in common.ROOT_NAMES else parent


def _check_title(title: str) -> None:
    """Raise BadRequest for a blank title."""
    if not title.strip():
        raise BadRequest("folder title cannot be empty")
