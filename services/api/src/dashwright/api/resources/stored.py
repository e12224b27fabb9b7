"""The shelf of stored objects: dashboards, folders, repositories."""

import asyncio

from dashwright.api.domain.actor import Actor
from dashwright.api.domain.events import event_of, subject_of
from dashwright.api.resources import objects, rules
from dashwright.api.resources.options import Preconditions
from dashwright.api.resources.pages import ListedPage
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.models.shape import Shape
from dashwright.common.stores import audit, resources

_LARGE = 64 * 1024
"""Bytes of a body whose parsing is noticed by others."""


class StoredObjects:
    def __init__(self, database: Database, clock: Clock, settings: AdmissionSettings, quotas: QuotaRules) -> None:
        self._database = database
        self._quotas = quotas
        self._clock = clock
        self._settings = settings

    async def get(self, kind: Kind, namespace: str, name: str) -> resources.Stored:
        async with self._database.connection() as connection:
            return await resources.get(connection, kind, namespace, name)

    async def list_page(self, kind: Kind, namespace: str, version: str, after: str, limit: int) -> ListedPage:
        async with self._database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            page = await resources.list_page(connection, kind, namespace, after=after, limit=limit)
        return ListedPage([item.encode(version) for item in page.items], page.position, page.after, page.remaining)

    async def create(self, kind: Kind, namespace: str, version: str, body: bytes, actor: Actor) -> bytes:
        write = await self._read(kind, namespace, version, body)
        status = kind.status().to_json().decode() if kind.status is not None and issubclass(kind.status, Shape) else None
        async with self._database.transaction() as connection:
            await rules.check_create(connection, kind, namespace, write)
            await resources.create(connection, namespace, write, actor=actor.uid, now=self._clock.now(), status=status)
            await rules.check_created(connection, kind, namespace, self._quotas)
            what = subject_of(kind, write.name)
            await audit.record(connection, actor, event_of(kind, "create"), what, org_id=actor.org_id, status=201)
            stored = await resources.get(connection, kind, namespace, write.name)
        return stored.encode(version)

    async def _read(self, kind: Kind, namespace: str, version: str, body: bytes) -> resources.Write:
        """Checks an object; a large one in a thread, since its parsing would hold up everybody else."""

        def read() -> resources.Write:
            return objects.admit(objects.read(body, kind, namespace, version), kind, namespace, self._settings)

        return read() if len(body) < _LARGE else await asyncio.to_thread(read)

    async def delete(self, kind: Kind, namespace: str, name: str, preconditions: Preconditions, actor: Actor) -> str:
        """Removes one object; a repository together with everything it manages, in one transaction."""
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            stored = await resources.get(connection, kind, namespace, name)
            preconditions.check(kind, stored)
            await rules.check_delete(connection, kind, namespace, stored)
            if kind is REPOSITORY:
                await rules.end_jobs(connection, namespace, name, now=self._clock.milliseconds())
                await rules.remove_managed(connection, namespace, name)
            await resources.delete(connection, kind, namespace, [name])
            await audit.record(connection, actor, event_of(kind, "delete"), subject_of(kind, name), org_id=actor.org_id)
        return str(stored.uid)
