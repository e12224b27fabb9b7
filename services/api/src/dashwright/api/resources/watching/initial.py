"""What is there when a watch begins."""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import orjson

from dashwright.api.domain.selectors import matches
from dashwright.api.resources import formats
from dashwright.api.resources.formats import Item
from dashwright.api.resources.services import Services
from dashwright.api.resources.watching.stream import Asked, Watch
from dashwright.common.kinds import kind as kinds
from dashwright.common.kinds.scope import Scope
from dashwright.common.stores import changes, jobs, lists
from dashwright.common.stores.changes import Book

_PAGE: Final = 100


async def events(services: Services, asked: Asked, watch: Watch, scope: Scope) -> AsyncIterator[bytes]:
    """An ``ADDED`` for each object at the newest version, by name; then the watch stands there."""
    kind, version = asked.target.kind, asked.target.version
    is_job = kind.shelf is kinds.Shelf.JOBS
    async with services.database.connection() as connection:
        at = await changes.head(connection, Book.JOBS if is_job else Book.OBJECTS)
    after: str | None = ""
    is_first = True
    while after is not None and not asked.selection.is_empty:
        items, after = await (_jobs(services, asked, watch, at, after) if is_job else _objects(services, asked, scope, at, after))
        lines = []
        for item in items:
            lines.append(formats.event(asked.form, kind, version, "ADDED", item, with_columns=is_first))
            is_first = False
        if lines:
            watch.has_columns = True
            yield b"".join(lines)
    watch.stand_at(at)
    if asked.options.marks_initial:
        yield formats.bookmark(asked.form, kind, version, at, ends_initial=True)


async def _objects(services: Services, asked: Asked, scope: Scope, at: int, after: str) -> tuple[Sequence[Item], str | None]:
    wanted, kind = asked.selection, asked.target.kind
    async with services.database.connection() as connection:
        page = await lists.page(
            connection,
            kind,
            asked.namespace,
            at=at,
            after=after,
            limit=_PAGE,
            labels=wanted.labels,
            name=wanted.name,
            other_names=wanted.other_names,
            number=wanted.number,
            scope=scope,
            bodies=asked.form.needs_body(kind),
        )
    return page.items, page.after


async def _jobs(services: Services, asked: Asked, watch: Watch, at: int, after: str) -> tuple[Sequence[Item], str | None]:
    """Jobs as they are when the page is read. What has happened to one of them since ``at`` is told with it, and not again."""
    async with services.database.connection() as connection:
        page = await jobs.list_page(connection, asked.target.kind, asked.namespace, after=after, limit=_PAGE)
    found = [job for job in page.items if matches(asked.selection, orjson.loads(job.metadata).get("labels") or {}, job.name)]
    watch.leave_out({job.name: job.resource_version for job in found if job.resource_version > at})
    return found, page.after
