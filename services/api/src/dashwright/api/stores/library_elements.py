"""Library panels as the classic API lists them, and the dashboards that show them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashwright.api.domain.access.object_scope import Scope
from dashwright.api.stores.titles import scope_parameters
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import namespace_of

_sql = load(__package__, "library_elements.sql")


@dataclass(frozen=True, slots=True)
class ElementRow:
    """A library panel. ``name`` is what people call it, ``spec`` its body as JSON text; ``folder`` is None at the root.

    ``connections`` is the number of dashboards that show it. The makers are named as ``createdBy`` annotations name them.
    """

    number: int
    uid: str
    generation: int
    name: str
    type: str
    description: str
    created_at: datetime
    created_by: str
    updated_at: datetime
    updated_by: str
    spec: str
    folder: str | None
    folder_number: int | None
    folder_title: str | None
    folder_parent: str | None
    connections: int


@dataclass(frozen=True, slots=True)
class ElementQuery:
    """What is looked for in an organization, among what ``scope`` holds; what is empty asks for nothing.

    ``containing`` is part of the name or the description. In ``folders`` the empty text is the root, in
    ``folder_numbers`` 0.
    """

    org_id: int
    scope: Scope
    containing: str = ""
    name: str = ""
    uids: Collection[str] = ()
    types: Collection[str] = ()
    folders: Collection[str] = ()
    folder_numbers: Collection[int] = ()
    but: Collection[str] = ()
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ElementMatches:
    """A page; ``total`` counts those on other pages, too."""

    elements: Sequence[ElementRow]
    total: int


@dataclass(frozen=True, slots=True)
class ConnectedDashboard:
    """A dashboard that shows a library panel."""

    number: int
    uid: str
    created_at: datetime
    created_by: str


async def search(connection: Connection, wanted: ElementQuery, *, limit: int, offset: int) -> ElementMatches:
    """By name."""
    rows = await connection.fetch(
        _sql.search,
        namespace_of(wanted.org_id),
        *scope_parameters(wanted.scope),
        wanted.containing,
        wanted.name,
        list(wanted.uids) or None,
        list(wanted.types) or None,
        list(wanted.folders) or None,
        list(wanted.but),
        wanted.descending,
        limit,
        offset,
        list(wanted.folder_numbers) or None,
    )
    return ElementMatches([_element(row) for row in rows if row["name"] is not None], rows[0]["total"])


async def connections(connection: Connection, org_id: int, uid: str, dashboards: Scope) -> Sequence[ConnectedDashboard]:
    """Those of ``dashboards`` that show a library panel."""
    return [
        ConnectedDashboard(*row)
        for row in await connection.fetch(_sql.connections, namespace_of(org_id), uid, *scope_parameters(dashboards))
    ]


def _element(row: Any) -> ElementRow:
    return ElementRow(
        row["number"],
        row["name"],
        row["generation"],
        row["title"],
        row["subtype"],
        row["description"],
        row["created_at"],
        row["created_by"],
        row["updated_at"],
        row["updated_by"],
        row["spec"],
        row["folder"],
        row["folder_number"],
        row["folder_title"],
        row["folder_parent"],
        row["connections"],
    )
