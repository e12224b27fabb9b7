"""The port ``Exports``, implemented with the database: reads for exports, and the adoption of exported objects."""

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
from dashwright.common.stores import claims, managed_objects, resources
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.adapters.store import Attempt
from dashwright.jobs_worker.domain.export import Adoption, ExportItem, HistoryVersion
from dashwright.jobs_worker.domain.objects import GitIdentity, Key, Repository
from dashwright.jobs_worker.stores import exports

_PLACEHOLDER_DOMAIN: Final = "users.noreply.dashwright.invalid"
_ACCOUNT_TYPES: Final = ("user", "service-account")
_NON_ALPHANUMERIC: Final = re.compile(r"[^a-z0-9]+")


class DatabaseExports:
    """The objects of a repository's namespace, for one attempt at a job."""

    def __init__(self, database: Database, repository: Repository, attempt: Attempt) -> None:
        self._database = database
        self._repository = repository
        self._attempt = attempt

    async def folders(self, limit: int) -> Sequence[ExportItem]:
        """Return all folders, the oldest first."""
        async with self._database.connection() as connection:
            rows = await exports.folders(connection, self._repository.namespace, limit=limit)
        return [_export_item(FOLDER.group, row) for row in rows]

    async def objects(self, folder_names: Sequence[str] | None, limit: int) -> Sequence[ExportItem]:
        """Return unmanaged dashboards and library panels in some folders, the oldest first."""
        async with self._database.connection() as connection:
            rows = await exports.objects(connection, self._repository.namespace, folder_names=folder_names, limit=limit)
        # Library panels have the same group as dashboards.
        return [_export_item(DASHBOARD.group, row) for row in rows]

    async def versions(self, items: Sequence[ExportItem], *, include_older: bool) -> Sequence[HistoryVersion]:
        """Return the bodies of objects at their generations; with ``include_older`` also of earlier generations."""
        uids_and_generations = [(uuid.UUID(item.uid), item.generation) for item in items]
        async with self._database.connection() as connection:
            return [_version(row) for row in await exports.versions(connection, uids_and_generations, include_older=include_older)]

    async def check_lease(self) -> None:
        """Raise LeaseLost if the attempt has ended."""
        async with self._database.connection() as connection:
            if not await claims.holds_lease(connection, self._attempt.job, owner=self._attempt.lease_owner):
                raise LeaseLost

    async def adopt(self, levels: Sequence[Sequence[Adoption]]) -> None:
        """Make the repository the manager of the exported objects; see ``Exports.adopt``."""
        uid, name = uuid.UUID(self._repository.uid), self._repository.name
        async with self._database.transaction() as connection:
            await resources.lock(connection, self._repository.namespace)
            await exports.invalidate_plans(connection, uid)
            # An object is adopted only if its folder is managed. Each level is that of the folders whose content is in the next level.
            managed_folder_names = {""}
            for level in levels:
                items = [item for item in level if item.folder in managed_folder_names]
                rows = [exports.AdoptionRow(uuid.UUID(item.uid), item.generation, item.path, item.checksum) for item in items]
                if rows:
                    accepted_uids = await exports.adopt(connection, uid, name, rows, generation=self._repository.generation)
                    managed_folder_names |= {
                        item.key.name for item in items if item.key.resource == FOLDER.plural and uuid.UUID(item.uid) in accepted_uids
                    }
            await self._write_status(connection)
            if not await claims.holds_lease(connection, self._attempt.job, owner=self._attempt.lease_owner):
                raise LeaseLost

    async def git_identity(self, uid: str, login: str) -> GitIdentity:
        """Return the account that requested the export, as its commit names it."""
        account_type, _, account_id = uid.partition(":")
        account = None
        if account_type in _ACCOUNT_TYPES and account_id.isdecimal():
            async with self._database.connection() as connection:
                account = await exports.author(connection, int(account_id))
        return GitIdentity(account.name if account else login or uid, _email_address(uid, account.email if account else None))

    async def _write_status(self, connection: Connection) -> None:
        """Write the numbers of managed objects into the repository's status."""
        namespace, name = self._repository.namespace, self._repository.name
        counts = await managed_objects.count_managed(connection, namespace, name)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.stats = [ResourceCount(group=group, resource=resource, count=count) for group, resource, count in counts]

        with suppress(NotFound):  # The repository was deleted, and its status with it.
            await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


def _export_item(group: str, row: exports.ExportRow) -> ExportItem:
    return ExportItem(
        Key(group, row.resource, row.name), str(row.uid), row.generation, row.title, row.folder, row.is_managed, row.description
    )


def _version(row: exports.VersionRow) -> HistoryVersion:
    metadata = orjson.loads(row.metadata)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    author = GitIdentity(row.author or row.created_by, _email_address(row.created_by, row.email))
    return HistoryVersion(
        str(row.uid),
        row.resource,
        row.generation,
        row.stored_version,
        row.spec,
        labels,
        annotations,
        author,
        row.created_at,
        row.message or "",
    )


def _email_address(uid: str, email: str | None) -> str:
    """Return the e-mail address for a commit; a placeholder for programs and for users without a usable address."""
    if email and "@" in email and uid.startswith("user:"):
        return email
    return f"{_NON_ALPHANUMERIC.sub('-', uid.lower()).strip('-')}@{_PLACEHOLDER_DOMAIN}"
