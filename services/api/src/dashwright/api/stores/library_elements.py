"""Library panels as the classic API lists them, and the dashboards that use them."""

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
    """A stored library panel."""

    number: int
    uid: str
    generation: int
    #: The title that users see.
    name: str
    type: str
    description: str
    created_at: datetime
    #: As in the annotation ``grafana.app/createdBy``.
    created_by: str
    updated_at: datetime
    #: As in the annotation ``grafana.app/updatedBy``.
    updated_by: str
    #: JSON text.
    spec: str
    #: None at the root.
    folder: str | None
    folder_number: int | None
    folder_title: str | None
    folder_parent: str | None
    #: The number of dashboards that use the panel.
    connections: int


@dataclass(frozen=True, slots=True)
class ElementQuery:
    """A search for library panels of an organization. Empty values mean that a filter is not applied."""

    org_id: int
    #: The panels that the caller may read.
    scope: Scope
    #: Part of the name or the description.
    containing: str = ""
    name: str = ""
    uids: Collection[str] = ()
    types: Collection[str] = ()
    #: The empty text is the root.
    folders: Collection[str] = ()
    #: 0 is the root.
    folder_numbers: Collection[int] = ()
    #: Uids to leave out.
    but: Collection[str] = ()
    descending: bool = False


@dataclass(frozen=True, slots=True)
class ElementMatches:
    """A page of library panels."""

    elements: Sequence[ElementRow]
    #: The number of matches on all pages.
    total: int


@dataclass(frozen=True, slots=True)
class ConnectedDashboard:
    """A dashboard that uses a library panel."""

    number: int
    uid: str
    created_at: datetime
    created_by: str


async def search(connection: Connection, wanted: ElementQuery, *, limit: int, offset: int) -> ElementMatches:
    """Return a page of matching library panels, by name."""
    query = _sql.bind(
        "search",
        namespace=namespace_of(wanted.org_id),
        **scope_parameters(wanted.scope),
        containing=wanted.containing,
        name=wanted.name,
        uids=list(wanted.uids) or None,
        types=list(wanted.types) or None,
        folders=list(wanted.folders) or None,
        folder_numbers=list(wanted.folder_numbers) or None,
        but=list(wanted.but),
        descending=wanted.descending,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*query)
    return ElementMatches([_element(row) for row in rows if row["name"] is not None], rows[0]["total"])


async def connections(connection: Connection, org_id: int, uid: str, dashboards: Scope) -> Sequence[ConnectedDashboard]:
    """Return the readable dashboards that use a library panel."""
    query = _sql.bind("connections", namespace=namespace_of(org_id), uid=uid, **scope_parameters(dashboards))
    return [ConnectedDashboard(*row) for row in await connection.fetch(*query)]


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
