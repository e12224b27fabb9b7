"""Rows of annotations. Times are Unix milliseconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dashwright.api.domain.access.object_scope import EVERYTHING, ObjectScope
from dashwright.api.stores.titles import scope_parameters
from dashwright.common.database.pool import Connection
from dashwright.common.database.queries import load

_sql = load(__package__, "annotations.sql")


@dataclass(frozen=True, slots=True)
class Annotation:
    """A stored annotation."""

    id: int
    #: The numeric id of the dashboard in the classic API; 0 for an annotation of the organization.
    dashboard_number: int
    #: The uid of the dashboard; None for an annotation of the organization.
    dashboard: str | None
    #: The uid of the dashboard's folder; None at the root.
    folder: str | None
    #: 0: the annotation belongs to no panel.
    panel_id: int
    user_id: int
    login: str
    email: str
    time: int
    time_end: int
    text: str
    tags: Sequence[str]
    #: The JSON of an object.
    data: str
    created: int
    updated: int


@dataclass(frozen=True, slots=True)
class AnnotationQuery:
    """A search for annotations of an organization. None or an empty sequence means that a filter is not applied."""

    org_id: int
    #: Include annotations that belong to the organization instead of a dashboard.
    include_organization: bool = True
    #: The dashboards that the caller may read.
    dashboards: ObjectScope = EVERYTHING
    id: int | None = None
    #: The start and end of a time range that the annotation overlaps.
    time_range: tuple[int, int] | None = None
    user_id: int | None = None
    #: The uid of the dashboard.
    dashboard: str | None = None
    #: The numeric id of the dashboard in the classic API.
    dashboard_number: int | None = None
    panel_id: int | None = None
    #: The annotation must have all of these tags or, with ``any_tag``, at least one of them.
    tags: Sequence[str] = ()
    any_tag: bool = False


@dataclass(frozen=True, slots=True)
class AnnotationContent:
    """The text, times and tags of a new or changed annotation. In a change, None keeps the stored value."""

    time: int | None
    time_end: int | None
    text: str | None
    tags: Sequence[str] | None
    #: The JSON of an object.
    data: str | None


async def find(connection: Connection, query: AnnotationQuery, *, limit: int) -> Sequence[Annotation]:
    """Return matching annotations, the newest first."""
    from_time, to_time = query.time_range or (None, None)
    statement = _sql.bind(
        "find",
        org_id=query.org_id,
        include_organization=query.include_organization,
        **scope_parameters(query.dashboards),
        id=query.id,
        from_time=from_time,
        to_time=to_time,
        user_id=query.user_id,
        dashboard=query.dashboard,
        dashboard_number=query.dashboard_number,
        panel_id=query.panel_id,
        tags=list(query.tags) or None,
        any_tag=query.any_tag,
        limit=limit,
    )
    rows = await connection.fetch(*statement)
    return [Annotation(**row) for row in rows]


async def tags(connection: Connection, query: AnnotationQuery, containing: str, *, limit: int) -> Sequence[tuple[str, int]]:
    """Return the tags that contain ``containing``, sorted, each with the number of readable annotations that have it."""
    statement = _sql.bind(
        "tags",
        org_id=query.org_id,
        include_organization=query.include_organization,
        **scope_parameters(query.dashboards),
        containing=containing,
        limit=limit,
    )
    return [(row["tag"], row["count"]) for row in await connection.fetch(*statement)]


async def insert(
    connection: Connection,
    org_id: int,
    dashboard_object_uid: UUID | None,
    panel_id: int,
    user_id: int,
    content: AnnotationContent,
    *,
    now: int,
) -> int | None:
    """Insert an annotation and return its id, or None if the dashboard does not exist.

    ``dashboard_object_uid`` is the UUID of the stored dashboard, or None for an annotation of the organization. If ``content`` has no
    times, the annotation is at the time ``now``. The smaller of two times is the start.
    """
    times = [time for time in (content.time, content.time_end) if time is not None] or [now]
    statement = _sql.bind(
        "insert",
        org_id=org_id,
        dashboard=dashboard_object_uid,
        panel_id=panel_id,
        user_id=user_id,
        time=min(times),
        time_end=max(times),
        text=content.text,
        tags=list(content.tags or ()),
        data=content.data,
        now=now,
    )
    annotation_id: int | None = await connection.fetchval(*statement)
    return annotation_id


async def change(connection: Connection, org_id: int, annotation_id: int, content: AnnotationContent, *, now: int) -> bool:
    """Update an annotation and return whether it exists."""
    statement = _sql.bind(
        "change",
        org_id=org_id,
        id=annotation_id,
        time=content.time,
        time_end=content.time_end,
        text=content.text,
        tags=None if content.tags is None else list(content.tags),
        data=content.data,
        now=now,
    )
    return await connection.fetchval(*statement) is not None


async def delete(connection: Connection, org_id: int, annotation_id: int) -> bool:
    """Delete an annotation and return whether it existed."""
    return await connection.fetchval(_sql.delete, org_id, annotation_id) is not None


async def delete_of_panel(connection: Connection, org_id: int, dashboard_object_uid: UUID, panel_id: int) -> int:
    """Delete the annotations of a panel and return their number. ``dashboard_object_uid`` is the UUID of the stored dashboard."""
    count: int = await connection.fetchval(_sql.delete_of_panel, org_id, dashboard_object_uid, panel_id)
    return count
