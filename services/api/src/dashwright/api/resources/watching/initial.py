"""The objects with which a watch begins."""

from collections.abc import AsyncIterator
from typing import Final

from dashwright.api.domain.access.view import AccessView
from dashwright.api.resources import listing
from dashwright.api.resources.storage import storage_of
from dashwright.api.resources.watching.lines import EventLines, bookmark_line
from dashwright.api.resources.watching.stream import Watch, WatchRequest
from dashwright.common.database.pool import Database

_PAGE_SIZE: Final = 200
"""Number of objects on a page. A page has no bodies, because it remains in memory while a slow watcher reads."""

_CHUNK_BYTES: Final = 64 * 1024
"""Limit on the bytes of bodies in one chunk. A larger object has a chunk of its own, which all watches share."""


async def initial_events(
    database: Database, event_lines: EventLines, request: WatchRequest, watch: Watch, view: AccessView
) -> AsyncIterator[bytes]:
    """Yield an ``ADDED`` event for each object at the newest version, by name. Then the watch continues from that version.

    A job is in its current state, which can be newer than that version. Changes of the job up to this state are not sent again.
    """
    kind, version = request.target.kind, request.target.version
    source = storage_of(kind).initial_source(kind, database, request.namespace, request.selection, request.response_format, view)
    page = await source.page(None, _PAGE_SIZE)
    while True:
        for start, end in listing.batches(page.sizes, _CHUNK_BYTES):
            items = page.items[start:end]
            if items:
                with_columns = not watch.has_sent_columns
                chunk = await event_lines.object_lines(items, kind, version, request.response_format, with_columns=with_columns)
                watch.has_sent_columns = True
                yield chunk
        watch.skip_sent_versions({item.name: item.resource_version for item in page.items if item.resource_version > page.resource_version})
        if page.end_position is None:
            break
        page = await source.page(page.end_position, _PAGE_SIZE)
    watch.continue_from(page.resource_version)
    if request.options.marks_end_of_initial_events:
        yield bookmark_line(request.response_format, kind, version, page.resource_version, ends_initial_events=True)
