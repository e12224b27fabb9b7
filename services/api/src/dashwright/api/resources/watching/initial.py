"""What is there when a watch begins."""

from collections.abc import AsyncIterator

from dashwright.api.resources.services import Services
from dashwright.api.resources.watching import plain as formats
from dashwright.api.resources.watching.stream import Asked, Watch
from dashwright.common.stores import resources

_PAGE = 200


async def objects(services: Services, asked: Asked, watch: Watch) -> AsyncIterator[bytes]:
    """An ``ADDED`` for each object at the newest version; then the watch stands there."""
    kind, version = asked.target.kind, asked.target.version
    at, after = 0, ""
    while True:
        async with services.database.connection() as connection, connection.transaction(isolation="repeatable_read", readonly=True):
            page = await resources.list_page(connection, kind, asked.namespace, after=after, limit=_PAGE)
        at = at or page.position
        yield b"".join(formats.event(asked.form, kind, version, "ADDED", item, with_columns=False) for item in page.items)
        if page.after is None:
            break
        after = page.after
    watch.stand_at(at)
    if asked.options.marks_initial:
        yield formats.bookmark(asked.form, kind, version, at, ends_initial=True)
