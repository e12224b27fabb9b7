"""Reader of the results of batches. It uses a connection or a file only while it reads a page, not while its caller waits."""

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final

from dashwright.common.batch_results.lines import line_around_result
from dashwright.common.batch_results.stored_lines import StoredLines
from dashwright.common.database.pool import Database
from dashwright.common.errors import Conflict, Gone
from dashwright.common.models.batch import ItemState
from dashwright.common.object_storage import ObjectMissing, ObjectStorage
from dashwright.common.stores import batch_results, evaluations
from dashwright.common.stores.batch_results import SEGMENT_ITEMS, ItemResult
from dashwright.common.stores.evaluations import CHUNK_BYTES

#: Number of times that an item is listed again because its result was moved after the last listing.
_MAX_SEARCHES: Final = 5


class BatchResultReader:
    """Reader of the results of batches, from the database and from object storage."""

    def __init__(self, database: Database, storage: ObjectStorage) -> None:
        self._database = database
        self._storage = storage

    async def lines(self, uid: uuid.UUID, *, first: int, end: int, state: ItemState | None = None) -> AsyncIterator[bytes]:
        """Yield the lines of the items with an index from ``first`` to before ``end``, in parts.

        Each part belongs to one line, and the last part of a line ends with a newline. Raises Gone if the batch is deleted or a
        stored segment is missing, Conflict if a result is moved while its line is read, and Unavailable if the database or the object
        storage does not respond.
        """
        searches = 0
        is_line_begun = False
        while first < end:
            # A page is within one segment, so its results are in one object at most.
            page_end = min(end, (first // SEGMENT_ITEMS + 1) * SEGMENT_ITEMS)
            async with self._database.connection() as connection:
                items = await batch_results.list_page(connection, uid, first=first, end=page_end, state=state)
            if items is None:
                raise Gone("the batch was deleted while its results were read")
            try:
                async for index, part in self._page(items):
                    yield part
                    is_line_begun = not part.endswith(b"\n")
                    if not is_line_begun:
                        first, searches = index + 1, 0
            except ObjectMissing as error:
                # The segment was stored, or stored again, after the page was listed.
                if is_line_begun:
                    raise Conflict(f"the result of item {first} was moved while it was read; continue with first={first}") from error
                if searches == _MAX_SEARCHES:
                    raise Gone(f"the stored results '{error}' are missing: do all services use the same storage?") from error
                searches += 1
                continue
            first = page_end

    async def _page(self, items: Sequence[ItemResult]) -> AsyncIterator[tuple[int, bytes]]:
        """Yield the parts of the lines of items, each with its index. Raises ObjectMissing if a result has been moved."""
        stored: StoredLines | None = None
        position = 0
        while position < len(items):
            item = items[position]
            if item.object is not None and item.size is not None:
                if stored is None:
                    first_index = item.index - item.index % SEGMENT_ITEMS
                    stored = StoredLines(self._storage, item.object, size=item.size, first_index=first_index)
                async for part in stored.line(item.index):
                    yield item.index, part
                position += 1
            elif item.body_size is not None and not item.has_small_body:
                async for part in self._large_line(item):
                    yield item.index, part
                position += 1
            else:
                group = _small_results(items, position)
                for line in await self._small_lines(group):
                    yield items[position].index, line
                    position += 1

    async def _small_lines(self, items: Sequence[ItemResult]) -> Sequence[bytes]:
        """Return the lines of items with small results, up to the first moved result. Raises ObjectMissing if that is the first."""
        jobs = [item.job for item in items if item.job is not None and item.body_size is not None]
        bodies: Mapping[uuid.UUID, bytes] = {}
        if jobs:
            async with self._database.connection() as connection:
                bodies = await batch_results.read_bodies(connection, jobs)
        lines: list[bytes] = []
        for item in items:
            before, after = line_around_result(item)
            if item.body_size is None:
                lines.append(before + after)
            elif item.job is not None and (body := bodies.get(item.job)) is not None:
                lines.append(before + body + after)
            elif lines:
                break
            else:
                raise ObjectMissing(str(item.job))
        return lines

    async def _large_line(self, item: ItemResult) -> AsyncIterator[bytes]:
        """Yield the line of an item with a large result, chunk by chunk."""
        assert item.job is not None
        before, after = line_around_result(item)
        chunk_index = 0
        while True:
            async with self._database.connection() as connection:
                chunk = await evaluations.read_chunk(connection, item.job, "json", chunk_index)
                # A missing chunk is the end of the result, unless the result as a whole is missing.
                is_moved = chunk is None and (chunk_index == 0 or await evaluations.find(connection, item.job) is None)
            if is_moved:
                raise ObjectMissing(str(item.job))
            if chunk is None:
                yield after
                return
            yield before + chunk if chunk_index == 0 else chunk
            chunk_index += 1


def _small_results(items: Sequence[ItemResult], position: int) -> Sequence[ItemResult]:
    """Return the next items, from a position on, whose results are small or missing. Together they hardly exceed the size of a chunk."""
    size = 0
    end = position
    while end < len(items) and size < CHUNK_BYTES:
        item = items[end]
        if item.object is not None or (item.body_size is not None and not item.has_small_body):
            break
        size += item.body_size or 0
        end += 1
    return items[position:end]
