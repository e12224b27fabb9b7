"""Folders as the classic API makes, changes, moves and removes them, by the rules of the resource API."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from dashwright.api.access.policy import AccessPolicy
from dashwright.api.classic import common
from dashwright.api.domain.access.view import View
from dashwright.api.http.errors import permission_denied
from dashwright.api.resources.writing.desired_object import DesiredObject, WriteContext
from dashwright.api.resources.writing.writer import Writer
from dashwright.api.stores import access, titles
from dashwright.api.stores import folders as tree
from dashwright.api.stores.folders import KindCount
from dashwright.common.database.pool import Database
from dashwright.common.errors import AlreadyExists, BadRequest, NotFound, PreconditionFailed
from dashwright.common.identity import Identity
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.stores import resources
from dashwright.common.stores.resources import StoredObject

_ROOT: Final = frozenset({"", "general"})


class VersionMismatch(PreconditionFailed):
    """The folder is there already, and not in the version that the caller means to replace."""

    def __init__(self) -> None:
        super().__init__("the folder has been changed by someone else")


@dataclass(frozen=True, slots=True)
class FolderDetails:
    """A folder with what is known around it, for one caller."""

    stored: StoredObject
    view: View
    #: Folders above that the caller may read, the highest first.
    above: Sequence[StoredObject]
    #: Those of all these folders that have rules of access of their own.
    guarded: frozenset[uuid.UUID]


class Folders:
    """The folders of the caller's organization, by their uid. What the caller may not do with one is Forbidden, in every method."""

    def __init__(self, database: Database, policy: AccessPolicy, writer: Writer) -> None:
        self._database = database
        self._policy = policy
        self._writer = writer

    async def get(self, caller: Identity, uid: str) -> FolderDetails:
        """Raises NotFound."""
        details = await self.details(caller, uid)
        action, stored = FOLDER.actions["get"], details.stored
        if not details.view.may(action, FOLDER, stored.name, stored.folder):
            raise permission_denied(action)
        return details

    async def details(self, caller: Identity, uid: str) -> FolderDetails:
        """The same for who has just written it, and may write what they may not read. Raises NotFound."""
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
        """The uid of the folder with a number. Raises NotFound."""
        async with self._database.connection() as connection:
            name = await titles.name_by_number(connection, FOLDER, caller.org_id, number)
        if name is None:
            raise not_found()
        return name

    async def counts(self, caller: Identity, uid: str) -> Sequence[KindCount]:
        """What lies in a folder, at any depth. Raises NotFound."""
        await self.get(caller, uid)
        async with self._database.connection() as connection:
            return await tree.counts(connection, caller.namespace, uid)

    async def create(self, context: WriteContext, uid: str, title: str, description: str, parent: str) -> StoredObject:
        """Raises BadRequest for a title or uid against the rules and for a place too deep, NotFound for the parent, VersionMismatch for a
        taken uid.
        """
        _check_title(title)
        spec = {"title": title} | ({"description": description} if description else {})
        made = common.new_object(FOLDER, uid or common.new_uid(), FOLDER.version, spec, folder=_place(parent))
        try:
            return await self._writer.create(made, context)
        except AlreadyExists as error:
            raise VersionMismatch from error
        except NotFound as error:
            raise not_found() from error

    async def change(
        self, context: WriteContext, uid: str, title: str | None, description: str | None, *, version: int | None, overwrite: bool
    ) -> StoredObject:
        """None leaves what is there. Raises NotFound, BadRequest, and VersionMismatch where neither version nor ``overwrite`` fits."""
        if title is not None:
            _check_title(title)
        given = {"title": title, "description": description}
        members = {key: text for key, text in given.items() if text is not None}

        def changed(stored: StoredObject) -> DesiredObject:
            if not overwrite and version != stored.generation:
                raise VersionMismatch
            return common.replacement(stored, FOLDER.version, orjson.loads(stored.spec) | members, folder=stored.folder or "")

        return await self._update(context, uid, changed)

    async def move(self, context: WriteContext, uid: str, parent: str) -> StoredObject:
        """Raises NotFound for either folder, and BadRequest for a place below itself or too deep."""

        def moved(stored: StoredObject) -> DesiredObject:
            return common.replacement(stored, FOLDER.version, orjson.loads(stored.spec), folder=_place(parent))

        return await self._update(context, uid, moved)

    async def delete(self, context: WriteContext, uid: str) -> StoredObject:
        """Removes a folder with everything inside; answers it. Raises NotFound, and Forbidden where a repository manages any of it."""
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
    return NotFound("folder not found")


def _place(parent: str) -> str:
    """A folder as an object names it: the root is nothing."""
    return "" if parent in _ROOT else parent


def _check_title(title: str) -> None:
    if not title.strip():
        raise BadRequest("folder title cannot be empty")
