"""Queries of exports: unmanaged objects with their generations, and their handover to a repository."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "exports.sql")


@dataclass(frozen=True, slots=True)
class ExportRow:
    """An object without its body."""

    uid: uuid.UUID
    name: str
    generation: int
    title: str
    #: Empty at the root.
    folder: str
    #: Managed folders are listed, too, because exported objects are in them; managed dashboards are not.
    is_managed: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A generation of an object."""

    uid: uuid.UUID
    generation: int
    stored_version: str
    #: JSON text, as is ``metadata``.
    spec: str
    metadata: str
    created_at: datetime
    created_by: str
    message: str | None
    #: Name of the user; None if the author is not a user, or is deleted. ``email`` likewise.
    author: str | None
    email: str | None


@dataclass(frozen=True, slots=True)
class HandoverRow:
    """An object as it was exported."""

    uid: uuid.UUID
    generation: int
    #: The path of a folder has no slash at its end.
    path: str
    #: Checksum of the file, empty for a folder.
    checksum: str


async def folders(connection: Connection, namespace: str, *, limit: int) -> Sequence[ExportRow]:
    """Return all folders, the oldest first, ``limit`` at most."""
    return [ExportRow(**row) for row in await connection.fetch(_sql.folders, namespace, limit)]


async def dashboards(connection: Connection, namespace: str, *, within: Sequence[str] | None, limit: int) -> Sequence[ExportRow]:
    """Return the unmanaged dashboards in some folders (None: in all), the oldest first, ``limit`` at most."""
    places = None if within is None else list(within)
    return [ExportRow(**row) for row in await connection.fetch(_sql.dashboards, namespace, places, limit)]


async def versions(connection: Connection, items: Sequence[tuple[uuid.UUID, int]], *, older: bool) -> Sequence[VersionRow]:
    """Return the bodies of objects at a generation, with ``older`` also earlier ones that are still kept; oldest first."""
    uids, generations = zip(*items, strict=True)
    return [VersionRow(**row) for row in await connection.fetch(_sql.versions, uids, generations, older)]


async def hand_over(
    connection: Connection, repository: uuid.UUID, name: str, handed: Sequence[HandoverRow], *, generation: int
) -> set[uuid.UUID]:
    """Make a repository the manager of objects and return the uids of those that it received.

    Call it in a transaction under the lock of resources. Objects that were changed since the export, have a manager, finalizers or owners
    are left as they are; all are if the repository is being deleted or has another ``generation``.
    """
    columns = zip(*((item.uid, item.generation, item.path, item.checksum) for item in handed), strict=True)
    rows = await connection.fetch(_sql.hand_over, repository, generation, name, *map(list, columns))
    return {row["uid"] for row in rows}


async def overtake(connection: Connection, repository: uuid.UUID) -> None:
    """Invalidate the plans of writers that read the repository before. Call it in the transaction that changes the objects."""
    await connection.execute(_sql.overtake, repository)


async def author(connection: Connection, user_id: int) -> tuple[str, str] | None:
    """Return name and e-mail address of a user or service account; None if it is deleted."""
    row = await connection.fetchrow(_sql.author, user_id)
    return None if row is None else (row["name"], row["email"])
