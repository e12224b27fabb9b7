"""Dashboards and folders as they are searched for: by title, tags, folder and stars, without their bodies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.registry import FOLDER

_sql = load(__package__, "titles.sql")


@dataclass(frozen=True, slots=True)
class Item:
    """A dashboard or folder; ``folder`` is what it lies in, None at the root."""

    number: int
    name: str
    is_folder: bool
    title: str
    tags: Sequence[str]
    is_starred: bool
    folder_number: int | None
    folder: str | None
    folder_title: str | None


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for in an organization; empty collections ask for nothing. In ``folders`` the empty text is the root."""

    org_id: int
    viewer: int
    dashboards: bool = True
    folders_too: bool = True
    containing: str = ""
    names: Collection[str] = ()
    numbers: Collection[int] = ()
    folders: Collection[str] = ()
    folder_numbers: Collection[int] = ()
    tags: Collection[str] = ()
    starred: bool = False


async def search(connection: Connection, wanted: Search, *, limit: int, offset: int) -> Sequence[Item]:
    """By title."""
    rows = await connection.fetch(
        _sql.search,
        namespace_of(wanted.org_id),
        wanted.dashboards,
        wanted.folders_too,
        wanted.containing,
        _some(wanted.names),
        _some(wanted.numbers),
        _some(wanted.folders),
        _some(wanted.folder_numbers),
        _some(wanted.tags),
        wanted.starred,
        wanted.viewer,
        wanted.org_id,
        limit,
        offset,
    )
    return [_item(row) for row in rows]


async def folder_exists(connection: Connection, org_id: int, name: str) -> bool:
    return bool(await connection.fetchval(_sql.folder_exists, namespace_of(org_id), name))


async def logins(connection: Connection, numbers: Collection[int]) -> dict[int, str]:
    """The logins of those users and service accounts that exist."""
    return {row["id"]: row["login"] for row in await connection.fetch(_sql.logins, list(numbers))}


def _some(values: Collection[Any]) -> list[Any] | None:
    return list(values) or None


def _item(row: Any) -> Item:
    return Item(
        row["number"],
        row["name"],
        row["resource"] == FOLDER.plural,
        row["title"],
        row["tags"],
        row["starred"],
        row["folder_number"],
        row["folder"],
        row["folder_title"],
    )
