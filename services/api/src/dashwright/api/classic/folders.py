"""Folders in the classic API: create, change, move and delete, by the rules of the resource API."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.classic.common import VersionMismatch
from dashwright.api.domain.access.view import View
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import access, titles
from dashwright.api.stores import folders as tree
from dashwright.api.stores.folders import KindCount
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

_CHANGED: Final = "the folder has been changed by someone else"
_ROOT: Final = frozenset({"", "general"})


@dataclass(frozen=True, slots=True)
class FolderDetails:
    """A folder with its surroundings, as one caller sees it."""

    #: The folder itself.
    stored: StoredObject
    #: The caller's view of the namespace.
    view: View
    #: Folders above that the caller may read, the highest first.
    above: Sequence[StoredObject]
    #: Uids of these folders that have access rules of their own.
    guarded: frozenset[uuid.UUID]


class Folders:
    """The folders of a caller's current organization, by their uid. Every method raises Forbidden without permission."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def get(self, caller: Identity, uid: str) -> FolderDetails:
        """Return a folder. Raises NotFound."""
        details = await self.details(caller, uid)
        action, stored = FOLDER.actions["get"], details.stored
        if not details.view.may(action, FOLDER, stored.name, stored.folder):
            raise permission_denied(action)
        return details

    async def details(self, caller: Identity, uid: str) -> FolderDetails:
        """Return a folder that the caller has just written and may not be able to read. Raises NotFound."""
        view = await self._policy.view(caller, caller.namespace)
        async with self._database.connection() as connection:
            way = await tree.ancestors(connection, caller.namespace, uid)
            names = [step.name for step in way[:-1] if view.may(FOLDER.actions["get"], FOLDER, step.name, step.parent)]
            found = {stored.name: stored for stored in await resources.get_many(connection, FOLDER, caller.namespace, [*names, uid])}
            if uid not in found:
                raise not_found()
            guarded = await access.uids_with_rules(connection, [stored.uid for stored in found.values()])
        return FolderDetails(found[uid], view, [found[name] for name in names if name in found], guarded)

    async def name_of(self, caller: Identity, number: int) -> str:
        """Return the uid of the folder with this number. Raises NotFound."""
        async with self._database.connection() as connection:
            name = await titles.name_by_number(connection, FOLDER, caller.org_id, number)
        if name is None:
            raise not_found()
        return name

    async def counts(self, caller: Identity, uid: str) -> Sequence[KindCount]:
        """Return the number of objects in a folder at any depth, by kind. Raises NotFound."""
        await self.get(caller, uid)
        async with self._database.connection() as connection:
            return await tree.counts(connection, caller.namespace, uid)

    async def create(self, context: WriteContext, uid: str, title: str, description: str, parent: str) -> StoredObject:
        """Create a folder and return it.

        Raises BadRequest for an invalid title or uid and for too many levels, NotFound for the parent, VersionMismatch for a used
        uid.
        """
        _check_title(title)
        spec = {"title": title} | ({"description": description} if description else {})
        desired = common.new_object(FOLDER, uid or common.new_uid(), FOLDER.version, spec, folder=_place(parent))
        try:
            return await self._writer.create(desired, context)
        except AlreadyExists as error:
            raise VersionMismatch(_CHANGED) from error
        except NotFound as error:
            raise not_found() from error

    async def change(
        self, context: WriteContext, uid: str, title: str | None, description: str | None, *, version: int | None, overwrite: bool
    ) -> StoredObject:
        """Change title and description; None keeps the stored one.

        Raises NotFound, BadRequest, and VersionMismatch if the version differs and ``overwrite`` is not set.
        """
        if title is not None:
            _check_title(title)
        given = {"title": title, "description": description}
        members = {key: text for key, text in given.items() if text is not None}

        def changed(stored: StoredObject) -> DesiredObject:
            if not overwrite and version != stored.generation:
                raise VersionMismatch(_CHANGED)
            return common.replacement(stored, FOLDER.version, orjson.loads(stored.spec) | members, folder=stored.folder or "")

        return await self._update(context, uid, changed)

    async def move(self, context: WriteContext, uid: str, parent: str) -> StoredObject:
        """Move a folder. Raises NotFound for either folder, and BadRequest for a place inside itself or too many levels."""

        def moved(stored: StoredObject) -> DesiredObject:
            return common.replacement(stored, FOLDER.version, orjson.loads(stored.spec), folder=_place(parent))

        return await self._update(context, uid, moved)

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Delete a folder with its content and return it. Raises NotFound, and Forbidden if a repository manages any of it."""
        try:
            return (await self._writer.delete(FOLDER, context.identity.namespace, uid, context, cascade=True)).stored
        except NotFound as error:
            raise not_found() from error

    async def _update(self, context: WriteContext, uid: str, change: Callable[[StoredObject], DesiredObject]) -> StoredObject:
        try:
            return (await self._writer.update(FOLDER, context.identity.namespace, uid, change, context)).stored
        except NotFound as error:
            raise not_found() from error


def not_found() -> NotFound:
    """Return the error for an unknown folder."""
    return NotFound("folder not found")


def _place(parent: str) -> str:
    """Return a folder's name as objects store it; the root is an empty text."""
    return "" if parent in _ROOT else parent


def _check_title(title: str) -> None:
    if not title.strip():
        raise BadRequest("folder title cannot be empty")
