"""Store of all repositories of all organizations, for their syncs."""

import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection, Database
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus

_sql = queries.load(__package__, "repositories.sql")


@dataclass(frozen=True, slots=True)
class ScheduledRepository:
    """Repository as the scheduler needs it."""

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    changed: int  #: Time of the last change of the spec, in Unix milliseconds.
    is_deleting: bool
    refused_by: frozenset[str]  #: Rules that keep files of the repository in quarantine.
    #: Commit at which a rollback holds the branch: no automatic sync while it is there.
    held_at: str | None = None


async def scheduled(connection: Connection) -> Sequence[ScheduledRepository]:
    """Return every repository, in no particular order."""
    return [
        ScheduledRepository(
            row["uid"],
            row["namespace"],
            row["name"],
            row["generation"],
            RepositorySpec.model_validate_json(row["spec"]),
            RepositoryStatus.model_validate_json(row["status"] or "{}"),
            row["changed"],
            row["is_deleting"],
            frozenset(row["refused_by"]),
            row["held_at"],
        )
        for row in await connection.fetch(_sql.all)
    ]


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """State of what is stored of a repository."""

    edition: int = 0  #: Number of writes so far.
    #: Commit that is stored, except quarantined files, under the requested generation of the spec.
    commit: str | None = None
    entries: int = 0  #: Number of its files and directories.


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """File that cannot be synced."""

    path: str
    name: str
    message: str
    checksum: str
    rules: str  #: Version of the rules that refused it.
    since: datetime  #: Time of the first refusal.
    #: Whether it is only a copy of another file that was synced, which is not an error.
    is_copy: bool = False


async def find_mentions(connection: Connection, namespace: str, name: str, text: str) -> Sequence[tuple[str, str]]:
    """Return the names and specs of the other repositories that have ``text`` in their spec, those being deleted left out."""
    return [(row["name"], row["spec"]) for row in await connection.fetch(_sql.find_mentions, namespace, name, text)]


async def stored_commit(connection: Connection, repository: uuid.UUID, *, generation: int) -> StoredCommit:
    """Return the stored commit and edition.

    Call before reading files: ``note_commit`` later uses the edition to detect concurrent writes.
    """
    row = await connection.fetchrow(_sql.stored_commit, repository, generation)
    return StoredCommit(**row) if row else StoredCommit()


async def require_full_sync(connection: Connection, namespace: str, name: str) -> None:
    """Clear the stored commit of a repository, so that its next sync examines everything."""
    await connection.execute(_sql.require_full_sync, namespace, name)


async def note_commit(
    connection: Connection, repository: uuid.UUID, commit: str, *, generation: int, edition: int, since: str | None = None, entries: int = 0
) -> StoredCommit | None:
    """Record that ``commit`` is stored now; an empty one clears it. Return the new state.

    Call in the transaction that writes the objects, under their lock. ``since``: only the difference to that commit was
    written, and ``entries`` is the difference in number. Returns None if the edition has changed: nothing was recorded,
    and the transaction must be rolled back.
    """
    row = await connection.fetchrow(_sql.note_commit, repository, commit or None, generation, edition, entries, since)
    return StoredCommit(**row) if row else None


async def faults(
    connection: Connection, repository: uuid.UUID, *, most: int | None = None, copies: bool = True
) -> Sequence[QuarantineEntry]:
    """Return at most ``most`` files in quarantine, by path; with ``copies`` also copies."""
    return [QuarantineEntry(**row) for row in await connection.fetch(_sql.faults, repository, most, copies)]


async def quarantine(
    connection: Connection, repository: uuid.UUID, found: Sequence[QuarantineEntry], *, among: Collection[str] | None
) -> None:
    """Replace the quarantine of the paths in ``among`` (None: of all paths) by ``found``.

    A path that was quarantined before keeps its ``since``. Call in the transaction of ``note_commit``.
    """
    rows = [(fault.path, fault.name, fault.message, fault.checksum, fault.rules, fault.since, fault.is_copy) for fault in found]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 7
    await connection.execute(_sql.quarantine, repository, None if among is None else list(among), *columns)


async def list_uids(connection: Connection) -> Sequence[str]:
    """Return the uids of all repositories."""
    return [row["uid"] for row in await connection.fetch(_sql.list_uids)]


@asynccontextmanager
async def schedule(database: Database) -> "AsyncIterator[Connection | None]":
    """Yield a connection that holds the lock of the scheduler, or None if another process holds it."""
    async with database.connection() as connection:
        if not await connection.fetchval(_sql.hold_schedule):
            yield None
            return
        try:
            yield connection
        finally:
            if not connection.is_closed():
                await connection.execute(_sql.release_schedule)
