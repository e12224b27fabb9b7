"""What is there when a watch begins."""

from collections.abc import AsyncIterator
from typing import Final

from dashwright.api.domain.access.view import View
from dashwright.api.resources import formats, listing, pages, sources
from dashwright.api.resources.services import Services
from dashwright.api.resources.watching.stream import Asked, Watch
from dashwright.common.kinds import kind as kinds

_PAGE: Final = 200
"""Objects read at once, without their bodies: a watch that is not read keeps them in memory."""

_PIECE: Final = 64 * 1024
"""Bytes of bodies in one piece, so that a larger object is a piece of its own, which all watches share."""


async def events(services: Services, asked: Asked, watch: Watch, view: View) -> AsyncIterator[bytes]:
    """An ``ADDED`` for each object at the newest version, by name; then the watch stands there.

    Jobs are as they are when they are read: what has happened to one since that version is told with it, and not again.
    """
    kind, version = asked.target.kind, asked.target.version
    source = _source(services, asked, view)
    page = await source.page(None, _PAGE)
    while True:
        for first, last in listing.runs(page.sizes, _PIECE):
            items = page.items[first:last]
            if items:
                lines = await services.lines.of_objects(items, kind, version, asked.form, with_columns=not watch.has_columns)
                watch.has_columns = True
                yield lines
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
    return sources.Objects(services.database, kind, asked.namespace, asked.selection, view.scope(kind), everything, bodies=bodies, inline=0)
