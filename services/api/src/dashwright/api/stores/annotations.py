"""Rows of annotations. Times are Unix milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dashwright.api.domain.access.object_scope import EVERYTHING, Scope
from dashwright.api.stores.titles import scope_parameters
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "annotations.sql")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A stored annotation."""

    id: int
    dashboard_number: int
    #: The uid of the dashboard; None for an annotation of the organization.
    dashboard: str | None
    #: The uid of the dashboard's folder; None at the root.
    folder: str | None
    panel_id: int
    user_id: int
    login: str
    email: str
    time: int
    time_end: int
    text: str
    tags: Sequence[str]
    #: JSON text.
    data: str
    created: int
    updated: int


@dataclass(frozen=True, slots=True)
class AnnotationQuery:
    """A search for annotations of an organization. None means that a filter is not applied."""

    org_id: int
    #: Include annotations that belong to the organization and no dashboard.
    of_organization: bool = True
    #: The dashboards that the caller may read.
    dashboards: Scope = EVERYTHING
    id: int | None = None
    #: The first and last moment of a range that the annotation overlaps.
    span: tuple[int, int] | None = None
    user_id: int | None = None
    dashboard: str | None = None
    dashboard_number: int | None = None
    panel_id: int | None = None
    #: All of these tags must be present, or one of them with ``any_tag``.
    tags: Sequence[str] = ()
    any_tag: bool = False


@dataclass(frozen=True, slots=True)
class AnnotationContent:
    """The text, times and tags of a new or changed annotation. In a change, None keeps the stored value."""

    time: int | None
    time_end: int | None
    text: str | None
    tags: Sequence[str] | None
    #: JSON text.
    data: str | None


async def find(connection: Connection, wanted: AnnotationQuery, *, limit: int) -> Sequence[Annotation]:
    """Return matching annotations, the newest first."""
    from_time, to_time = wanted.span or (None, None)
    query = _sql.bind(
        "find",
        org_id=wanted.org_id,
        of_organization=wanted.of_organization,
        **scope_parameters(wanted.dashboards),
        id=wanted.id,
        from_time=from_time,
        to_time=to_time,
        user_id=wanted.user_id,
        dashboard=wanted.dashboard,
        dashboard_number=wanted.dashboard_number,
        panel_id=wanted.panel_id,
        tags=list(wanted.tags) or None,
        any_tag=wanted.any_tag,
        limit=limit,
    )
    rows = await connection.fetch(*query)
    return [Annotation(**row) for row in rows]


async def tags(connection: Connection, wanted: AnnotationQuery, containing: str, *, limit: int) -> Sequence[tuple[str, int]]:
    """Return the tags that contain a text, sorted, each with its number of readable annotations."""
    query = _sql.bind(
        "tags",
        org_id=wanted.org_id,
        of_organization=wanted.of_organization,
        **scope_parameters(wanted.dashboards),
        containing=containing,
        limit=limit,
    )
    return [(row["tag"], row["count"]) for row in await connection.fetch(*query)]


async def insert(
    connection: Connection, org_id: int, on: UUID | None, panel_id: int, user_id: int, content: AnnotationContent, *, now: int
) -> int | None:
    """Insert an annotation and return its number, or None if the dashboard does not exist.

    Without times it is placed at ``now``; start and end may be given in either order.
    """
    times = [time for time in (content.time, content.time_end) if time is not None] or [now]
    query = _sql.bind(
        "insert",
        org_id=org_id,
        dashboard=on,
        panel_id=panel_id,
        user_id=user_id,
        time=min(times),
        time_end=max(times),
        text=content.text,
        tags=list(content.tags or ()),
        data=content.data,
        now=now,
    )
    number: int | None = await connection.fetchval(*query)
    return number


async def change(connection: Connection, org_id: int, number: int, content: AnnotationContent, *, now: int) -> bool:
    """Update an annotation and return whether it exists."""
    query = _sql.bind(
        "change",
        org_id=org_id,
        id=number,
        time=content.time,
        time_end=content.time_end,
        text=content.text,
        tags=None if content.tags is None else list(content.tags),
        data=content.data,
        now=now,
    )
    return await connection.fetchval(*query) is not None


async def delete(connection: Connection, org_id: int, number: int) -> bool:
    """Delete an annotation and return whether it existed."""
    return await connection.fetchval(_sql.delete, org_id, number) is not None


async def delete_of_panel(connection: Connection, org_id: int, on: UUID, panel_id: int) -> int:
    """Delete the annotations of a panel and return their number."""
    count: int = await connection.fetchval(_sql.delete_of_panel, org_id, on, panel_id)
    return count
