"""Archiver of batches: it moves the results of ended items to object storage, and deletes the objects of deleted batches.

The object is written first, without a transaction. Then a transaction records it, and further transactions delete the evaluations.
After a crash in between, the segment is written again under another path, and its first object is deleted with the batch.
"""

import secrets
import uuid
import zlib
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.batch_results.reader import BatchResultReader
from dashwright.common.batch_results.stored_lines import GZIP_WBITS
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, Unavailable
from dashwright.common.object_storage import ObjectStorage
from dashwright.common.stores import batches, jobs
from dashwright.common.stores.batch_results import SEGMENT_ITEMS
from dashwright.jobs_worker.stores import batch_segments
from dashwright.jobs_worker.stores.batch_segments import ClaimedSegment

log = structlog.get_logger()

#: Time after which another worker may store a segment whose worker is unresponsive.
_LEASE: Final = timedelta(seconds=60)
#: Time between two renewals of the claim of a segment, which must be well before the end of ``_LEASE``.
_RENEW_MILLISECONDS: Final = 15_000
#: Maximum number of batches that one search finds.
_MAX_BATCHES: Final = 50
#: Maximum number of evaluations that one transaction deletes, since it holds the lock of jobs.
_MAX_DELETED: Final = 250
#: Level of gzip, at which compression takes about as long as reading from the database.
_LEVEL: Final = 1


class SegmentLost(Exception):
    """Another worker has claimed the segment, an item was retried, or the batch is deleted."""


class BatchArchiver:
    """Archiver of the results of batches of all namespaces."""

    def __init__(self, database: Database, storage: ObjectStorage, clock: Clock) -> None:
        self._database = database
        self._storage = storage
        self._clock = clock
        self._reader = BatchResultReader(database, storage)

    async def run_once(self) -> None:
        """Store the segments that can be stored, and delete the objects of deleted batches."""
        async with self._database.connection() as connection:
            unstored = await batch_segments.list_unstored(connection, limit=_MAX_BATCHES)
            deleted = await batch_segments.list_deleted(connection, limit=_MAX_BATCHES)
        for step, uids in ((self._store, unstored), (self._delete, deleted)):
            for uid in uids:
                try:
                    await step(uid)
                # Without the database, no other batch can be handled either.
                except Unavailable:
                    raise
                except (SegmentLost, DashwrightError) as error:
                    log.info("batch_not_archived", batch=str(uid), error=str(error))
                except Exception:
                    log.exception("batch_not_archived", batch=str(uid))

    async def _store(self, uid: uuid.UUID) -> None:
        """Store all segments of a batch whose items ended."""
        while True:
            async with self._database.transaction() as connection:
                segment = await batch_segments.claim(connection, uid, lease=_LEASE)
            if segment is None:
                break
            await self._store_segment(segment)
            await self._trim(uid, segment.number)
        # A worker that was killed may have recorded segments without deleting their evaluations.
        async with self._database.connection() as connection:
            untrimmed = await batch_segments.list_untrimmed(connection, uid)
        for number in untrimmed:
            await self._trim(uid, number)
        async with self._database.connection() as connection:
            await batch_segments.record_stored(connection, uid)

    async def _store_segment(self, segment: ClaimedSegment) -> None:
        """Write the object of a claimed segment and record it. Raises SegmentLost. After any error the claim ends."""
        path = f"{segment.batch}/{segment.number:06}-{secrets.token_hex(8)}.ndjson.gz"
        is_stored = False
        try:
            size = await self._write(segment, path)
            async with self._database.transaction() as connection:
                is_stored = await batch_segments.complete(connection, segment, path, size=size)
            if not is_stored:
                raise SegmentLost("an item was retried, or the batch is deleted")
        finally:
            if not is_stored:
                async with self._database.connection() as connection:
                    await batch_segments.release(connection, segment)
        # The previous object of the segment has the results from before a retry of an item.
        if segment.object is not None:
            await self._storage.delete(segment.object)

    async def _write(self, segment: ClaimedSegment, path: str) -> int:
        """Write the lines of a segment to a new object, and return its size in bytes. Raises SegmentLost."""
        size = 0
        async with self._storage.writer(path) as writer:
            async for data in self._compressed_lines(segment):
                await writer.write(data)
                size += len(data)
            await self._renew(segment)
        return size

    async def _compressed_lines(self, segment: ClaimedSegment) -> AsyncIterator[bytes]:
        """Yield the parts of a gzip file with the lines of a segment. Raises SegmentLost."""
        compressor = zlib.compressobj(_LEVEL, wbits=GZIP_WBITS)
        renewed_at = self._clock.milliseconds()
        first = segment.number * SEGMENT_ITEMS
        async for part in self._reader.lines(segment.batch, first=first, end=first + SEGMENT_ITEMS):
            if data := compressor.compress(part):
                yield data
            if self._clock.milliseconds() > renewed_at + _RENEW_MILLISECONDS:
                await self._renew(segment)
                renewed_at = self._clock.milliseconds()
        yield compressor.flush()

    async def _renew(self, segment: ClaimedSegment) -> None:
        """Extend the claim of a segment. Raises SegmentLost if another worker has claimed it."""
        async with self._database.connection() as connection:
            if not await batch_segments.renew(connection, segment, lease=_LEASE):
                raise SegmentLost("another worker stores the segment")

    async def _trim(self, uid: uuid.UUID, number: int) -> None:
        """Delete the evaluations whose results are in the object of a segment."""
        is_complete = False
        while not is_complete:
            async with self._database.transaction() as connection:
                batch = await batches.find(connection, uid)
                if batch is None:
                    return
                await jobs.lock(connection, batch.namespace)
                uids = await batch_segments.list_trimmable(connection, uid, number, limit=_MAX_DELETED)
                await jobs.delete_ended(connection, uids)
                is_complete = len(uids) < _MAX_DELETED
                if is_complete:
                    await batch_segments.record_trimmed(connection, uid, number)

    async def _delete(self, uid: uuid.UUID) -> None:
        """Delete the objects of a deleted batch, and then its row."""
        await self._storage.delete_all(f"{uid}/")
        async with self._database.transaction() as connection:
            await batch_segments.delete_batch(connection, uid)
        log.info("batch_results_deleted", batch=str(uid))
