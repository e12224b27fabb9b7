"""What an export reads: objects that nobody manages and their generations; and how it hands them to their repository."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "exports.sql")


@dataclass(frozen=True, slots=True)
class ExportRow:
    """An object without its body; ``folder`` is empty at the root. Only folders are told of that somebody manages."""

    uid: uuid.UUID
    name: str
    generation: int
    title: str
    folder: str
    is_managed: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A generation. ``metadata`` and ``spec`` are JSON text; ``author`` and ``email`` None of one who is no user, or is gone."""

    uid: uuid.UUID
    generation: int
    stored_version: str
    spec: str
    metadata: str
    created_at: datetime
    created_by: str
    message: str | None
    author: str | None
    email: str | None


@dataclass(frozen=True, slots=True)
class HandoverRow:
    """An object as it was exported; ``checksum`` is that of its file, empty of a folder, whose path has no slash at its end."""

    uid: uuid.UUID
    generation: int
    path: str
    checksum: str


async def folders(connection: Connection, namespace: str, *, limit: int) -> Sequence[ExportRow]:
    """All folders, the oldest first, ``limit`` at most."""
    return [ExportRow(**row) for row in await connection.fetch(_sql.folders, namespace, limit)]


async def dashboards(connection: Connection, namespace: str, *, within: Sequence[str] | None, limit: int) -> Sequence[ExportRow]:
    """The dashboards that nobody manages and that lie in one of the folders, None for all; the oldest first, ``limit`` at most."""
    places = None if within is None else list(within)
    return [ExportRow(**row) for row in await connection.fetch(_sql.dashboards, namespace, places, limit)]


async def versions(connection: Connection, items: Sequence[tuple[uuid.UUID, int]], *, older: bool) -> Sequence[VersionRow]:
    """The bodies of objects as they were at a generation; with ``older`` those before it, too, as far as they are kept, oldest first."""
    uids, generations = zip(*items, strict=True)
    return [VersionRow(**row) for row in await connection.fetch(_sql.versions, uids, generations, older)]


async def hand_over(
    connection: Connection, repository: uuid.UUID, name: str, handed: Sequence[HandoverRow], *, generation: int
) -> set[uuid.UUID]:
    """Makes a repository the manager of what it holds now; answers what it was given, in the caller's transaction under the lock.

    What was changed since it was exported, is somebody's, or has finalizers or owners, stays as it is; all of it where the repository
    is not of that ``generation`` any more, or going.
    """
    columns = zip(*((item.uid, item.generation, item.path, item.checksum) for item in handed), strict=True)
    rows = await connection.fetch(_sql.hand_over, repository, generation, name, *map(list, columns))
    return {row["uid"] for row in rows}


async def overtake(connection: Connection, repository: uuid.UUID) -> None:
    """Whoever planned by what was stored of a repository before plans anew; in the transaction that changes it."""
    await connection.execute(_sql.overtake, repository)


async def author(connection: Connection, user_id: int) -> tuple[str, str] | None:
    """The name and e-mail of a user or service account."""
    row = await connection.fetchrow(_sql.author, user_id)
    return None if row is None else (row["name"], row["email"])
