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
    query = _sql.bind(
        "search",
        namespace=namespace_of(wanted.org_id),
        org_id=wanted.org_id,
        viewer=wanted.viewer,
        **scope_parameters(wanted.dashboards),
        **scope_parameters(wanted.containers, "container"),
        folders_too=wanted.folders_too,
        containing=wanted.containing,
        names=_some(wanted.names),
        numbers=_some(wanted.numbers),
        folders=_some(wanted.folders),
        folder_numbers=_some(wanted.folder_numbers),
        by_own_number=wanted.by_own_number,
        tags=_some(wanted.tags),
        starred=wanted.starred,
        descending=wanted.descending,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*query)
    return [_item(row) for row in rows]


async def deleted(connection: Connection, wanted: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Return a page of deleted dashboards that can be restored, by title.

    The filters on numbers, tags and stars are ignored.
    """
    query = _sql.bind(
        "deleted",
        namespace=namespace_of(wanted.org_id),
        **scope_parameters(wanted.dashboards),
        **scope_parameters(wanted.containers, "container"),
        containing=wanted.containing,
        names=_some(wanted.names),
        folders=_some(wanted.folders),
        deleted_by=wanted.deleted_by,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*query)
    return [_item(row, row["deleted_at"]) for row in rows]


async def tags(connection: Connection, org_id: int, dashboards: Scope) -> Sequence[tuple[str, int]]:
    """Return the tags of readable dashboards, sorted, each with the number of dashboards that have it."""
    rows = await connection.fetch(*_sql.bind("tags", namespace=namespace_of(org_id), **scope_parameters(dashboards)))
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


def scope_parameters(scope: Scope, prefix: str = "readable") -> dict[str, Any]:
    """Return a scope as the five parameters of the SQL fragments with a prefix."""
    return {
        f"{prefix}_all": scope.everything,
        f"{prefix}_folders": list(scope.folders),
        f"{prefix}_root": scope.root,
        f"{prefix}_hidden": list(scope.hidden),
        f"{prefix}_names": list(scope.names),
    }


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
