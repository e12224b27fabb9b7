"""Responses with lists: read a page at a time and written a piece at a time, so that memory does not grow with the list."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Protocol

from dashwright.api.http.response import Response
from dashwright.api.resources.formats import Format, ListEncoder
from dashwright.api.resources.pages import LARGEST_PAGE, ListOptions, Position
from dashwright.api.resources.request import Target
from dashwright.api.stores import lists
from dashwright.common.database.pool import Database
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.resources import StoredObject

READ: Final = 1024 * 1024
"""Bytes of bodies that are read in one batch and are in memory together, unless a single body is larger."""

# Small enough that the allocator reuses memory instead of requesting more from the system.
PIECE: Final = 256 * 1024
"""Bytes of bodies that are written as one piece, unless a single body is larger. Bodies of a page up to this size are read with it."""

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of bodies of a page with a client's limit. A page with more ends earlier and is continued."""

_PAGE: Final = 500
"""Objects that are read in one batch if the client wants the whole list."""

_NOTICED: Final = 64 * 1024
"""Bytes of bodies from which on conversion to YAML runs in a thread."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """Objects of a list at one version."""

    #: The version of the whole list.
    at: int
    #: Objects; an empty ``spec`` is read when the object is written.
    items: Sequence[StoredObject | StoredJob]
    #: Bytes of the objects' bodies.
    sizes: Sequence[int]
    #: The name to continue after; None on the last page.
    after: str | None
    #: Number of objects on later pages; None if it is not counted.
    left: int | None = None

    @property
    def end(self) -> Position | None:
        """The position to continue from; None on the last page."""
        return None if self.after is None else Position(self.at, self.after, self.left, self.items[-1].namespace)

    def cut(self) -> "ListPage":
        """Return the page up to the object with which its bodies become too large, at least one object."""
        count = max(1, sum(total <= LARGEST for total in accumulate(self.sizes)))
        if count >= len(self.items):
            return self
        left = None if self.left is None else self.left + len(self.items) - count
        return ListPage(self.at, self.items[:count], self.sizes[:count], self.items[count - 1].name, left)


class ListSource(Protocol):
    """Source of the objects of a list."""

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return the objects after a position, or the first ones. A page that is not the last has at least one object."""
        ...


async def list_response(target: Target, form: Format, list_options: ListOptions, source: ListSource, database: Database) -> Response:
    """Return the whole list, or the requested page."""
    limit = min(list_options.limit or _PAGE, LARGEST_PAGE)
    page = await source.page(list_options.position, limit)
    if list_options.limit is not None:
        page = page.cut()
    writer = _ListWriter(target, form, database)
    body = writer.pieces(page, None if list_options.limit is not None else source)
    # A small list is one body; only a large one is streamed, with its memory reserved.
    if sum(page.sizes) <= PIECE and (list_options.limit is not None or page.end is None):
        return Response(200, b"".join([piece async for piece in body]), form.content_type, form.headers, may_compress=True)
    holds = PIECE + min(sum(page.sizes), max(READ, *page.sizes, 0))
    return Response(200, body, form.content_type, form.headers, may_compress=True, holds=holds)


class _ListWriter:
    def __init__(self, target: Target, form: Format, database: Database) -> None:
        self._listing = ListEncoder(form, target.kind, target.version)
        self._is_yaml = form.is_yaml
        self._database = database

    async def pieces(self, page: ListPage, source: ListSource | None) -> AsyncIterator[bytes]:
        """Yield the list from its head on; with a ``source`` also the pages after the first."""
        metadata: dict[str, Any] = {"resourceVersion": str(page.at)}
        if source is None and page.end is not None:
            metadata["continue"] = page.end.token()
            if page.left is not None:
                metadata["remainingItemCount"] = page.left
        yield self._listing.head(metadata)
        async for piece in self._page_pieces(page):
            yield piece
        while source is not None and page.end is not None:
            page = await source.page(page.end, _PAGE)
            async for piece in self._page_pieces(page):
                yield piece
        yield self._listing.tail()

    async def _page_pieces(self, page: ListPage) -> AsyncIterator[bytes]:
        """Yield the objects of a page.

        While a slow client reads, the encoded bytes of one run are in memory and no objects.
        """
        for first, last in runs(page.sizes, READ):
            pieces = await self._pieces(page.items[first:last], page.sizes[first:last])
            while pieces:
                yield pieces.popleft()

    async def _pieces(self, items: Sequence[StoredObject | StoredJob], sizes: Sequence[int]) -> deque[bytes]:
        whole = await _with_bodies(items, sizes, self._database)
        pieces: deque[bytes] = deque()
        for start, end in runs(sizes, PIECE):
            if self._is_yaml and sum(sizes[start:end]) > _NOTICED:
                pieces.append(await asyncio.to_thread(self._listing.items, whole[start:end]))
            else:
                pieces.append(self._listing.items(whole[start:end]))
        return pieces


async def _with_bodies(
    items: Sequence[StoredObject | StoredJob], sizes: Sequence[int], database: Database
) -> Sequence[StoredObject | StoredJob]:
    """Return the objects with the bodies that were not read with their page."""
    missing = [item for item, size in zip(items, sizes, strict=True) if size and not item.spec and isinstance(item, StoredObject)]
    if not missing:
        return items
    async with database.connection() as connection:
        bodies = await lists.read_bodies(connection, missing)
    return [item.with_spec(bodies[item.uid]) if isinstance(item, StoredObject) and item.uid in bodies else item for item in items]


def runs(sizes: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of consecutive items whose sizes add up to at most ``most``, or of a single larger item."""
    first = total = 0
    for index, size in enumerate(sizes):
        if first < index and total + size > most:
            yield first, index
            first, total = index, 0
        total += size
    yield first, len(sizes)
