"""Reads of the store for exports, and the handover of exported objects."""

import re
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import orjson

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY
from dashwright.common.models.provisioning import RepositoryStatus, ResourceCount
from dashwright.common.stores import jobs, managed_objects, resources, statuses
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.adapters.store import Attempt
from dashwright.jobs_worker.domain.export import ExportItem, Handover, Version
from dashwright.jobs_worker.domain.objects import GitIdentity, Key, Repository
from dashwright.jobs_worker.stores import exports

_NOWHERE: Final = "users.noreply.dashwright.invalid"
_ACCOUNTS: Final = ("user", "service-account")
_NO_LETTER: Final = re.compile(r"[^a-z0-9]+")


class StoredExports:
    """The objects of a repository's namespace, for one attempt at a job."""

    def __init__(self, database: Database, repository: Repository, attempt: Attempt) -> None:
        self._database = database
        self._repository = repository
        self._attempt = attempt

    async def folders(self, limit: int) -> Sequence[ExportItem]:
        """Return all folders, the oldest first."""
        async with self._database.connection() as connection:
            found = await exports.folders(connection, self._repository.namespace, limit=limit)
        return [_exportable(FOLDER.group, FOLDER.plural, row) for row in found]

    async def dashboards(self, within: Sequence[str] | None, limit: int) -> Sequence[ExportItem]:
        """Return unmanaged dashboards in some folders, the oldest first."""
        async with self._database.connection() as connection:
            found = await exports.dashboards(connection, self._repository.namespace, within=within, limit=limit)
        return [_exportable(DASHBOARD.group, DASHBOARD.plural, row) for row in found]

    async def versions(self, items: Sequence[ExportItem], *, older: bool) -> Sequence[Version]:
        """Return the bodies as they were; with ``older`` also earlier generations."""
        wanted = [(uuid.UUID(item.uid), item.generation) for item in items]
        async with self._database.connection() as connection:
            return [_version(row) for row in await exports.versions(connection, wanted, older=older)]

    async def check_lease(self) -> None:
        """Raise LeaseLost if the attempt has ended."""
        async with self._database.connection() as connection:
            if not await jobs.holds(connection, self._attempt.job, owner=self._attempt.owner):
                raise LeaseLost

    async def hand_over(self, levels: Sequence[Sequence[Handover]]) -> None:
        """Make the repository the manager of the exported objects, as the port describes."""
        uid, name = uuid.UUID(self._repository.uid), self._repository.name
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            await exports.overtake(connection, uid)
            taken = {""}
            for level in levels:
                handed = [item for item in level if item.folder in taken]
                rows = [exports.HandoverRow(uuid.UUID(item.uid), item.generation, item.path, item.checksum) for item in handed]
                if rows:
                    given = await exports.hand_over(connection, uid, name, rows, generation=self._repository.generation)
                    taken |= {item.key.name for item in handed if item.key.resource == FOLDER.plural and uuid.UUID(item.uid) in given}
            await self._write_status(connection)
            if not await jobs.holds(connection, self._attempt.job, owner=self._attempt.owner):
                raise LeaseLost

    async def git_identity(self, uid: str, login: str) -> GitIdentity:
        """Return the account that requested the export, as its commit names it."""
        kind, _, number = uid.partition(":")
        found = None
        if kind in _ACCOUNTS and number.isdecimal():
            async with self._database.connection() as connection:
                found = await exports.author(connection, int(number))
        return GitIdentity(found[0] if found else login or uid, _address(uid, found[1] if found else None))

    async def _write_status(self, connection: Connection) -> None:
        namespace, name = self._repository.namespace, self._repository.name
        counts = await managed_objects.count_managed(connection, namespace, name)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.stats = [ResourceCount(group=group, resource=resource, count=count) for group, resource, count in counts]

        with suppress(NotFound):  # the repository was deleted, and its status with it
            await statuses.change(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


def _exportable(group: str, plural: str, row: exports.ExportRow) -> ExportItem:
    return ExportItem(Key(group, plural, row.name), str(row.uid), row.generation, row.title, row.folder, row.is_managed)


def _version(row: exports.VersionRow) -> Version:
    metadata = orjson.loads(row.metadata)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    by = GitIdentity(row.author or row.created_by, _address(row.created_by, row.email))
    return Version(str(row.uid), row.generation, row.stored_version, row.spec, labels, annotations, by, row.created_at, row.message or "")


def _address(uid: str, email: str | None) -> str:
    """Return the e-mail address for a commit; a placeholder for programs and for users without a usable address."""
    if email and "@" in email and uid.startswith("user:"):
        return email
    return f"{_NO_LETTER.sub('-', uid.lower()).strip('-')}@{_NOWHERE}"
