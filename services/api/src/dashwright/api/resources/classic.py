"""Folders as the classic API writes them: the same rows and rules as the resource API's."""

import secrets

from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.resources import folder_rules, rules
from dashwright.api.resources.writing import admission
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, NotFound, PreconditionFailed
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.annotations import FOLDER as IN_FOLDER
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.stores import audit, resources
from dashwright.common.stores.resources import Stored


def not_found(kind: Kind) -> NotFound:
    return NotFound(f"{kind.singular} not found")


class ClassicObjects:
    def __init__(self, database: Database, clock: Clock, settings: AdmissionSettings) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings

    async def get(self, kind: Kind, org_id: int, uid: str) -> Stored:
        """Raises NotFound."""
        async with self._database.connection() as connection:
            return await _get(connection, kind, namespace_of(org_id), uid)

    async def create_folder(self, actor: Actor, uid: str, title: str, parent: str) -> Stored:
        """Raises BadRequest for a title or uid against the rules, NotFound for an unknown parent, PreconditionFailed for a taken uid."""
        if not title.strip():
            raise BadRequest("folder title cannot be empty")
        namespace = namespace_of(actor.org_id)
        annotations = {IN_FOLDER: parent} if parent else {}
        wanted = Wanted(FOLDER, uid or _new_uid(), FOLDER.version, {"title": title}, {}, annotations)
        write = admission.admit(wanted, namespace, self._settings).write
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            if await resources.get_many(connection, FOLDER, namespace, [write.name]):
                raise PreconditionFailed("the folder has been changed by someone else")
            await _check_folder(connection, namespace, write, None)
            await resources.create(connection, namespace, write, actor=actor.uid, now=self._clock.now())
            stored = await resources.get(connection, FOLDER, namespace, write.name)
            what = subject_of(FOLDER, write.name)
            await audit.record(connection, actor, event_of(FOLDER, "create"), what, org_id=actor.org_id, details={"title": title})
        return stored

    async def delete(self, actor: Actor, kind: Kind, uid: str) -> Stored:
        """Answers what was removed. Raises NotFound, Forbidden for what a repository manages, BadRequest for a folder that is not empty."""
        namespace = namespace_of(actor.org_id)
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            stored = await _get(connection, kind, namespace, uid)
            rules.check_owner(kind, stored, instead="remove")
            if kind.is_tree:
                await folder_rules.check_empty(connection, namespace, stored)
            await resources.delete(connection, kind, namespace, [uid], actor=actor.uid, keep=kind.history)
            await audit.record(connection, actor, event_of(kind, "delete"), subject_of(kind, uid), org_id=actor.org_id)
        return stored


async def _get(connection: Connection, kind: Kind, namespace: str, uid: str) -> Stored:
    found = await resources.get_many(connection, kind, namespace, [uid])
    if not found:
        raise not_found(kind)
    return found[0]


async def _check_folder(connection: Connection, namespace: str, write: resources.Write, old: Stored | None) -> None:
    try:
        await folder_rules.check_place(connection, namespace, write, old)
    except NotFound as error:
        raise not_found(FOLDER) from error


def _new_uid() -> str:
    return secrets.token_hex(7)
