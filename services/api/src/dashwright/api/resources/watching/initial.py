"""The objects with which a watch begins."""

from collections.abc import AsyncIterator
from typing import Final

from dashwright.api.domain.access.view import View
from dashwright.api.resources import listing
from dashwright.api.resources.storage import storage_of
from dashwright.api.resources.watching.lines import Lines, bookmark_line
from dashwright.api.resources.watching.stream import Watch, WatchRequest
from dashwright.common.database.pool import Database

_PAGE: Final = 200
"""Objects read in one batch, without their bodies: an unread watch keeps them in memory."""

_PIECE: Final = 64 * 1024
"""Bytes of bodies in one piece. A larger object is a piece of its own, which all watches share."""


async def initial_events(database: Database, lines: Lines, request: WatchRequest, watch: Watch, view: View) -> AsyncIterator[bytes]:
    """Yield an ``ADDED`` event for each object at the newest version, by name; then let the watch continue from that version.

    Jobs are read as they are now. Changes of a job up to the state that was sent are not sent again.
    """
    kind, version = request.target.kind, request.target.version
    source = storage_of(kind).initial_source(kind, database, request.namespace, request.selection, request.form, view)
    page = await source.page(None, _PAGE)
    while True:
        for first, last in listing.runs(page.sizes, _PIECE):
            items = page.items[first:last]
            if items:
                chunk = await lines.of_objects(items, kind, version, request.form, with_columns=not watch.has_columns)
                watch.has_columns = True
                yield chunk
        watch.skip_until({item.name: item.resource_version for item in page.items if item.resource_version > page.at})
        if page.end is None:
            break
        page = await source.page(page.end, _PAGE)
    watch.continue_from(page.at)
    if request.options.marks_initial:
        yield bookmark_line(request.form, kind, version, page.at, ends_initial=True)
