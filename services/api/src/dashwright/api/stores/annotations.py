"""Annotations: found, made, changed and removed. Times are Unix milliseconds."""

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
    """``dashboard`` is None for one of the organization, ``folder`` None at the root; ``data`` is JSON text."""

    id: int
    dashboard_number: int
    dashboard: str | None
    folder: str | None
    panel_id: int
    user_id: int
    login: str
    email: str
    time: int
    time_end: int
    text: str
    tags: Sequence[str]
    data: str
    created: int
    updated: int


@dataclass(frozen=True, slots=True)
class AnnotationQuery:
    """What is looked for in an organization: ``of_organization`` and ``dashboards`` are what may be found; None asks for nothing.

    ``span`` are a first and a last moment; all ``tags`` must be there, or with ``any_tag`` one of them.
    """

    org_id: int
    of_organization: bool = True
    dashboards: Scope = EVERYTHING
    id: int | None = None
    span: tuple[int, int] | None = None
    user_id: int | None = None
    dashboard: str | None = None
    dashboard_number: int | None = None
    panel_id: int | None = None
    tags: Sequence[str] = ()
    any_tag: bool = False


@dataclass(frozen=True, slots=True)
class AnnotationContent:
    """What an annotation says of when; in a change None leaves a thing as it is. ``data`` is JSON text."""

    time: int | None
    time_end: int | None
    text: str | None
    tags: Sequence[str] | None
    data: str | None


async def find(connection: Connection, wanted: AnnotationQuery, *, limit: int) -> Sequence[Annotation]:
    """The newest first."""
    rows = await connection.fetch(
        _sql.find,
        wanted.org_id,
        wanted.of_organization,
        *scope_parameters(wanted.dashboards),
        wanted.id,
        *(wanted.span or (None, None)),
        wanted.user_id,
        wanted.dashboard,
        wanted.dashboard_number,
        wanted.panel_id,
        list(wanted.tags) or None,
        wanted.any_tag,
        limit,
    )
    return [Annotation(**row) for row in rows]


async def tags(connection: Connection, wanted: AnnotationQuery, containing: str, *, limit: int) -> Sequence[tuple[str, int]]:
    """The tags, in order, that hold a text, each with the number of annotations that may be found and have it."""
    place = (wanted.org_id, wanted.of_organization, *scope_parameters(wanted.dashboards))
    return [(row["tag"], row["count"]) for row in await connection.fetch(_sql.tags, *place, containing, limit)]


async def insert(
    connection: Connection, org_id: int, on: UUID | None, panel_id: int, user_id: int, content: AnnotationContent, *, now: int
) -> int | None:
    """Its number, or None where the dashboard has gone. Without times it is of ``now``; times come in any order."""
    times = [time for time in (content.time, content.time_end) if time is not None] or [now]
    values = (min(times), max(times), content.text, list(content.tags or ()), content.data, now)
    number: int | None = await connection.fetchval(_sql.insert, org_id, on, panel_id, user_id, *values)
    return number


async def change(connection: Connection, org_id: int, number: int, content: AnnotationContent, *, now: int) -> bool:
    """Whether it was there."""
    tags = None if content.tags is None else list(content.tags)
    values = (content.time, content.time_end, content.text, tags, content.data, now)
    return await connection.fetchval(_sql.change, org_id, number, *values) is not None


async def delete(connection: Connection, org_id: int, number: int) -> bool:
    """Whether it was there."""
    return await connection.fetchval(_sql.delete, org_id, number) is not None


async def delete_of_panel(connection: Connection, org_id: int, on: UUID, panel_id: int) -> int:
    """How many there were."""
    count: int = await connection.fetchval(_sql.delete_of_panel, org_id, on, panel_id)
    return count
