"""Store of the segments of batches: consecutive items whose results are one object in storage.

A worker claims a segment for a time, writes its object without a transaction, and then records it.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection
from dashwright.common.stores import batches
from dashwright.common.stores.batch_results import SEGMENT_ITEMS

_sql = queries.load(__package__, "batch_segments.sql")


@dataclass(frozen=True, slots=True)
class ClaimedSegment:
    """Segment that a worker is about to store."""

    batch: uuid.UUID
    number: int  #: Index of the first item, divided by ``SEGMENT_ITEMS``.
    claim: uuid.UUID  #: Random id of the claim.
    object: str | None  #: Path of the object that was stored for the segment before, or None.
    retries: int  #: Number of retries of the batch at the time of the claim.


async def list_unstored(connection: Connection, *, limit: int) -> Sequence[uuid.UUID]:
    """Return the batches that may have segments to store, the oldest first."""
    return [row["uid"] for row in await connection.fetch(*_sql.bind("list_unstored", segment_items=SEGMENT_ITEMS, limit=limit))]


async def claim(connection: Connection, uid: uuid.UUID, *, lease: timedelta) -> ClaimedSegment | None:
    """Claim the first segment that can be stored now, or return None. Call this in a transaction."""
    batch = await batches.lock(connection, uid)
    if batch is None or batch.is_deleted:
        return None
    claim_id = uuid.uuid4()
    row = await connection.fetchrow(*_sql.bind("claim", batch=uid, claim=claim_id, lease=lease, segment_items=SEGMENT_ITEMS))
    return None if row is None else ClaimedSegment(uid, row["number"], claim_id, row["object"], row["retries"])


async def renew(connection: Connection, segment: ClaimedSegment, *, lease: timedelta) -> bool:
    """Extend a claim. Return False if another worker has claimed the segment."""
    return await connection.fetchval(_sql.renew, segment.batch, segment.number, segment.claim, lease) is not None


async def release(connection: Connection, segment: ClaimedSegment) -> None:
    """End a claim."""
    await connection.execute(_sql.release, segment.batch, segment.number, segment.claim)


async def complete(connection: Connection, segment: ClaimedSegment, path: str, *, size: int) -> bool:
    """Record the object of a claimed segment and end the claim. Call this in a transaction.

    Returns False if the claim is lost, an item was retried since the claim, or the batch is deleted.
    """
    # A concurrent retry or deletion changes the batch before or after this transaction.
    await batches.lock(connection, segment.batch)
    query = _sql.bind(
        "complete",
        batch=segment.batch,
        number=segment.number,
        claim=segment.claim,
        retries=segment.retries,
        object=path,
        size=size,
        segment_items=SEGMENT_ITEMS,
    )
    return await connection.fetchval(*query) is not None


async def list_untrimmed(connection: Connection, uid: uuid.UUID) -> Sequence[int]:
    """Return the numbers of the stored segments whose evaluations are not all recorded as deleted."""
    return [row["number"] for row in await connection.fetch(_sql.list_untrimmed, uid)]


async def list_trimmable(connection: Connection, uid: uuid.UUID, number: int, *, limit: int) -> Sequence[uuid.UUID]:
    """Return at most ``limit`` evaluations whose results are in the object of a segment."""
    query = _sql.bind("list_trimmable", batch=uid, number=number, limit=limit, segment_items=SEGMENT_ITEMS)
    return [row["job"] for row in await connection.fetch(*query)]


async def record_trimmed(connection: Connection, uid: uuid.UUID, number: int) -> None:
    """Record that the evaluations of a stored segment are deleted."""
    await connection.execute(_sql.record_trimmed, uid, number)


async def record_stored(connection: Connection, uid: uuid.UUID) -> None:
    """Record that all results of a batch are stored. Does nothing if the batch is not finished or a result is not stored yet."""
    await connection.execute(*_sql.bind("record_stored", batch=uid, segment_items=SEGMENT_ITEMS))


async def list_deleted(connection: Connection, *, limit: int) -> Sequence[uuid.UUID]:
    """Return deleted batches whose objects are to be deleted."""
    return [row["uid"] for row in await connection.fetch(_sql.list_deleted, limit)]


async def delete_batch(connection: Connection, uid: uuid.UUID) -> None:
    """Delete the rows of a deleted batch whose items and objects are deleted. Call this in a transaction."""
    await connection.execute(_sql.delete_segments, uid)
    await connection.execute(_sql.delete_batch, uid)
