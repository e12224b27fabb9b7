"""Store of the objects that repositories manage, which are released or deleted together with their repository."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.kinds.annotations import REPOSITORY_MANAGER
from dashwright.common.kinds.kind import Kind

_sql = queries.load(__package__, "managed_objects.sql")


@dataclass(frozen=True, slots=True)
class ManagedObject:
    """Object that a repository manages, without its spec."""

    group: str
    resource: str
    name: str
    path: str
    checksum: str
    folder: str | None
    title: str


async def delete_managed(connection: Connection, kind: Kind, namespace: str, names: Sequence[str], repository: str) -> Sequence[str]:
    """Delete the named objects, except those that the repository no longer manages. Return the names of the deleted objects."""
    rows = await connection.fetch(_sql.delete_managed, namespace, kind.group, kind.plural, list(names), repository)
    return [row["name"] for row in rows]


async def release_managed(connection: Connection, namespace: str, repository: str) -> None:
    """Release all objects that a repository manages. Call this under the lock of objects."""
    await connection.execute(_sql.extend_statement)
    # None: not only some folders, but all objects.
    await connection.execute(_sql.release_managed, namespace, repository, None)


async def release_nonempty_folders(connection: Connection, namespace: str, folders: Sequence[str], repository: str) -> Sequence[str]:
    """Release the folders of a repository that still contain objects, and return their names.

    Call this under the lock of objects, after all other objects of the repository have been deleted: the remaining
    objects belong to other managers and need their folders.
    """
    nonempty_folders = [row["name"] for row in await connection.fetch(_sql.list_nonempty_folders, namespace, list(folders))]
    if nonempty_folders:
        await connection.execute(_sql.release_managed, namespace, repository, nonempty_folders)
    return nonempty_folders


async def list_managed(connection: Connection, namespace: str, repository: str) -> Sequence[ManagedObject]:
    """Return all objects that a repository manages."""
    rows = await connection.fetch(_sql.list_managed, namespace, REPOSITORY_MANAGER, repository)
    # A repository may manage many thousands of objects. Their construction would block the event loop.
    return await asyncio.to_thread(lambda: [_managed_object(row) for row in rows])


async def find_managed(
    connection: Connection, namespace: str, repository: str, paths: Sequence[str], keys: Sequence[tuple[str, str, str]]
) -> Sequence[ManagedObject]:
    """Return the managed objects of a repository that come from one of the paths or have one of the keys.

    Paths of directories have no trailing slash. A key consists of group, resource and name. The cost does not depend on the
    size of the repository.
    """
    groups, plurals, names = zip(*keys, strict=True) if keys else ((), (), ())
    rows = await connection.fetch(_sql.find_managed, namespace, REPOSITORY_MANAGER, repository, paths, groups, plurals, names)
    return [_managed_object(row) for row in rows]


def _managed_object(row: Any) -> ManagedObject:
    return ManagedObject(
        row["api_group"],
        row["resource"],
        row["name"],
        row["source_path"] or "",
        row["source_checksum"] or "",
        row["folder"],
        row["title"],
    )


async def count_managed(connection: Connection, namespace: str, repository: str) -> Sequence[tuple[str, str, int]]:
    """Return the number of managed objects of a repository by kind, as (group, resource, count)."""
    return [(row["api_group"], row["resource"], row["count"]) for row in await connection.fetch(_sql.count_managed, namespace, repository)]
