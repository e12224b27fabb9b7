"""Folders as a tree: the way up from one, and what lies below it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "folders.sql")

_MOST_STEPS: Final = 10_000
"""No way up is followed further: a sync may nest folders as deep as its files."""


class Ancestor(NamedTuple):
    """A folder on a way up; ``parent`` is None at the root."""

    name: str
    title: str
    parent: str | None


class FolderContent(NamedTuple):
    """What lies in a folder; ``manager`` is the kind and name of who manages it."""

    group: str
    plural: str
    name: str
    folder: str
    manager: tuple[str, str] | None
    finalizers: Sequence[str]


class KindCount(NamedTuple):
    group: str
    plural: str
    objects: int


async def ancestors(connection: Connection, namespace: str, folder: str) -> Sequence[Ancestor]:
    """The way from the root down to a folder, itself the last; nothing where there is no such folder."""
    rows = await connection.fetch(_sql.ancestors, namespace, folder, _MOST_STEPS)
    return [Ancestor(row["name"], row["title"], row["folder"]) for row in rows]


async def height(connection: Connection, namespace: str, folder: str, *, most: int) -> int:
    """How many folders lie one in another from this one down: 1 where none lies in it. Never more than ``most``."""
    deepest: int = await connection.fetchval(_sql.height, namespace, folder, most)
    return deepest


async def contents(connection: Connection, namespace: str, folder: str) -> Sequence[FolderContent]:
    """Everything that lies in a folder, at any depth."""
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
    """How many objects of each kind lie in a folder, at any depth; kinds of which there are none are left out."""
    return [KindCount(row["api_group"], row["resource"], row["count"]) for row in await connection.fetch(_sql.counts, namespace, folder)]
