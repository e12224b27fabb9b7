"""All repositories of all organizations, as whoever plans their syncs sees them."""

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
    """A repository as the scheduler sees it. ``changed`` is when its spec last did, in Unix milliseconds.

    ``refused_by``: rules that keep files of it in quarantine. ``held_at``: while its branch is at that commit, nothing is synced by itself.
    """

    uid: uuid.UUID
    namespace: str
    name: str
    generation: int
    spec: RepositorySpec
    status: RepositoryStatus
    changed: int
    is_deleting: bool
    refused_by: frozenset[str]
    held_at: str | None = None


async def scheduled(connection: Connection) -> Sequence[ScheduledRepository]:
    """Every repository, in no order."""
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
    """What is stored of a repository. ``edition`` counts how often that was written.

    ``commit`` is the one that is stored but for quarantined files, by the generation that was asked about; None where none is.
    ``entries`` are its files and directories.
    """

    edition: int = 0
    commit: str | None = None
    entries: int = 0


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """A file that cannot go in; ``since`` tells when it first could not. ``is_copy``: it is the copy of one that did, and no error."""

    path: str
    name: str
    message: str
    checksum: str
    rules: str
    since: datetime
    is_copy: bool = False


async def find_mentions(connection: Connection, namespace: str, name: str, text: str) -> Sequence[tuple[str, str]]:
    """Return the names and specs of the other repositories that have ``text`` in their spec, those being deleted left out."""
    return [(row["name"], row["spec"]) for row in await connection.fetch(_sql.find_mentions, namespace, name, text)]


async def stored_commit(connection: Connection, repository: uuid.UUID, *, generation: int) -> StoredCommit:
    """To be asked before the files are looked at: by this edition ``note_commit`` tells later whether somebody else wrote meanwhile."""
    row = await connection.fetchrow(_sql.stored_commit, repository, generation)
    return StoredCommit(**row) if row else StoredCommit()


async def require_full_sync(connection: Connection, namespace: str, name: str) -> None:
    """What is stored of a repository is that of no commit any more: its next sync looks at everything."""
    await connection.execute(_sql.require_full_sync, namespace, name)


async def note_commit(
    connection: Connection, repository: uuid.UUID, commit: str, *, generation: int, edition: int, since: str | None = None, entries: int = 0
) -> StoredCommit | None:
    """``commit`` is stored now; empty: none is. For the transaction that writes the objects, under the lock of these.

    ``since``: only what differs from that commit was written; ``entries`` are the more there are then, else all. Answers what is kept now,
    and None where what is stored was no longer of that ``edition``: nothing was noted, and the transaction must be rolled back.
    """
    row = await connection.fetchrow(_sql.note_commit, repository, commit or None, generation, edition, entries, since)
    return StoredCommit(**row) if row else None


async def faults(
    connection: Connection, repository: uuid.UUID, *, most: int | None = None, copies: bool = True
) -> Sequence[QuarantineEntry]:
    """Return the files in quarantine, by path, ``most`` of them at most; ``copies`` are left out where they are not asked for."""
    return [QuarantineEntry(**row) for row in await connection.fetch(_sql.faults, repository, most, copies)]


async def quarantine(
    connection: Connection, repository: uuid.UUID, found: Sequence[QuarantineEntry], *, among: Collection[str] | None
) -> None:
    """Of the paths ``among``, None for all, these are in quarantine, each once, and no others; one that was there stays since when it was.

    In the transaction of ``note_commit``.
    """
    rows = [(fault.path, fault.name, fault.message, fault.checksum, fault.rules, fault.since, fault.is_copy) for fault in found]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 7
    await connection.execute(_sql.quarantine, repository, None if among is None else list(among), *columns)


async def list_uids(connection: Connection) -> Sequence[str]:
    """Of every repository there is."""
    return [row["uid"] for row in await connection.fetch(_sql.list_uids)]


@asynccontextmanager
async def schedule(database: Database) -> "AsyncIterator[Connection | None]":
    """The connection of whoever may plan, as long as the block runs; None where somebody else does."""
    async with database.connection() as connection:
        if not await connection.fetchval(_sql.hold_schedule):
            yield None
            return
        try:
            yield connection
        finally:
            if not connection.is_closed():
                await connection.execute(_sql.release_schedule)
