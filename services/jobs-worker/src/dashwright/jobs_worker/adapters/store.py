"""The object stores of ``ports``, implemented with ``common.stores``."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import orjson

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict, DashwrightError, NotFound
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MANAGER_ALLOWS_EDITS, MANAGER_ID
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY, find
from dashwright.common.models.provisioning import RepositoryStatus, ResourceCount
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import claims, managed_objects, quotas, repositories, resources, revisions
from dashwright.common.stores.repositories import QuarantineChange, QuarantineEntry, StoredCommit
from dashwright.common.stores.repository_events import announce, quarantine_announcements
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.domain.objects import (
    PROVISIONING_ACTOR,
    Change,
    Document,
    Key,
    ManagedObject,
    Manager,
    QuarantinedFile,
    Removal,
    Repository,
    Snapshot,
    Write,
)
from dashwright.jobs_worker.ports import Overtaken

_BATCH_SIZE = 200
"""Number of objects that one statement stages."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a job. It cannot write after another attempt has started."""

    job: uuid.UUID
    lease_owner: uuid.UUID


class DatabaseObjectStore:
    """The stored objects that one job or request of a repository reads and writes. Use each instance for one write only.

    ``edition`` is the edition of the repository that was read before its files. If the stored edition differs, Overtaken is raised and
    nothing is written. ``attempt`` is the attempt at the job, None outside of jobs.

    ``actor`` and ``message`` are recorded with each generation.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        quota_rules: QuotaRules,
        *,
        repository: Repository,
        edition: int,
        attempt: Attempt | None = None,
        actor: str = PROVISIONING_ACTOR,
        message: str = "",
    ) -> None:
        self._database = database
        self._quota_rules = quota_rules
        self._clock = clock
        self._repository = repository
        self._uid = uuid.UUID(repository.uid)
        self._edition = edition
        self._attempt = attempt
        self._actor = actor
        self._message = message

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Return all objects that the repository manages."""
        async with self._database.connection() as connection:
            rows = await managed_objects.list_managed(connection, namespace, repository)
        # In a thread, because a repository may manage thousands of objects.
        return await asyncio.to_thread(_to_managed_objects, rows)

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """Return the repository's objects that came from one of the paths or have one of the keys."""
        normalized_paths = [path.rstrip("/") for path in paths]
        async with self._database.connection() as connection:
            return _to_managed_objects(await managed_objects.find_managed(connection, namespace, repository, normalized_paths, list(keys)))

    async def managers(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Manager]:
        """Return the managers of the existing objects among ``keys``."""
        managers: dict[Key, Manager] = {}
        async with self._database.connection() as connection:
            for kind, names in _by_kind(keys).items():
                rows = await resources.annotations_by_name(connection, kind, namespace, names)
                managers |= {Key(kind.group, kind.plural, name): _manager(annotations) for name, annotations in rows.items()}
        return managers

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """Return the files in quarantine."""
        async with self._database.connection() as connection:
            rows = await repositories.list_quarantined(connection, self._uid)
        return [QuarantinedFile(row.path, row.message, row.name, row.checksum, row.rules, is_copy=row.is_copy) for row in rows]

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Return the bodies of existing objects."""
        documents: dict[Key, Document] = {}
        async with self._database.connection() as connection:
            for kind, names in _by_kind(keys).items():
                rows = await resources.get_many(connection, kind, namespace, names)
                documents |= {Key(kind.group, kind.plural, row.name): _document(row) for row in rows}
        return documents

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Return why a quota does not allow a sync, or an empty string; see ``DocumentStore.quota_refusal``."""
        try:
            async with self._database.connection() as connection:
                await quotas.check_dashboards(
                    connection, self._quota_rules, namespace, created=created, removed=removed, operation="sync", are_changes_written=False
                )
        except quotas.QuotaReached as error:
            return error.message
        return ""

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Stage all changes, then write them in one step; see ``ObjectStore.apply``. Other writers wait only during that step."""
        async with self._database.transaction() as connection:
            staging = resources.StagedWrites(connection)
            await staging.create_table()
            removals = await _stage(staging, changes)
            # Staging needs no lock, so other writers wait only during the write itself.
            await resources.lock(connection, self._repository.namespace)
            stored_commit, quarantine_change = await self._store_commit(connection, snapshot)
            if (name := await staging.find_conflict(namespace, self._repository.name)) is not None:
                raise Conflict(f"{name} was created or taken over by another manager during the sync; sync again")
            await staging.write(namespace, actor=self._actor, now=self._clock.now(), message=self._message)
            deleted_dashboards = await self._delete(connection, namespace, removals)
            if await quotas.limits_dashboards(connection, self._quota_rules, namespace):
                created_dashboards = await staging.count_created(DASHBOARD)
                await quotas.check_dashboards(
                    connection, self._quota_rules, namespace, created=created_dashboards, removed=deleted_dashboards, operation="sync"
                )
            # Last, so that a lease which was lost during the write still rolls it back.
            if self._attempt and not await claims.holds_lease(connection, self._attempt.job, owner=self._attempt.lease_owner):
                raise LeaseLost
            await self._write_status(connection, stored_commit.commit, quarantine_change)

    async def store_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot without writes to objects."""
        async with self._database.transaction() as connection:
            await resources.lock(connection, self._repository.namespace)
            stored_commit, quarantine_change = await self._store_commit(connection, snapshot)
            await self._write_status(connection, stored_commit.commit, quarantine_change)

    async def get_json(self, namespace: str, key: Key, version: str) -> bytes | None:
        """Return an object as JSON; None if it does not exist."""
        async with self._database.connection() as connection:
            return await self._get_json(connection, namespace, key, version)

    async def dry_run(self, namespace: str, write: Write) -> bytes:
        """Return the object as it would be stored. Raises Forbidden if a quota is reached."""
        async with self._database.transaction(dry_run=True) as connection:
            await resources.put(
                await resources.lock(connection, namespace), namespace, _to_stored_write(write), actor=self._actor, now=self._clock.now()
            )
            if write.is_new and write.key.resource == DASHBOARD.plural:
                await quotas.check_dashboards(connection, self._quota_rules, namespace, created=1, removed=0, operation="sync")
            json = await self._get_json(connection, namespace, write.key, write.version)
            assert json is not None, "it was written just now"
            return json

    async def _get_json(self, connection: Connection, namespace: str, key: Key, version: str) -> bytes | None:
        rows = await resources.get_many(connection, _kind(key), namespace, [key.name])
        return rows[0].encode(version) if rows else None

    async def _store_commit(self, connection: Connection, snapshot: Snapshot) -> tuple[StoredCommit, QuarantineChange]:
        """Store the commit and quarantine as the next edition. Raises Overtaken if the edition has changed since the plan was made."""
        stored_commit = await repositories.record_commit(
            connection,
            self._uid,
            snapshot.commit,
            generation=self._repository.generation,
            edition=self._edition,
            base_commit=snapshot.base_commit,
            entries=snapshot.entry_count,
        )
        if stored_commit is None:
            raise Overtaken(f"repository {self._repository.name!r} was written by another writer; try again")
        now, job = self._clock.now(), self._attempt.job if self._attempt else None
        if stored_commit.commit:
            await revisions.record(connection, self._uid, stored_commit.commit, job=job, now=now)
        quarantine_entries = [
            QuarantineEntry(item.path, item.name, item.message, item.checksum, item.rules_fingerprint, now, is_copy=item.is_copy)
            for item in snapshot.quarantined
        ]
        return stored_commit, await repositories.quarantine(connection, self._uid, quarantine_entries, paths=snapshot.examined_paths)

    async def _write_status(self, connection: Connection, commit: str | None, quarantine_change: QuarantineChange) -> None:
        """Write the stored commit and counts into the repository's status, and announce the change, in the same transaction."""
        namespace, name = self._repository.namespace, self._repository.name
        counts = await managed_objects.count_managed(connection, namespace, name)

        repository: StoredObject | None = None

        def change(status: RepositoryStatus, stored_object: StoredObject) -> None:
            nonlocal repository
            repository = stored_object
            status.sync.last_ref = commit or status.sync.last_ref
            status.stats = [ResourceCount(group=group, resource=resource, count=count) for group, resource, count in counts]

        with suppress(NotFound):  # The repository was deleted, and its status with it.
            status = await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)
            assert repository is not None, "an update calls its function"
            milliseconds = self._clock.milliseconds()
            announcements = quarantine_announcements(
                repository, change=quarantine_change, commit=status.sync.last_ref, milliseconds=milliseconds
            )
            await announce(connection, repository, announcements)

    async def _delete(self, connection: Connection, namespace: str, keys: Sequence[Key]) -> int:
        """Delete objects and return the number of deleted dashboards. The keys of folders are last in ``keys``.

        Objects that do not exist are skipped. Raises Conflict if an object has another manager now; a folder that contains such an object
        is released instead.
        """
        deleted_dashboards = 0
        for kind, all_names in _by_kind(keys).items():
            names = all_names
            if kind is FOLDER:
                released_names = await managed_objects.release_nonempty_folders(connection, namespace, all_names, self._repository.name)
                names = [name for name in all_names if name not in released_names]
            deleted_names = await managed_objects.delete_managed(connection, kind, namespace, names, self._repository.name)
            deleted_dashboards += len(deleted_names) if kind is DASHBOARD else 0
            if remaining_names := sorted(
                await resources.annotations_by_name(connection, kind, namespace, list(set(names) - set(deleted_names)))
            ):
                raise Conflict(f"{kind.plural} '{remaining_names[0]}' was taken over by another manager during the sync; sync again")
        return deleted_dashboards


def _to_managed_objects(rows: Sequence[managed_objects.ManagedObject]) -> Sequence[ManagedObject]:
    return [ManagedObject(Key(row.group, row.resource, row.name), row.path, row.checksum, row.folder or "", row.title) for row in rows]


async def _stage(staging: resources.StagedWrites, changes: AsyncIterator[Change]) -> list[Key]:
    """Stage the writes in batches and return the keys to delete, in order.

    While PostgreSQL receives and compresses a batch, the next one is read from ``changes``.
    """
    removals: list[Key] = []
    batch: list[resources.Write] = []
    staging_task: asyncio.Task[None] | None = None
    try:
        async for change in changes:
            if isinstance(change, Removal):
                removals.append(change.key)
                continue
            batch.append(_to_stored_write(change))
            if len(batch) == _BATCH_SIZE:
                if staging_task is not None:
                    await staging_task
                staging_task, batch = asyncio.create_task(staging.add(batch)), []
        if staging_task is not None:
            await staging_task
    finally:
        # The connection must not be used by a task that outlives this function.
        if staging_task is not None and not staging_task.done():
            staging_task.cancel()
            await asyncio.wait([staging_task])
    if batch:
        await staging.add(batch)
    return removals


def _kind(key: Key) -> Kind:
    """Return the kind of an object. Raises DashwrightError for an unknown kind, which is a fault of this program."""
    kind = find(key.group, key.resource)
    if kind is None:
        raise DashwrightError(f"{key.resource}.{key.group} is not in the registry of kinds")
    return kind


def _by_kind(keys: Sequence[Key]) -> Mapping[Kind, list[str]]:
    """Return the names by kind. Kinds and names keep the order of ``keys``."""
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        names[key.group, key.resource].append(key.name)
    return {_kind(Key(group, resource, "")): names_of_kind for (group, resource), names_of_kind in names.items()}


def _document(row: resources.StoredObject) -> Document:
    metadata = orjson.loads(row.metadata)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return Document(row.kind.api_version(row.stored_version), labels, annotations, row.spec.encode())


def _manager(annotations: Mapping[str, str]) -> Manager:
    allows_edits = annotations.get(MANAGER_ALLOWS_EDITS) == "true"
    return Manager(annotations.get(MANAGED_BY, ""), annotations.get(MANAGER_ID, ""), allows_edits, annotations.get(FOLDER_KEY, ""))


def _to_stored_write(write: Write) -> resources.Write:
    kind = _kind(write.key)
    return resources.Write(
        kind,
        write.key.name,
        write.spec.decode(),
        write.version,
        extract=write.extract,
        labels=write.labels,
        annotations=write.annotations,
        status=kind.initial_status(),
    )
