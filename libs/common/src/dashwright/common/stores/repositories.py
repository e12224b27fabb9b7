"""Store of the sync state of repositories, in all organizations."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import asyncpg

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.database.session_locks import session_lock
from dashwright.common.jobs.timing import RepositoryTiming
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.notifications import EventFile
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus

_sql = queries.load(__package__, "repositories.sql")


@dataclass(frozen=True, slots=True)
class ScheduledRepository:
    """Repository with the data that a step of the scheduler needs."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    refused_by: frozenset[str]  #: Fingerprints of the rules that refused the quarantined files.
    #: Newest commit of the branch at the time of a rollback. Automatic syncs are stopped until the branch has a newer commit.
    held_at: str | None = None


@dataclass(frozen=True, slots=True)
class ListedRepository:
    """Repository with the data that the scheduler keeps. Its spec and status are JSON, because models take nine times the memory."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    resource_version: int
    spec_json: str
    status_json: str
    host: str  #: Scheme, host and port; empty for a local directory.
    timing: RepositoryTiming
    spec_changed_at: int  #: Unix milliseconds.
    is_deleting: bool
    refused_by: frozenset[str]
    held_at: str | None

    def parse(self) -> ScheduledRepository:
        """Return the repository with its spec and status as models."""
        spec, status = RepositorySpec.model_validate_json(self.spec_json), RepositoryStatus.model_validate_json(self.status_json)
        return ScheduledRepository(self.uid, self.namespace, self.name, self.generation, spec, status, self.refused_by, self.held_at)


async def list_all(connection: Connection, known: Mapping[uuid.UUID, ListedRepository]) -> Mapping[uuid.UUID, ListedRepository]:
    """Return all repositories by uid, in no particular order.

    ``known`` is an earlier result. It provides the spec and the status of repositories that have not changed since, because parsing a
    thousand of them takes a tenth of a second.
    """
    versions = [repository.resource_version for repository in known.values()]
    rows = await connection.fetch(_sql.list_all, list(known), versions)
    return {row["uid"]: _listed(row, known.get(row["uid"])) for row in rows}


def _listed(row: asyncpg.Record, known: ListedRepository | None) -> ListedRepository:
    """Return the repository of a row. ``known`` is an earlier state of it, if any."""
    if known is not None and known.resource_version == row["resource_version"]:
        spec_json, status_json, host, timing = known.spec_json, known.status_json, known.host, known.timing
    else:
        spec_json, status_json = row["spec"], row["status"] or "{}"
        spec, status = RepositorySpec.model_validate_json(spec_json), RepositoryStatus.model_validate_json(status_json)
        host, timing = host_of(spec.remote.url) if spec.remote is not None else "", RepositoryTiming.of(spec, status)
    return ListedRepository(
        row["uid"],
        row["namespace"],
        row["name"],
        row["generation"],
        row["resource_version"],
        spec_json,
        status_json,
        host,
        timing,
        row["spec_changed_at"],
        row["is_deleting"],
        frozenset(row["refused_by"]),
        row["held_at"],
    )


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """Commit whose files are stored as objects of a repository."""

    edition: int = 0  #: Number of writes to the repository's objects.
    #: Hash of the commit, whose quarantined files are not stored. None if no commit was stored for the requested generation of the spec.
    commit: str | None = None
    entries: int = 0  #: Number of files and directories in the commit.


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """File that a sync could not store."""

    path: str
    name: str  #: Name of the object in the file, empty if it is not known.
    message: str  #: Why the file was refused.
    checksum: str  #: Checksum of the file, empty if its content is not the reason.
    rules: str  #: Fingerprint of the rules that refused the file, empty for another reason.
    since: datetime  #: Time of the first refusal.
    #: True if the file is a copy of a synced file, which is not an error.
    is_copy: bool = False


class QuarantineChange(NamedTuple):
    """Files that entered or left the quarantine, without copies, ordered by path."""

    entered: Sequence[EventFile]
    left: Sequence[EventFile]


async def find_mentions(connection: Connection, namespace: str, name: str, value: str) -> Sequence[tuple[str, str]]:
    """Return the names and specs of other repositories whose spec contains ``value``, except those being deleted."""
    return [(row["name"], row["spec"]) for row in await connection.fetch(_sql.find_mentions, namespace, name, value)]


async def stored_commit(connection: Connection, repository: uuid.UUID, *, generation: int) -> StoredCommit:
    """Return the stored commit and edition of a repository.

    Call this before reading files: ``record_commit`` uses the edition to detect concurrent writes.
    """
    row = await connection.fetchrow(_sql.stored_commit, repository, generation)
    return StoredCommit(**row) if row else StoredCommit()


async def require_full_sync(connection: Connection, namespace: str, name: str) -> None:
    """Clear the stored commit of a repository, so that its next sync examines all files."""
    await connection.execute(_sql.require_full_sync, namespace, name)


async def record_commit(
    connection: Connection,
    repository: uuid.UUID,
    commit: str,
    *,
    generation: int,
    edition: int,
    base_commit: str | None = None,
    entries: int = 0,
) -> StoredCommit | None:
    """Record ``commit`` as the stored commit and return the new state. An empty ``commit`` clears it.

    ``entries`` is the number of files and directories in the commit. With ``base_commit``, only the difference to that commit was written,
    and ``entries`` is the difference between both numbers. Call this under the lock of objects, in the transaction that writes them.

    Returns None and records nothing if the edition has changed: the transaction must then be rolled back. Returns an empty state if the
    repository was deleted.
    """
    row = await connection.fetchrow(_sql.record_commit, repository, commit or None, generation, edition, entries, base_commit)
    return StoredCommit(**row) if row else None


async def list_quarantined(
    connection: Connection, repository: uuid.UUID, *, limit: int | None = None, include_copies: bool = True
) -> Sequence[QuarantineEntry]:
    """Return at most ``limit`` quarantined files of a repository, ordered by path."""
    return [QuarantineEntry(**row) for row in await connection.fetch(_sql.list_quarantined, repository, limit, include_copies)]


async def quarantine(
    connection: Connection, repository: uuid.UUID, entries: Sequence[QuarantineEntry], *, paths: Collection[str] | None
) -> QuarantineChange:
    """Replace the quarantined files of ``paths``, or of all paths if None, by ``entries``. Return which files entered and left.

    A path that was quarantined before keeps its ``since``. Call this in the transaction of ``record_commit``.
    """
    rows = [(entry.path, entry.name, entry.message, entry.checksum, entry.rules, entry.since, entry.is_copy) for entry in entries]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 7  # zip(*[]) would give no columns
    changed = await connection.fetch(_sql.quarantine, repository, None if paths is None else list(paths), *columns)
    entered: list[EventFile] = []
    left: list[EventFile] = []
    for row in changed:
        (entered if row["has_entered"] else left).append(EventFile(path=row["path"], message=row["message"]))
    return QuarantineChange(entered, left)


async def list_uids(connection: Connection) -> Sequence[str]:
    """Return the uids of all repositories."""
    return [row["uid"] for row in await connection.fetch(_sql.list_uids)]


def scheduler_lock(database: Database) -> "AbstractAsyncContextManager[Connection | None]":
    """Yield a connection that holds the scheduler's lock, or None if another process holds the lock."""
    return session_lock(database, acquire=_sql.try_scheduler_lock, release=_sql.release_scheduler_lock)
