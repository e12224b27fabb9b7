"""Store of what repositories manage: which objects, released or deleted together with their repository."""

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
    """Object that a repository manages."""

    group: str
    resource: str
    name: str
    path: str
    checksum: str
    folder: str | None
    title: str


async def delete_managed(connection: Connection, kind: Kind, namespace: str, names: Sequence[str], repository: str) -> Sequence[str]:
    """Delete those of the named objects that a repository still manages; return their names."""
    rows = await connection.fetch(_sql.delete_managed, namespace, kind.group, kind.plural, list(names), repository)
    return [row["name"] for row in rows]


async def release_managed(connection: Connection, namespace: str, repository: str) -> None:
    """Remove the manager from everything that a repository manages. Call under the lock."""
    await connection.execute(_sql.extend_statement)
    await connection.execute(_sql.release_managed, namespace, repository, None)


async def release_holding(connection: Connection, namespace: str, folders: Sequence[str], repository: str) -> Sequence[str]:
    """Release the folders of a repository that still contain objects, and return their names.

    Call under the lock, after everything else of the repository has been deleted: the remaining objects belong to
    others, who could not find them without their folders.
    """
    holding = [row["name"] for row in await connection.fetch(_sql.holding, namespace, list(folders))]
    if holding:
        await connection.execute(_sql.release_managed, namespace, repository, holding)
    return holding


async def managed(connection: Connection, namespace: str, repository: str) -> Sequence[ManagedObject]:
    """Return everything that a repository manages."""
    rows = await connection.fetch(_sql.managed, namespace, REPOSITORY_MANAGER, repository)
    # A repository may manage many thousands of objects: building them would hold up the event loop.
    return await asyncio.to_thread(lambda: [_managed(row) for row in rows])


async def managed_at(
    connection: Connection, namespace: str, repository: str, paths: Sequence[str], keys: Sequence[tuple[str, str, str]]
) -> Sequence[ManagedObject]:
    """Return what a repository manages that came from one of the paths or has one of the keys.

    Paths of directories have no trailing slash. A key is group, resource and name. The cost does not grow with the
    repository.
    """
    groups, plurals, names = zip(*keys, strict=True) if keys else ((), (), ())
    rows = await connection.fetch(_sql.managed_at, namespace, REPOSITORY_MANAGER, repository, paths, groups, plurals, names)
    return [_managed(row) for row in rows]


def _managed(row: Any) -> ManagedObject:
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
    """Return the counts of what a repository manages, as (group, resource, count)."""
    return [(row["api_group"], row["resource"], row["count"]) for row in await connection.fetch(_sql.count_managed, namespace, repository)]
