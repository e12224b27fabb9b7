"""What is there when a watch begins."""

from collections.abc import AsyncIterator
from typing import Final

from dashwright.api.domain.access.view import View
from dashwright.api.resources import formats, listing, pages, sources
from dashwright.api.resources.services import Services
from dashwright.api.resources.watching.stream import Asked, Watch
from dashwright.common.kinds import kind as kinds

_PAGE: Final = 500
"""Objects read at once."""


async def events(services: Services, asked: Asked, watch: Watch, view: View) -> AsyncIterator[bytes]:
    """An ``ADDED`` for each object at the newest version, by name; then the watch stands there.

    Jobs are as they are when they are read: what has happened to one since that version is told with it, and not again.
    """
    kind, version, is_first = asked.target.kind, asked.target.version, True
    source = _source(services, asked, view)
    page = await source.page(None, _PAGE)
    while True:
        async for items, _ in listing.whole(page, services.database):
            lines = []
            for item in items:
                lines.append(formats.event(asked.form, kind, version, "ADDED", item, with_columns=is_first))
                is_first = False
            if lines:
                watch.has_columns = True
                yield b"".join(lines)
        watch.leave_out({item.name: item.resource_version for item in page.items if item.resource_version > page.at})
        if page.end is None:
            break
        page = await source.page(page.end, _PAGE)
    watch.stand_at(page.at)
    if asked.options.marks_initial:
        yield formats.bookmark(asked.form, kind, version, page.at, ends_initial=True)


def _source(services: Services, asked: Asked, view: View) -> listing.Source:
    kind, everything = asked.target.kind, pages.Asked()
    if kind.shelf is kinds.Shelf.JOBS:
        return sources.Jobs(services.database, kind, asked.namespace, asked.selection, everything)
    bodies = asked.form.needs_body(kind)
    return sources.Objects(services.database, kind, asked.namespace, asked.selection, view.scope(kind), everything, bodies=bodies)
