"""Responses with lists: read in pages and encoded in chunks, so that memory does not grow with the list."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final, Protocol

from dashwright.api.http.response import Response
from dashwright.api.resources.formats import Format, ListEncoder, StoredItem
from dashwright.api.resources.pages import MAX_PAGE_SIZE, ListOptions, Position
from dashwright.api.resources.request import Target
from dashwright.api.stores import lists
from dashwright.common.database.pool import Database
from dashwright.common.stores.resources import StoredObject

MAX_READ_BYTES: Final = 1024 * 1024
"""Limit on the bytes of bodies that are read in one batch, unless a single body is larger."""

# Small enough that the allocator reuses memory instead of requesting more from the system.
CHUNK_BYTES: Final = 256 * 1024
"""Limit on the bytes of bodies in one chunk, unless a single body is larger.

The query of a page reads the bodies of its first objects up to this limit.
"""

MAX_PAGE_BYTES: Final = 64 * 1024 * 1024
"""Limit on the bytes of bodies in a page that a client requested. The client requests the objects beyond it as the next page."""

_BATCH_SIZE: Final = 500
"""Number of objects that are read in one batch if the client requests the complete list."""

_THREAD_BYTES: Final = 64 * 1024
"""Minimum bytes of bodies for a conversion in a thread, to YAML or to another version."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list."""

    #: The resource version of the list, the same for all its pages.
    resource_version: int
    #: Objects. An object whose body is not read yet has an empty ``spec``; the body is read when the object is encoded.
    items: Sequence[StoredItem]
    #: Bytes of each object's body.
    sizes: Sequence[int]
    #: The name of the last object; None on the last page.
    last_name: str | None
    #: Number of objects on later pages; None if it is not counted.
    remaining_items: int | None = None

    @property
    def end_position(self) -> Position | None:
        """The position to continue from; None on the last page."""
        return (
            None
            if self.last_name is None
            else Position(self.resource_version, self.last_name, self.remaining_items, self.items[-1].namespace)
        )

    def truncated(self) -> "ListPage":
        """Return a page of the first objects, as many as ``MAX_PAGE_BYTES`` allows but at least one."""
        count = count_within(self.sizes, MAX_PAGE_BYTES)
        if count >= len(self.items):
            return self
        remaining_items = None if self.remaining_items is None else self.remaining_items + len(self.items) - count
        return ListPage(self.resource_version, self.items[:count], self.sizes[:count], self.items[count - 1].name, remaining_items)


class ListSource(Protocol):
    """A source of the objects of a list."""

    async def page(self, position: Position | None, limit: int) -> ListPage:
        """Return the page after a position, or the first page. Every page except the last has at least one object."""
        ...


async def list_response(
    target: Target, response_format: Format, list_options: ListOptions, source: ListSource, database: Database
) -> Response:
    """Return the response with the complete list, or with the requested page."""
    is_page = list_options.limit is not None
    limit = min(list_options.limit or _BATCH_SIZE, MAX_PAGE_SIZE)
    page = await source.page(list_options.position, limit)
    if is_page:
        page = page.truncated()
    writer = _ListWriter(target, response_format, database)
    body = writer.chunks(page, None if is_page else source)
    # A small list is sent as one body. A larger one is streamed, and memory for its buffers is reserved.
    if sum(page.sizes) <= CHUNK_BYTES and (is_page or page.end_position is None):
        return Response(
            200, b"".join([chunk async for chunk in body]), response_format.content_type, response_format.headers, may_compress=True
        )
    # Memory holds one chunk, and the bodies of one batch. The bodies exceed MAX_READ_BYTES only if a single body does.
    buffered_bytes = CHUNK_BYTES + min(sum(page.sizes), max((MAX_READ_BYTES, *page.sizes)))
    return Response(200, body, response_format.content_type, response_format.headers, may_compress=True, buffered_bytes=buffered_bytes)


class _ListWriter:
    """The encoder of one response with a list, which also reads later pages and missing bodies."""

    def __init__(self, target: Target, response_format: Format, database: Database) -> None:
        self._encoder = ListEncoder(response_format, target.kind, target.version)
        #: The encoder converts objects, to YAML or to another version, which takes long.
        self._converts = response_format.is_yaml or target.kind.versioning is not None
        self._database = database

    async def chunks(self, page: ListPage, source: ListSource | None) -> AsyncIterator[bytes]:
        """Yield the encoded list: the page, and with a ``source`` also all later pages."""
        metadata: dict[str, Any] = {"resourceVersion": str(page.resource_version)}
        if source is None and page.end_position is not None:
            metadata["continue"] = page.end_position.token()
            if page.remaining_items is not None:
                metadata["remainingItemCount"] = page.remaining_items
        yield self._encoder.head(metadata)
        async for chunk in self._page_chunks(page):
            yield chunk
        while source is not None and page.end_position is not None:
            page = await source.page(page.end_position, _BATCH_SIZE)
            async for chunk in self._page_chunks(page):
                yield chunk
        yield self._encoder.tail()

    async def _page_chunks(self, page: ListPage) -> AsyncIterator[bytes]:
        """Yield the encoded objects of a page.

        While a slow client reads, only the encoded chunks of one batch are in memory, and no objects.
        """
        for start, end in batches(page.sizes, MAX_READ_BYTES):
            chunks = await self._batch_chunks(page.items[start:end], page.sizes[start:end])
            while chunks:
                yield chunks.popleft()

    async def _batch_chunks(self, items: Sequence[StoredItem], sizes: Sequence[int]) -> deque[bytes]:
        """Return the encoded objects of one batch in chunks of at most ``CHUNK_BYTES``, unless a single body is larger."""
        items_with_bodies = await _with_bodies(items, sizes, self._database)
        chunks: deque[bytes] = deque()
        for start, end in batches(sizes, CHUNK_BYTES):
            if self._converts and sum(sizes[start:end]) > _THREAD_BYTES:
                chunks.append(await asyncio.to_thread(self._encoder.items, items_with_bodies[start:end]))
            else:
                chunks.append(self._encoder.items(items_with_bodies[start:end]))
        return chunks


async def _with_bodies(items: Sequence[StoredItem], sizes: Sequence[int], database: Database) -> Sequence[StoredItem]:
    """Return the objects with their bodies. Bodies that the query of the page left out are read now."""
    # An object whose body was left out has a size, but an empty spec.
    objects_without_body = [
        item for item, size in zip(items, sizes, strict=True) if size and not item.spec and isinstance(item, StoredObject)
    ]
    if not objects_without_body:
        return items
    async with database.connection() as connection:
        bodies = await lists.read_bodies(connection, objects_without_body)
    return [item.with_spec(bodies[item.uid]) if isinstance(item, StoredObject) and item.uid in bodies else item for item in items]


def count_within(sizes: Iterable[int], limit: int) -> int:
    """Return how many of the first items have sizes that add up to at most ``limit``, but at least 1."""
    # The totals increase, so those within the limit belong to the first items.
    return max(1, sum(total <= limit for total in accumulate(sizes)))


def batches(sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of slices of items whose sizes add up to at most ``limit``. A larger item has a slice of its own.

    Without items, the only slice is empty.
    """
    start = slice_size = 0
    for index, size in enumerate(sizes):
        if start < index and slice_size + size > limit:
            yield start, index
            start, slice_size = index, 0
        slice_size += size
    yield start, len(sizes)
