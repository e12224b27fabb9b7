"""Library panels as the classic API lists them, and the dashboards that use them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dashwright.api.domain.access.object_scope import ObjectScope
from dashwright.api.stores.titles import scope_parameters
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load
from dashwright.common.identity import namespace_of

_sql = load(__package__, "library_elements.sql")


@dataclass(frozen=True, slots=True)
class ElementRow:
    """A stored library panel."""

    #: The numeric id in the classic API.
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
    #: JSON, as stored.
    spec: str
    #: The uid of the folder; None at the root, as the other fields of the folder.
    folder: str | None
    #: The numeric id of the folder in the classic API.
    folder_number: int | None
    folder_title: str | None
    #: The uid of the folder that contains the folder; None at the root.
    folder_parent: str | None
    #: The number of dashboards that use the panel.
    dashboard_count: int


@dataclass(frozen=True, slots=True)
class ElementQuery:
    """A search for library panels of an organization. Empty values mean that a filter is not applied."""

    org_id: int
    #: The panels that the caller may read.
    scope: ObjectScope
    #: A part of the name or the description.
    containing: str = ""
    #: The complete name.
    name: str = ""
    uids: Collection[str] = ()
    types: Collection[str] = ()
    #: Uids of folders; an empty string among them is the root.
    folders: Collection[str] = ()
    #: Numeric ids of folders in the classic API; 0 among them is the root.
    folder_numbers: Collection[int] = ()
    #: Uids to leave out.
    except_uids: Collection[str] = ()
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

    #: The numeric id in the classic API.
    number: int
    uid: str
    created_at: datetime
    created_by: str


async def search(connection: Connection, query: ElementQuery, *, limit: int, offset: int) -> ElementMatches:
    """Return a page of matching library panels, by name."""
    statement = _sql.bind(
        "search",
        namespace=namespace_of(query.org_id),
        **scope_parameters(query.scope),
        containing=query.containing,
        name=query.name,
        uids=list(query.uids) or None,
        types=list(query.types) or None,
        folders=list(query.folders) or None,
        folder_numbers=list(query.folder_numbers) or None,
        except_uids=list(query.except_uids),
        descending=query.descending,
        limit=limit,
        offset=offset,
    )
    rows = await connection.fetch(*statement)
    # The first row always exists: it has the total, and no panel if the page is empty.
    return ElementMatches([_element(row) for row in rows if row["name"] is not None], rows[0]["total"])


async def dashboards_using(connection: Connection, org_id: int, uid: str, dashboards: ObjectScope) -> Sequence[ConnectedDashboard]:
    """Return the readable dashboards that use a library panel."""
    statement = _sql.bind("dashboards_using", namespace=namespace_of(org_id), uid=uid, **scope_parameters(dashboards))
    return [ConnectedDashboard(*row) for row in await connection.fetch(*statement)]


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
        row["dashboard_count"],
    )


async def list_repeated(connection: Connection, namespace: str) -> Mapping[str, str]:
    """Return the bodies of library panels that are repeated by a variable, as JSON by name; at most 1,000."""
    return {row["name"]: row["spec"] for row in await connection.fetch(_sql.list_repeated, namespace)}
