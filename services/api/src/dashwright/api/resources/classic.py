"""Dashboards and folders as the classic API writes them: the same rows and rules as the resource API's, and a save that also replaces.

Grown with the rest of the classic API.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.resources import folder_rules, rules
from dashwright.api.resources.writing import admission
from dashwright.api.resources.writing.wanted import Wanted
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import BadRequest, Forbidden, NotFound, PreconditionFailed
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.annotations import FOLDER as IN_FOLDER
from dashwright.common.kinds.annotations import MESSAGE, SET_BY_STORE
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import audit, quotas, resources
from dashwright.common.stores.resources import Stored

SAVE: Final = event_of(DASHBOARD, "save")

CLASSIC_VERSION: Final = "v0alpha1"
LAYOUT_VERSION: Final = "v2alpha1"
_KEPT_BY_THE_STORE: Final = frozenset({"id", "uid", "version"})
_NOT_FOUND: Final = {DASHBOARD: "Dashboard not found", FOLDER: "folder not found"}


class VersionMismatch(PreconditionFailed):
    """The dashboard is there already, and not in the version that the caller means to replace."""


@dataclass(frozen=True, slots=True)
class Save:
    """A dashboard to save. ``spec`` has ``uid``, ``id`` and ``version`` as clients send them; ``folder`` is a uid or empty."""

    spec: Mapping[str, Any]
    folder: str
    message: str
    overwrite: bool

    @property
    def uid(self) -> str:
        uid = self.spec.get("uid") or ""
        if not isinstance(uid, str):
            raise BadRequest("uid must be a text")
        return uid


def annotations_of(stored: Stored) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(stored.metadata).get("annotations") or {}
    return found


def not_found(kind: Kind) -> NotFound:
    return NotFound(_NOT_FOUND[kind])


class ClassicObjects:
    def __init__(self, database: Database, clock: Clock, settings: AdmissionSettings, quota_rules: QuotaRules) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._quota_rules = quota_rules

    async def get(self, kind: Kind, org_id: int, uid: str) -> Stored:
        """Raises NotFound."""
        async with self._database.connection() as connection:
            return await _get(connection, kind, namespace_of(org_id), uid)

    async def folder_of(self, org_id: int, stored: Stored) -> Stored | None:
        """The folder that an object lies in, None at the root."""
        if not stored.folder:
            return None
        async with self._database.connection() as connection:
            found = await resources.get_many(connection, FOLDER, namespace_of(org_id), [stored.folder])
        return found[0] if found else None

    async def save(self, actor: Actor, wanted: Save, *, may_create: Forbidden | None) -> Stored:
        """Makes or replaces a dashboard.

        Raises ``may_create`` where that is an error and the dashboard is new, BadRequest for a title or uid against the rules, NotFound
        for an unknown folder or number, Forbidden for what a repository manages, VersionMismatch, and QuotaReached.
        """
        namespace = namespace_of(actor.org_id)
        write = await asyncio.to_thread(self._admit, namespace, wanted)
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            found = await resources.get_many(connection, DASHBOARD, namespace, [write.name])
            if found:
                rules.check_owner(DASHBOARD, found[0])
                _check_version(found[0], wanted)
                write = _over(found[0], write)
            elif may_create is not None:
                raise may_create
            elif wanted.spec.get("id"):
                raise not_found(DASHBOARD)
            await _check_folder(connection, namespace, write, found[0] if found else None)
            await resources.put(connection, namespace, write, actor=actor.uid, now=self._clock.now())
            if not found:
                await self._check_quota(connection, namespace)
            stored = await resources.get(connection, DASHBOARD, namespace, write.name)
            details = {"generation": stored.generation, "created": not found}
            await audit.record(connection, actor, SAVE, subject_of(DASHBOARD, write.name), org_id=actor.org_id, details=details)
        return stored

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

    def _admit(self, namespace: str, wanted: Save) -> resources.Write:
        is_layout = DASHBOARD.extract(wanted.spec).layout
        spec = {key: value for key, value in wanted.spec.items() if is_layout or key not in _KEPT_BY_THE_STORE}
        given = {IN_FOLDER: wanted.folder, MESSAGE: wanted.message}
        submitted = Wanted(
            DASHBOARD,
            wanted.uid or _new_uid(),
            LAYOUT_VERSION if is_layout else CLASSIC_VERSION,
            spec,
            {},
            {name: text for name, text in given.items() if text},
        )
        return admission.admit(submitted, namespace, self._settings).write

    async def _check_quota(self, connection: Connection, namespace: str) -> None:
        try:
            await quotas.check_dashboards(connection, self._quota_rules, namespace, created=1)
        except quotas.QuotaReached as error:
            raise quotas.QuotaReached(error.claim, limit=error.limit, used=error.used, said="Quota reached") from error


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


def _check_version(stored: Stored, wanted: Save) -> None:
    if not wanted.overwrite and wanted.spec.get("version") != stored.generation:
        raise VersionMismatch("The dashboard has been changed by someone else")


def _over(stored: Stored, write: resources.Write) -> resources.Write:
    """A write that keeps labels and annotations which this API does not know of."""
    metadata = orjson.loads(stored.metadata)
    kept = {key: text for key, text in annotations_of(stored).items() if key not in SET_BY_STORE | {IN_FOLDER}}
    return resources.Write(
        write.kind,
        write.name,
        write.spec,
        write.stored_version,
        extract=write.extract,
        labels=metadata.get("labels") or {},
        annotations={**kept, **write.annotations},
        finalizers=metadata.get("finalizers") or (),
    )


def _new_uid() -> str:
    return secrets.token_hex(7)
