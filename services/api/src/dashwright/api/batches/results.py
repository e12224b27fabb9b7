"""Results of batches as a stream of NDJSON or Arrow."""

from collections.abc import AsyncIterator
from typing import Final

from dashwright.api.batches.arrow import arrow_stream
from dashwright.common.batch_results.reader import BatchResultReader
from dashwright.common.database.pool import Database
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import ItemState
from dashwright.common.object_storage import ObjectStorage
from dashwright.common.stores import batches, resources

#: Minimum size in bytes of every chunk of NDJSON except the last. Writing many small chunks takes longer.
_CHUNK_BYTES: Final = 64 * 1024


class BatchResults:
    """The results of batches."""

    def __init__(self, database: Database, storage: ObjectStorage) -> None:
        self._database = database
        self._reader = BatchResultReader(database, storage)

    async def read(self, namespace: str, name: str, *, first: int, state: ItemState | None, as_arrow: bool) -> AsyncIterator[bytes]:
        """Return the body with the results of the items that the batch has now, from the index ``first`` on.

        Raises NotFound for an unknown batch, and Unavailable. The first chunk is read before the return, so that its errors are raised
        while the status of the response can still be chosen.
        """
        async with self._database.connection() as connection:
            uid = (await resources.get(connection, BATCH, namespace, name)).uid
            batch = await batches.find(connection, uid)
        lines = self._reader.lines(uid, first=first, end=0 if batch is None else batch.total, state=state)
        chunks = arrow_stream(lines) if as_arrow else _chunks(lines)
        return _preceded(await anext(chunks, b""), chunks)


async def _chunks(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the parts, joined to chunks of at least ``_CHUNK_BYTES``."""
    pending: list[bytes] = []
    size = 0
    async for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _CHUNK_BYTES:
            yield b"".join(pending)
            pending.clear()
            size = 0
    if pending:
        yield b"".join(pending)


async def _preceded(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a chunk that was read before, and then the remaining chunks."""
    yield first
    async for chunk in chunks:
        yield chunk
