"""Dashboards and folders as they are searched for: by title, tags, numbers, folder and stars, without their bodies."""

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
    deleted_at: datetime | None = None


class AccountName(NamedTuple):
    """Who made or changed an object."""

    login: str
    email: str


class Marks(NamedTuple):
    """What is noted beside a dashboard: a user's star, and that it has rules of access of its own."""

    is_starred: bool
    has_rules: bool


@dataclass(frozen=True, slots=True)
class TitleQuery:
    """What is looked for in an organization; empty collections ask for nothing.

    ``dashboards`` are those that may be found, ``containers`` the folders that may be told, and found where ``folders_too`` is set.
    In ``folders`` the empty text is the root, in ``folder_numbers`` 0; where ``by_own_number`` is set, folders that have one of these
    numbers themselves are found, too. ``deleted_by`` is whose deletions are looked for, None for everybody's.
    """

    org_id: int
    viewer: int
    dashboards: Scope = EVERYTHING
    containers: Scope = EVERYTHING
    folders_too: bool = True
    containing: str = ""
    names: Collection[str] = ()
    numbers: Collection[int] = ()
    folders: Collection[str] = ()
    folder_numbers: Collection[int] = ()
    by_own_number: bool = False
    tags: Collection[str] = ()
    starred: bool = False
    descending: bool = False
    deleted_by: str | None = None


async def search(connection: Connection, wanted: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Folders first, then by title."""
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
    """Dashboards that can be made again, by title. Numbers, tags and stars ask for nothing here."""
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
    """The tags of those dashboards, in order, each with the number of dashboards that have it."""
    rows = await connection.fetch(_sql.tags, namespace_of(org_id), *scope_parameters(dashboards))
    return [(row["term"], row["count"]) for row in rows]


async def name_by_number(connection: Connection, kind: Kind, org_id: int, number: int) -> str | None:
    """The name of the object that has a number."""
    name: str | None = await connection.fetchval(_sql.name_by_number, namespace_of(org_id), kind.group, kind.plural, number)
    return name


async def marks(connection: Connection, user_id: int, org_id: int, dashboard: StoredObject) -> Marks:
    """Of a dashboard; ``user_id`` 0 has starred none."""
    row = await connection.fetchrow(_sql.marks, user_id, org_id, dashboard.name, dashboard.uid)
    assert row is not None, "the statement answers one row"
    return Marks(**row)


async def account_names(connection: Connection, numbers: Collection[int]) -> dict[int, AccountName]:
    """Those users and service accounts that exist."""
    return {row["id"]: AccountName(row["login"], row["email"]) for row in await connection.fetch(_sql.account_names, list(numbers))}


def scope_parameters(scope: Scope) -> tuple[bool, list[str], bool, list[str], list[str]]:
    """A scope as a statement takes it: five parameters."""
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
