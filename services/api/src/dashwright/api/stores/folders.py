"""The folder tree: ancestors of a folder, and its contents at any depth."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "folders.sql")

#: Limit on the ancestors that are read, in case folders contain each other. A sync may nest folders as deep as its files.
_MAX_DEPTH: Final = 10_000


class Ancestor(NamedTuple):
    """A folder on the path from the root."""

    name: str
    title: str
    #: None at the root.
    parent: str | None


class FolderContent(NamedTuple):
    """An object in a folder."""

    group: str
    plural: str
    name: str
    folder: str
    #: Kind and name of the object's manager; None if it is not managed.
    manager: tuple[str, str] | None
    finalizers: Sequence[str]


class KindCount(NamedTuple):
    """The number of objects of one kind."""

    group: str
    plural: str
    object_count: int


async def ancestors(connection: Connection, namespace: str, folder: str) -> Sequence[Ancestor]:
    """Return the folders on the path from the root to a folder, the folder itself last. Empty for an unknown folder."""
    rows = await connection.fetch(_sql.ancestors, namespace, folder, _MAX_DEPTH)
    return [Ancestor(row["name"], row["title"], row["folder"]) for row in rows]


async def height(connection: Connection, namespace: str, folder: str, *, limit: int) -> int:
    """Return the number of nested levels from a folder down, at most ``limit``. A folder without subfolders has height 1."""
    level_count: int = await connection.fetchval(_sql.height, namespace, folder, limit)
    return level_count


async def contents(connection: Connection, namespace: str, folder: str) -> Sequence[FolderContent]:
    """Return every object below a folder, at any depth."""
    rows = await connection.fetch(_sql.contents, namespace, folder)
    return [
        FolderContent(
            row["api_group"],
            row["resource"],
            row["name"],
            row["folder"],
            None if row["manager_kind"] is None else (row["manager_kind"], row["manager_id"] or ""),
            row["finalizers"],
        )
        for row in rows
    ]


async def counts(connection: Connection, namespace: str, folder: str) -> Sequence[KindCount]:
    """Return the number of objects of each kind below a folder, at any depth. Kinds without objects are left out."""
    return [KindCount(row["api_group"], row["resource"], row["count"]) for row in await connection.fetch(_sql.counts, namespace, folder)]
