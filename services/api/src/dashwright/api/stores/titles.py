"""The search over dashboards and folders: by title, tags, numbers, folder and stars, without reading bodies."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dashwright.api.domain.access.object_scope import EVERYTHING, Scope
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import namespace_of
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.registry import FOLDER
from dashwright.common.stores.resources import StoredObject

_sql = load(__package__, "titles.sql")


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """A dashboard or folder that a search found."""

    number: int
    name: str
    is_folder: bool
    title: str
    tags: Sequence[str]
    is_starred: bool
    folder_number: int | None
    #: The uid of the folder that contains it; None at the root.
    folder: str | None
    folder_title: str | None
    deleted_at: datetime | None = None


class AccountName(NamedTuple):
    """The names of the account that created or changed an object."""

    login: str
    email: str


class Marks(NamedTuple):
    """Facts that are stored next to a dashboard: the user's star, and whether it has access rules of its own."""

    is_starred: bool
    has_rules: bool


@dataclass(frozen=True, slots=True)
class TitleQuery:
    """A search in an organization. Empty collections are not applied as filters."""

    org_id: int
    #: The user whose stars are marked; 0: none.
    viewer: int
    #: The dashboards that the caller may read.
    dashboards: Scope = EVERYTHING
    #: The folders that the caller may read. Other folders are neither named nor found.
    containers: Scope = EVERYTHING
    #: Find folders in addition to dashboards.
    folders_too: bool = True
    containing: str = ""
    names: Collection[str] = ()
    numbers: Collection[int] = ()
    #: The empty text is the root.
    folders: Collection[str] = ()
    #: 0 is the root.
    folder_numbers: Collection[int] = ()
    #: Also find folders that have one of ``folder_numbers`` themselves.
    by_own_number: bool = False
    tags: Collection[str] = ()
    starred: bool = False
    descending: bool = False
    #: Only dashboards deleted by this actor; None: by any.
    deleted_by: str | None = None


async def search(connection: Connection, wanted: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Return a page of matches: folders first, then by title."""
    rows = await connection.fetch(
        _sql.search,
        namespace_of(wanted.org_id),
        wanted.viewer,
        wanted.org_id,
        *scope_parameters(wanted.dashboards),
        *scope_parameters(wanted.containers),
        wanted.containing,
        _some(wanted.names),
        _some(wanted.numbers),
        _some(wanted.folders),
        _some(wanted.folder_numbers),
        wanted.by_own_number,
        _some(wanted.tags),
        wanted.starred,
        wanted.descending,
        limit,
        offset,
        wanted.folders_too,
    )
    return [_item(row) for row in rows]


async def deleted(connection: Connection, wanted: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Return a page of deleted dashboards that can be restored, by title.

    The filters on numbers, tags and stars are ignored.
    """
    rows = await connection.fetch(
        _sql.deleted,
        namespace_of(wanted.org_id),
        *scope_parameters(wanted.dashboards),
        *scope_parameters(wanted.containers),
        wanted.containing,
        _some(wanted.names),
        _some(wanted.folders),
        limit,
        offset,
        wanted.deleted_by,
    )
    return [_item(row, row["deleted_at"]) for row in rows]


async def tags(connection: Connection, org_id: int, dashboards: Scope) -> Sequence[tuple[str, int]]:
    """Return the tags of readable dashboards, sorted, each with the number of dashboards that have it."""
    rows = await connection.fetch(_sql.tags, namespace_of(org_id), *scope_parameters(dashboards))
    return [(row["term"], row["count"]) for row in rows]


async def name_by_number(connection: Connection, kind: Kind, org_id: int, number: int) -> str | None:
    """Return the name of the object with a number, or None."""
    name: str | None = await connection.fetchval(_sql.name_by_number, namespace_of(org_id), kind.group, kind.plural, number)
    return name


async def marks(connection: Connection, user_id: int, org_id: int, dashboard: StoredObject) -> Marks:
    """Return a dashboard's marks for a user. ``user_id`` 0 has no stars."""
    row = await connection.fetchrow(_sql.marks, user_id, org_id, dashboard.name, dashboard.uid)
    assert row is not None, "the statement returns one row"
    return Marks(**row)


async def account_names(connection: Connection, numbers: Collection[int]) -> dict[int, AccountName]:
    """Return the names of users and service accounts by number. Unknown numbers are left out."""
    return {row["id"]: AccountName(row["login"], row["email"]) for row in await connection.fetch(_sql.account_names, list(numbers))}


def scope_parameters(scope: Scope) -> tuple[bool, list[str], bool, list[str], list[str]]:
    """Return a scope as the five parameters that a statement takes."""
    return scope.everything, list(scope.folders), scope.root, list(scope.hidden), list(scope.names)


def _some(values: Collection[Any]) -> list[Any] | None:
    return list(values) or None


def _item(row: Any, deleted_at: datetime | None = None) -> TitleMatch:
    return TitleMatch(
        row["number"],
        row["name"],
        row["resource"] == FOLDER.plural,
        row["title"],
        row["tags"],
        row["starred"],
        row["folder_number"],
        row["folder"],
        row["folder_title"],
        deleted_at,
    )
