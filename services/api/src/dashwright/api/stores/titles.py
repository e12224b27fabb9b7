"""The search for dashboards and folders by title, tags, numeric id, folder and stars. It reads no specs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dashwright.api.domain.access.object_scope import EVERYTHING, ObjectScope
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

    #: The numeric id in the classic API.
    number: int
    #: The uid in the classic API.
    name: str
    is_folder: bool
    title: str
    tags: Sequence[str]
    is_starred: bool
    #: The numeric id of the containing folder. The fields of that folder are unset (None) if the caller may not read the folder.
    folder_number: int | None
    #: The uid of the containing folder.
    folder: str | None
    folder_title: str | None
    #: Kind and name of the object's manager; None if it is not managed.
    manager: tuple[str, str] | None = None
    #: None for an object that is not deleted.
    deleted_at: datetime | None = None


class AccountName(NamedTuple):
    """The names of the account that created or changed an object."""

    login: str
    email: str


class DashboardFlags(NamedTuple):
    """Flags of a dashboard: whether a user has starred it, and whether it has a list of access rules."""

    is_starred: bool
    has_rules: bool


@dataclass(frozen=True, slots=True)
class TitleQuery:
    """A search in an organization. Empty strings and collections are not applied as filters."""

    org_id: int
    #: The user whose stars are marked; 0: none.
    user_id: int
    readable_dashboards: ObjectScope = EVERYTHING
    #: A folder outside of this scope is not found, and is not named as the folder of a match.
    readable_folders: ObjectScope = EVERYTHING
    #: Find folders in addition to dashboards.
    include_folders: bool = True
    #: A part of the title.
    containing: str = ""
    #: Names of objects, which are their uids in the classic API.
    names: Collection[str] = ()
    #: Numeric ids in the classic API.
    numbers: Collection[int] = ()
    #: Uids of folders that contain the matches; an empty string among them is the root.
    folders: Collection[str] = ()
    #: Numeric ids of folders that contain the matches; 0 among them is the root.
    folder_numbers: Collection[int] = ()
    #: Also find the folders with ``folder_numbers`` themselves, not only their contents.
    include_numbered_folders: bool = False
    #: A match must have all of these tags.
    tags: Collection[str] = ()
    #: Only dashboards with a star of ``user_id``.
    only_starred: bool = False
    #: Sort titles from Z to A.
    descending: bool = False
    #: Only dashboards deleted by this actor; None: by any.
    deleted_by: str | None = None
    #: Scopes that must also contain a match, for a search that requires another permission than to read. None: no other is required.
    permitted: "PermittedScopes | None" = None
    #: Only objects in folders that the caller may not read.
    only_shared: bool = False
    #: Only dashboards that show the library panel with this name.
    library_panel: str = ""


class PermittedScopes(NamedTuple):
    """Dashboards and folders on which the caller has a permission."""

    dashboards: ObjectScope
    folders: ObjectScope


class TagCounts(NamedTuple):
    """The tags of the objects that a search finds."""

    #: The most frequent tags, each with the number of objects that have it.
    terms: Sequence[tuple[str, int]]
    #: The number of uses of all tags, including those not in ``terms``.
    total: int
    #: The number of objects without tags.
    untagged: int


async def search(connection: Connection, query: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Return a page of matches: folders first, then by title."""
    conditions, values = _filter(query)
    statement = _sql.bind("search", conditions=conditions, descending=query.descending, limit=limit, offset=offset, **values)
    return [_title_match(row) for row in await connection.fetch(*statement)]


async def count(connection: Connection, query: TitleQuery) -> int:
    """Return the number of matches on all pages."""
    conditions, values = _filter(query)
    match_count: int = await connection.fetchval(*_sql.bind("count_found", conditions=conditions, **values))
    return match_count


async def count_tags(connection: Connection, query: TitleQuery, *, limit: int) -> TagCounts:
    """Return the ``limit`` most frequent tags of the matches on all pages."""
    conditions, values = _filter(query)
    rows = await connection.fetch(*_sql.bind("tags_of_found", conditions=conditions, limit=limit, **values))
    untagged: int = await connection.fetchval(*_sql.bind("count_found", conditions=[*conditions, "untagged"], **values))
    return TagCounts([(row["term"], row["count"]) for row in rows], rows[0]["total"] if rows else 0, untagged)


async def search_deleted(connection: Connection, query: TitleQuery, *, limit: int, offset: int) -> Sequence[TitleMatch]:
    """Return a page of deleted dashboards that can be restored, by title.

    The filters on numeric ids, tags and stars are ignored.
    """
    statement = _sql.bind(
        "deleted",
        namespace=namespace_of(query.org_id),
        **scope_parameters(query.readable_dashboards),
        **scope_parameters(query.readable_folders, "container"),
        containing=query.containing,
        names=_list_or_none(query.names),
        folders=_list_or_none(query.folders),
        deleted_by=query.deleted_by,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*statement)
    return [_title_match(row, row["deleted_at"]) for row in rows]


async def tags(connection: Connection, org_id: int, dashboards: ObjectScope) -> Sequence[tuple[str, int]]:
    """Return the tags of readable dashboards, sorted, each with the number of dashboards that have it."""
    rows = await connection.fetch(*_sql.bind("tags", namespace=namespace_of(org_id), **scope_parameters(dashboards)))
    return [(row["term"], row["count"]) for row in rows]


async def name_by_numeric_id(connection: Connection, kind: Kind, org_id: int, numeric_id: int) -> str | None:
    """Return the name of the object with a numeric id (column ``number``), or None."""
    name: str | None = await connection.fetchval(_sql.name_by_numeric_id, namespace_of(org_id), kind.group, kind.plural, numeric_id)
    return name


async def dashboard_flags(connection: Connection, user_id: int, org_id: int, dashboard: StoredObject) -> DashboardFlags:
    """Return a dashboard's flags for a user. For ``user_id`` 0, it is not starred."""
    row = await connection.fetchrow(_sql.dashboard_flags, user_id, org_id, dashboard.name, dashboard.uid)
    assert row is not None, "the statement returns one row"
    return DashboardFlags(**row)


async def account_names(connection: Connection, account_ids: Collection[int]) -> dict[int, AccountName]:
    """Return the names of users and service accounts, by id. Unknown ids are left out."""
    return {row["id"]: AccountName(row["login"], row["email"]) for row in await connection.fetch(_sql.account_names, list(account_ids))}


def scope_parameters(scope: ObjectScope, prefix: str = "readable") -> dict[str, Any]:
    """Return the parameters of the SQL fragment that selects the objects of a scope. Their names begin with ``prefix``.

    The prefix is ``readable`` for the fragment ``readable`` (objects), and ``container`` for ``readable_container`` (folders).
    """
    return {
        f"{prefix}_all": scope.includes_everything,
        f"{prefix}_folders": list(scope.folders),
        f"{prefix}_root": scope.includes_root,
        f"{prefix}_hidden": list(scope.hidden_names),
        f"{prefix}_names": list(scope.names),
    }


def _filter(query: TitleQuery) -> tuple[Sequence[str], Mapping[str, Any]]:
    """Return the names of the conditions of ``titles.sql`` that matches must meet, and the parameters of statements over the matches."""
    conditions: list[str] = []
    values: dict[str, Any] = {}
    if query.permitted is not None:
        conditions.append("permitted")
        values |= scope_parameters(query.permitted.dashboards, "permitted")
        values |= scope_parameters(query.permitted.folders, "permitted_container")
    if query.only_shared:
        conditions.append("shared")
    if query.library_panel:
        conditions.append("shows_panel")
        values["library_panel"] = query.library_panel
    values |= {
        "namespace": namespace_of(query.org_id),
        "org_id": query.org_id,
        "user_id": query.user_id,
        **scope_parameters(query.readable_dashboards),
        **scope_parameters(query.readable_folders, "container"),
        "include_folders": query.include_folders,
        "containing": query.containing,
        "names": _list_or_none(query.names),
        "numbers": _list_or_none(query.numbers),
        "folders": _list_or_none(query.folders),
        "folder_numbers": _list_or_none(query.folder_numbers),
        "include_numbered_folders": query.include_numbered_folders,
        "tags": _list_or_none(query.tags),
        "only_starred": query.only_starred,
    }
    return conditions, values


def _list_or_none(values: Collection[Any]) -> list[Any] | None:
    """Return values as a list; None, which does not filter, if there are no values."""
    return list(values) or None


def _title_match(row: Any, deleted_at: datetime | None = None) -> TitleMatch:
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
        None if row["manager_kind"] is None else (row["manager_kind"], row["manager_id"] or ""),
        deleted_at,
    )
