"""The stored objects as actions use them, over the common resource store."""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import orjson

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.trial import trial
from dashwright.common.errors import Conflict, DashwrightError, NotFound
from dashwright.common.kinds.annotations import FOLDER_KEY, MANAGED_BY, MANAGER_ALLOWS_EDITS, MANAGER_ID
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import DASHBOARD, FOLDER, REPOSITORY, find
from dashwright.common.models.provisioning import RepositoryStatus, ResourceCount
from dashwright.common.models.quotas import QuotaRules
from dashwright.common.stores import jobs, managed_objects, quotas, repositories, resources, revisions, statuses
from dashwright.common.stores.repositories import QuarantineEntry, StoredCommit
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.execution import LeaseLost
from dashwright.jobs_worker.domain.objects import (
    ACTOR,
    Change,
    Document,
    Key,
    ManagedObject,
    Owner,
    QuarantinedFile,
    Removal,
    Repository,
    Snapshot,
    Write,
)
from dashwright.jobs_worker.ports import Overtaken

_BATCH = 200


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a job: it cannot write once another attempt has taken the job over."""

    job: uuid.UUID
    owner: uuid.UUID


class StoredResources:
    """The objects of a namespace, for one write of a repository's objects.

    ``edition`` is the edition of the repository that was read before its files: with another edition in the store, nothing is written and
    Overtaken is raised. ``attempt`` is that of the job, None without one. ``actor`` and ``message`` are recorded with each generation.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        rules: QuotaRules,
        *,
        repository: Repository,
        edition: int,
        attempt: Attempt | None = None,
        actor: str = ACTOR,
        message: str = "",
    ) -> None:
        self._database = database
        self._rules = rules
        self._clock = clock
        self._repository = repository
        self._uid = uuid.UUID(repository.uid)
        self._edition = edition
        self._attempt = attempt
        self._actor = actor
        self._message = message

    async def managed(self, namespace: str, repository: str) -> Sequence[ManagedObject]:
        """Return everything that the repository owns."""
        async with self._database.connection() as connection:
            stored = await managed_objects.managed(connection, namespace, repository)
        return await asyncio.to_thread(_managed, stored)

    async def managed_at(self, namespace: str, repository: str, paths: Collection[str], keys: Collection[Key]) -> Sequence[ManagedObject]:
        """Return the repository's objects that came from one of the paths or have one of the keys."""
        places = [path.rstrip("/") for path in paths]
        async with self._database.connection() as connection:
            return _managed(await managed_objects.managed_at(connection, namespace, repository, places, list(keys)))

    async def owners(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Owner]:
        """Return the owners of existing objects."""
        found: dict[Key, Owner] = {}
        async with self._database.connection() as connection:
            for kind, names in _by_kind(keys).items():
                rows = await resources.owners(connection, kind, namespace, names)
                found |= {Key(kind.group, kind.plural, name): _owner(annotations) for name, annotations in rows.items()}
        return found

    async def quarantined(self) -> Sequence[QuarantinedFile]:
        """Return the files in quarantine."""
        async with self._database.connection() as connection:
            found = await repositories.faults(connection, self._uid)
        return [
            QuarantinedFile(fault.path, fault.message, fault.name, fault.checksum, fault.rules, is_copy=fault.is_copy) for fault in found
        ]

    async def documents(self, namespace: str, keys: Sequence[Key]) -> Mapping[Key, Document]:
        """Return the bodies of existing objects."""
        found: dict[Key, Document] = {}
        async with self._database.connection() as connection:
            for kind, names in _by_kind(keys).items():
                rows = await resources.get_many(connection, kind, namespace, names)
                found |= {Key(kind.group, kind.plural, row.name): _document(row) for row in rows}
        return found

    async def quota_refusal(self, namespace: str, *, created: int, removed: int) -> str:
        """Return why so many dashboards may not be created, or an empty string."""
        try:
            async with self._database.connection() as connection:
                await quotas.check_dashboards(
                    connection, self._rules, namespace, created=created, removed=removed, by="sync", is_written=False
                )
        except quotas.QuotaReached as error:
            return error.message
        return ""

    async def apply(self, namespace: str, changes: AsyncIterator[Change], snapshot: Snapshot) -> None:
        """Stage everything, then write it in one step: other writers wait for that step only, and readers never."""
        async with self._database.transaction() as connection:
            staging = resources.StagedWrites(connection)
            await staging.open()
            removals = await _stage(staging, changes)
            # Staging needs no lock, so the lock of all writers is held only for the write itself.
            await resources.lock(connection)
            kept = await self._advance(connection, snapshot)
            if (name := await staging.taken_over(namespace, self._repository.name)) is not None:
                raise Conflict(f"{name} was created or taken over by another manager during the sync; sync again")
            await staging.write(namespace, actor=self._actor, now=self._clock.now(), message=self._message)
            removed = await self._remove(connection, namespace, removals)
            if await quotas.limits_dashboards(connection, self._rules, namespace):
                created = await staging.created(DASHBOARD)
                await quotas.check_dashboards(connection, self._rules, namespace, created=created, removed=removed, by="sync")
            # Last, so that a lease which was lost during the write still rolls it back.
            if self._attempt and not await jobs.holds(connection, self._attempt.job, owner=self._attempt.owner):
                raise LeaseLost
            await self._write_status(connection, kept.commit)

    async def note(self, snapshot: Snapshot) -> None:
        """Store a snapshot without writes to objects."""
        async with self._database.transaction() as connection:
            await resources.lock(connection)
            kept = await self._advance(connection, snapshot)
            await self._write_status(connection, kept.commit)

    async def get_json(self, namespace: str, key: Key, version: str) -> bytes | None:
        """Return an object as JSON; None if it does not exist."""
        async with self._database.connection() as connection:
            return await self._get_json(connection, namespace, key, version)

    async def dry_run(self, namespace: str, write: Write) -> bytes:
        """Return the object as it would be stored. Raises Forbidden if a quota is reached."""
        async with self._database.connection() as connection, trial(connection, dry_run=True):
            await resources.put(await resources.lock(connection), namespace, _write(write), actor=self._actor, now=self._clock.now())
            if write.is_new and write.key.resource == DASHBOARD.plural:
                await quotas.check_dashboards(connection, self._rules, namespace, created=1, removed=0, by="sync")
            shown = await self._get_json(connection, namespace, write.key, write.version)
            assert shown is not None, "it was written just now"
            return shown

    async def _get_json(self, connection: Connection, namespace: str, key: Key, version: str) -> bytes | None:
        found = await resources.get_many(connection, _kind(key), namespace, [key.name])
        return found[0].encode(version) if found else None

    async def _advance(self, connection: Connection, snapshot: Snapshot) -> StoredCommit:
        """Store the next edition of the repository. Raises Overtaken if it is not the one that the plan was made from."""
        kept = await repositories.note_commit(
            connection,
            self._uid,
            snapshot.commit,
            generation=self._repository.generation,
            edition=self._edition,
            since=snapshot.since,
            entries=snapshot.entries,
        )
        if kept is None:
            raise Overtaken(f"repository {self._repository.name!r} was written by another writer; try again")
        now, job = self._clock.now(), self._attempt.job if self._attempt else None
        if kept.commit:
            await revisions.note(connection, self._uid, kept.commit, job=job, now=now)
        found = [
            QuarantineEntry(item.path, item.name, item.message, item.checksum, item.rules, now, is_copy=item.is_copy)
            for item in snapshot.quarantined
        ]
        await repositories.quarantine(connection, self._uid, found, among=snapshot.looked_at)
        return kept

    async def _write_status(self, connection: Connection, commit: str | None) -> None:
        """Write the stored commit and counts into the repository's status, in the same transaction."""
        namespace, name = self._repository.namespace, self._repository.name
        counts = await managed_objects.count_managed(connection, namespace, name)

        def change(status: RepositoryStatus, _: StoredObject) -> None:
            status.sync.last_ref = commit or status.sync.last_ref
            status.stats = [ResourceCount(group=group, resource=resource, count=count) for group, resource, count in counts]

        with suppress(NotFound):  # the repository was deleted, and its status with it
            await statuses.change(connection, REPOSITORY, namespace, name, RepositoryStatus, change)

    async def _remove(self, connection: Connection, namespace: str, keys: Sequence[Key]) -> int:
        """Delete objects and return the number of deleted dashboards. ``keys`` are those of folders last.

        Objects that were deleted already are skipped. Raises Conflict if one has another manager now; a folder around such an object is
        released instead.
        """
        dashboards = 0
        for kind, listed in _by_kind(keys).items():
            names = listed
            if kind is FOLDER:
                kept = await managed_objects.release_holding(connection, namespace, listed, self._repository.name)
                names = [name for name in listed if name not in kept]
            removed = await managed_objects.delete_managed(connection, kind, namespace, names, self._repository.name)
            dashboards += len(removed) if kind is DASHBOARD else 0
            if left := sorted(await resources.owners(connection, kind, namespace, list(set(names) - set(removed)))):
                raise Conflict(f"{kind.plural} '{left[0]}' was taken over by another manager during the sync; sync again")
        return dashboards


def _managed(rows: Sequence[managed_objects.ManagedObject]) -> Sequence[ManagedObject]:
    return [ManagedObject(Key(row.group, row.resource, row.name), row.path, row.checksum, row.folder or "", row.title) for row in rows]


async def _stage(staging: resources.StagedWrites, changes: AsyncIterator[Change]) -> list[Key]:
    """Stage the writes in batches and return the keys to delete, in order."""
    removals: list[Key] = []
    batch: list[resources.Write] = []
    async for change in changes:
        if isinstance(change, Removal):
            removals.append(change.key)
            continue
        batch.append(_write(change))
        if len(batch) == _BATCH:
            await staging.add(batch)
            batch = []
    if batch:
        await staging.add(batch)
    return removals


def _kind(key: Key) -> Kind:
    kind = find(key.group, key.resource)
    if kind is None:
        raise DashwrightError(f"{key.resource}.{key.group} is not in the registry of kinds")
    return kind


def _by_kind(keys: Sequence[Key]) -> Mapping[Kind, list[str]]:
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        names[key.group, key.resource].append(key.name)
    return {_kind(Key(group, resource, "")): listed for (group, resource), listed in names.items()}


def _document(row: resources.StoredObject) -> Document:
    metadata = orjson.loads(row.metadata)
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return Document(row.kind.api_version(row.stored_version), labels, annotations, row.spec.encode())


def _owner(annotations: Mapping[str, str]) -> Owner:
    allows_edits = annotations.get(MANAGER_ALLOWS_EDITS) == "true"
    return Owner(annotations.get(MANAGED_BY, ""), annotations.get(MANAGER_ID, ""), allows_edits, annotations.get(FOLDER_KEY, ""))


def _write(change: Write) -> resources.Write:
    return resources.Write(
        _kind(change.key),
        change.key.name,
        change.spec.decode(),
        change.version,
        extract=change.extract,
        labels=change.labels,
        annotations=change.annotations,
    )
