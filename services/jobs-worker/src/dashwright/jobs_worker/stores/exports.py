"""Queries of exports: unmanaged objects with their generations, and their adoption by a repository."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "exports.sql")


@dataclass(frozen=True, slots=True)
class ExportRow:
    """An object without its body."""

    uid: uuid.UUID
    #: Plural name of the kind.
    resource: str
    name: str
    generation: int
    title: str
    #: Name of the folder that contains the object, empty at the root.
    folder: str
    #: ``True`` for a managed folder. It is listed because exported objects may be in it; other managed objects are not listed.
    is_managed: bool
    #: Description of a folder; None for other kinds.
    description: str | None = None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A generation of an object."""

    uid: uuid.UUID
    #: Plural name of the kind.
    resource: str
    generation: int
    #: API version of the stored body, without the group.
    stored_version: str
    #: JSON text.
    spec: str
    #: JSON text.
    metadata: str
    created_at: datetime
    #: Actor, such as ``user:7``.
    created_by: str
    message: str | None
    #: Name of the user; None for a deleted author and for programs.
    author: str | None
    #: E-mail address of the user; None for a deleted author and for programs.
    email: str | None


@dataclass(frozen=True, slots=True)
class AdoptionRow:
    """An exported object, with its path and checksum in the repository."""

    uid: uuid.UUID
    generation: int
    #: The path of a folder has no slash at its end.
    path: str
    #: Checksum of the file, or of the ``_folder.json`` of a folder; empty for a folder without one.
    checksum: str


class AuthorRow(NamedTuple):
    """The author of an export."""

    name: str
    email: str


async def folders(connection: Connection, namespace: str, *, limit: int) -> Sequence[ExportRow]:
    """Return all folders, the oldest first, at most ``limit``."""
    return [ExportRow(**row) for row in await connection.fetch(_sql.folders, namespace, limit)]


async def objects(connection: Connection, namespace: str, *, folder_names: Sequence[str] | None, limit: int) -> Sequence[ExportRow]:
    """Return the unmanaged dashboards and library panels in some folders (None: in all), the oldest first, at most ``limit``."""
    folder_array = None if folder_names is None else list(folder_names)
    return [ExportRow(**row) for row in await connection.fetch(_sql.objects, namespace, folder_array, limit)]


async def versions(
    connection: Connection, uid_generations: Sequence[tuple[uuid.UUID, int]], *, include_older: bool
) -> Sequence[VersionRow]:
    """Return the bodies of objects by uid, for each object the oldest generation first.

    ``uid_generations`` has at least one pair of uid and generation. With ``include_older`` all earlier stored generations are returned,
    too.
    """
    uids, generations = zip(*uid_generations, strict=True)
    return [VersionRow(**row) for row in await connection.fetch(_sql.versions, uids, generations, include_older)]


async def adopt(
    connection: Connection, repository_uid: uuid.UUID, repository_name: str, objects: Sequence[AdoptionRow], *, generation: int
) -> set[uuid.UUID]:
    """Make a repository the manager of objects and return the uids of the objects that it manages now.

    Call it in a transaction under the lock of objects. Objects that were changed since the export, or have a manager, finalizers or owners
    are not adopted. If the repository is being deleted, or its generation is not ``generation``, no object is adopted.
    """
    # The query has one array for each column.
    columns = zip(*((item.uid, item.generation, item.path, item.checksum) for item in objects), strict=True)
    rows = await connection.fetch(_sql.adopt, repository_uid, generation, repository_name, *map(list, columns))
    return {row["uid"] for row in rows}


async def invalidate_plans(connection: Connection, repository_uid: uuid.UUID) -> None:
    """Increase the edition of a repository, so that syncs and edits that planned with the former edition plan again.

    Call it in the transaction that changes the objects.
    """
    await connection.execute(_sql.invalidate_plans, repository_uid)


async def author(connection: Connection, user_id: int) -> AuthorRow | None:
    """Return the name and e-mail address of a user or service account; None if it is deleted."""
    row = await connection.fetchrow(_sql.author, user_id)
    return None if row is None else AuthorRow(row["name"], row["email"])
