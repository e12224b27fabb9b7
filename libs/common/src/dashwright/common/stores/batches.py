"""Store of batches: their items and counts. The object of a batch, with its spec and status, is in the store of objects.

Triggers copy the states of jobs to their items. A transaction takes the lock of jobs first, then that of a batch.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.models.batch import ItemCounts, ItemKind, ItemState
from dashwright.common.stores.batch_results import SEGMENT_ITEMS, state_conditions

_sql = queries.load(__package__, "batches.sql")

#: Maximum number of items that one statement cancels or deletes.
CHUNK_SIZE: Final = 2000

#: Reasons for which a batch is stopped.
CANCELLED: Final = "cancelled"
DEADLINE: Final = "deadline"
FAILURE: Final = "failure"


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """Counts and progress of a batch."""

    uid: uuid.UUID
    namespace: str
    name: str
    created_at: datetime
    submitted_by: Mapping[str, Any] | None  #: Uid and login of the first submitter of items.
    trace: str | None  #: Trace of the submission, as a W3C traceparent.
    has_spec_items: bool  #: True if the items of the spec are stored.
    is_closed: bool  #: True if no more items are accepted.
    accepts_late: bool  #: True if items from the queue are accepted until the batch has ended, although it is closed.
    has_jobs: bool  #: True if an item is a job.
    total: int
    dispatched: int  #: Number of items with an unfinished job.
    working: int  #: Number of items with a working job.
    success: int
    error: int
    cancelled: int
    due_at: datetime | None  #: When the controller handles the batch again, or deletes an ended one.
    stop_reason: str | None  #: Why no more items are dispatched: ``CANCELLED``, ``DEADLINE`` or ``FAILURE``.
    started_at: datetime | None
    finished_at: datetime | None
    reported_at: datetime | None  #: When the status of the object was last written.
    is_deleted: bool

    @property
    def ended(self) -> int:
        """The number of items that ended."""
        return self.success + self.error + self.cancelled

    @property
    def pending(self) -> int:
        """The number of items without an unfinished job that have not ended."""
        return self.total - self.dispatched - self.ended

    @property
    def counts(self) -> ItemCounts:
        """The number of items by state, as the status has them."""
        return ItemCounts(
            total=self.total,
            # Unlike the property ``pending``, this includes items whose jobs are waiting.
            pending=self.total - self.ended - self.working,
            working=self.working,
            success=self.success,
            error=self.error,
            cancelled=self.cancelled,
        )

    @property
    def progress(self) -> float:
        """The share of items that ended, in percent. A batch is complete only when it is finished."""
        if self.finished_at is not None:
            return 100.0
        # Rounding must not lead to 100 before the end.
        return min(99.9, round(100 * self.ended / self.total, 1)) if self.total else 0.0


@dataclass(frozen=True, slots=True)
class NewItem:
    """Item to add to a batch."""

    id: str  #: Idempotency key within the batch.
    kind: ItemKind
    spec: str  #: JSON with sorted keys: equal specs are equal strings.
    reply_to: str | None = None  #: Queue that receives the result.
    correlation_id: str | None = None


@dataclass(frozen=True, slots=True)
class AddedItem:
    """Result of the addition of an item."""

    index: int
    is_new: bool
    is_equal: bool  #: False if the batch has another item with the same id.


@dataclass(frozen=True, slots=True)
class KnownItem:
    """Item of a batch with its submitted members."""

    index: int
    kind: ItemKind
    spec: str


@dataclass(frozen=True, slots=True)
class ReadyItem:
    """Pending item that may be submitted."""

    index: int
    id: str
    kind: ItemKind
    spec: str
    attempts: int
    job: uuid.UUID | None  #: Job of the attempt before, which may be deleted.


@dataclass(frozen=True, slots=True)
class ListedItem:
    """Item with the state of its job."""

    index: int
    id: str
    kind: ItemKind
    attempts: int
    status: str | None  #: Final JobStatus of the last attempt, as JSON.
    job: str | None  #: Name of the last job, while it exists.
    state: str  #: An ItemState.


async def find(connection: Connection, uid: uuid.UUID) -> StoredBatch | None:
    """Return a batch, or None if it does not exist."""
    row = await connection.fetchrow(_sql.find, uid)
    return None if row is None else _stored_batch(row)


async def lock(connection: Connection, uid: uuid.UUID) -> StoredBatch | None:
    """Return a batch and lock it until the end of the transaction, or return None if it does not exist."""
    row = await connection.fetchrow(_sql.lock, uid)
    return None if row is None else _stored_batch(row)


async def add(
    connection: Connection, batch: StoredBatch, items: Sequence[NewItem], *, submitted_by: Mapping[str, Any], trace: str | None
) -> Sequence[AddedItem]:
    """Add items with different ids to a locked batch, and return one result for each. Items whose ids exist are not added again.

    ``batch`` is the result of ``lock`` in the same transaction, and no items were added since.
    """
    existing = await find_by_id(connection, batch.uid, [item.id for item in items])
    new_items = [item for item in items if item.id not in existing]
    # No index is given twice: the lock of the batch keeps ``total`` up to date until the end of the transaction.
    indices = {item.id: batch.total + offset for offset, item in enumerate(new_items)}
    if new_items:
        query = _sql.bind(
            "add",
            batch=batch.uid,
            indices=[indices[item.id] for item in new_items],
            ids=[item.id for item in new_items],
            kinds=[item.kind for item in new_items],
            specs=[item.spec for item in new_items],
            reply_to=[item.reply_to for item in new_items],
            correlation_ids=[item.correlation_id for item in new_items],
        )
        await connection.execute(*query)
        has_jobs = any(item.kind == "Job" for item in new_items)
        await connection.execute(*_sql.bind("count_added", uid=batch.uid, count=len(new_items), has_jobs=has_jobs))
        submitter = orjson.dumps(dict(submitted_by)).decode()
        await connection.execute(*_sql.bind("set_submitter", uid=batch.uid, submitted_by=submitter, trace=trace))
        notify_after_commit(connection, "job")
    results = []
    for item in items:
        if (known_item := existing.get(item.id)) is None:
            results.append(AddedItem(indices[item.id], is_new=True, is_equal=True))
        else:
            is_equal = (known_item.kind, known_item.spec) == (item.kind, item.spec)
            results.append(AddedItem(known_item.index, is_new=False, is_equal=is_equal))
    return results


async def find_by_id(connection: Connection, uid: uuid.UUID, ids: Sequence[str]) -> Mapping[str, KnownItem]:
    """Return the items of a batch that have one of the ids, by id."""
    rows = await connection.fetch(_sql.find_by_id, uid, ids)
    return {row["id"]: KnownItem(row["index"], row["kind"], row["spec"]) for row in rows}


async def count_pending(connection: Connection, namespace: str) -> int:
    """Return the number of items of a namespace that are not submitted as jobs yet."""
    count: int = await connection.fetchval(_sql.count_pending, namespace)
    return count


async def close(connection: Connection, uid: uuid.UUID, *, accepts_late: bool = False) -> None:
    """Accept no more items. With ``accepts_late``, items from the queue are accepted until the batch has ended."""
    await connection.execute(_sql.close, uid, accepts_late)
    notify_after_commit(connection, "job")


async def stop(connection: Connection, uid: uuid.UUID, reason: str) -> None:
    """Dispatch no more items of an unfinished batch. The controller cancels them, and their jobs unless the reason is ``FAILURE``."""
    await connection.execute(_sql.stop, uid, reason)
    notify_after_commit(connection, "job")


async def retry(connection: Connection, uid: uuid.UUID, *, states: Sequence[str], ids: Sequence[str] | None) -> int:
    """Make ended items pending again, without counting earlier attempts, and return their number.

    Only items in one of ``states`` are retried. ``ids`` limits them to items with these ids.
    """
    values: dict[str, Any] = {"states": list(states), "ids": None if ids is None else list(ids), "segment_items": SEGMENT_ITEMS}
    query = _sql.bind("retry", batch=uid, **values)
    retried: int = await connection.fetchval(*query)
    notify_after_commit(connection, "job")
    return retried


async def list_items(connection: Connection, uid: uuid.UUID, *, first: int, limit: int, state: ItemState | None) -> Sequence[ListedItem]:
    """Return at most ``limit`` items from the index ``first`` on, in their order. ``state`` limits them to items in this state."""
    conditions, values = state_conditions(state)
    query = _sql.bind("list_items", conditions=conditions, batch=uid, first=first, limit=limit, **values)
    return [ListedItem(**row) for row in await connection.fetch(*query)]


async def try_lock_controller(connection: Connection, uid: uuid.UUID) -> bool:
    """Make the transaction the only one that controls a batch. Return False if another transaction controls it."""
    return bool(await connection.fetchval(_sql.try_lock_controller, uid))


async def list_changed(connection: Connection, *, limit: int, report_interval: timedelta) -> Sequence[uuid.UUID]:
    """Return the batches that changed or are due, and those whose status may be written again, the oldest first."""
    return [row["uid"] for row in await connection.fetch(_sql.list_changed, limit, report_interval)]


async def begin_control(connection: Connection, uid: uuid.UUID, *, attempts: int, backoff: timedelta) -> StoredBatch | None:
    """Lock and return a batch, and mark its present changes as handled. Return None if it does not exist.

    ``attempts`` and ``backoff`` are those of the batch's retry policy. Call this before the changes are handled.
    """
    row = await connection.fetchrow(*_sql.bind("begin_control", uid=uid, attempts=attempts, backoff=backoff))
    return None if row is None else _stored_batch(row)


async def continue_later(connection: Connection, uid: uuid.UUID, due_at: datetime | None = None) -> None:
    """Handle the batch again at a time, or immediately if ``due_at`` is None."""
    await connection.execute(*_sql.bind("continue_later", uid=uid, is_changed=due_at is None, due_at=due_at))


async def list_ready(connection: Connection, uid: uuid.UUID, *, limit: int) -> Sequence[ReadyItem]:
    """Return the first pending items that may be submitted now."""
    return [ReadyItem(**row) for row in await connection.fetch(_sql.list_ready, uid, limit)]


async def next_attempt_at(connection: Connection, uid: uuid.UUID) -> datetime | None:
    """Return when the next pending item may be submitted again, or None if no item waits for a time."""
    next_at: datetime | None = await connection.fetchval(_sql.next_attempt, uid)
    return next_at


async def dispatch(connection: Connection, uid: uuid.UUID, jobs: Mapping[int, uuid.UUID]) -> None:
    """Record the submitted jobs of items, by index. Call this in the transaction of the submission."""
    if jobs:
        await connection.execute(*_sql.bind("dispatch", batch=uid, indices=list(jobs), jobs=list(jobs.values())))


async def refuse(connection: Connection, uid: uuid.UUID, statuses: Mapping[int, str]) -> None:
    """End pending items that cannot be submitted, by index. ``statuses`` are JobStatus objects as JSON."""
    if statuses:
        await connection.execute(*_sql.bind("refuse", batch=uid, indices=list(statuses), statuses=list(statuses.values())))


async def cancel_pending(connection: Connection, uid: uuid.UUID, *, status: str) -> int:
    """Cancel at most ``CHUNK_SIZE`` pending items, and return their number. ``status`` is a JobStatus as JSON."""
    count: int = await connection.fetchval(*_sql.bind("cancel_pending", batch=uid, limit=CHUNK_SIZE, status=status))
    return count


async def list_dispatched(connection: Connection, uid: uuid.UUID, *, states: Sequence[str]) -> Sequence[uuid.UUID]:
    """Return at most ``CHUNK_SIZE`` jobs of items that are in one of the states, ``pending`` or ``working``."""
    return [row["job"] for row in await connection.fetch(_sql.list_dispatched, uid, list(states), CHUNK_SIZE)]


async def finish(connection: Connection, uid: uuid.UUID, *, keep: timedelta) -> bool:
    """Finish a batch if all its items ended, and return whether they did. It is due again after ``keep``, in order to be deleted."""
    return await connection.fetchval(*_sql.bind("finish", uid=uid, keep=keep)) is not None


async def record_report(connection: Connection, uid: uuid.UUID) -> None:
    """Record that the status of the object is written."""
    await connection.execute(_sql.record_report, uid)


async def first_errors(connection: Connection, uid: uuid.UUID, *, limit: int) -> Sequence[tuple[int, str, str]]:
    """Return index, id and status of the first items that failed. The status is a JobStatus as JSON."""
    return [(row["index"], row["id"], row["status"]) for row in await connection.fetch(_sql.first_errors, uid, limit)]


async def delete_items(connection: Connection, uid: uuid.UUID) -> int:
    """Delete at most ``CHUNK_SIZE`` items of a batch, and return their number."""
    command_tag: str = await connection.execute(_sql.delete_items, uid, CHUNK_SIZE)  # such as "DELETE 5"
    return int(command_tag.rpartition(" ")[2])


async def delete(connection: Connection, uid: uuid.UUID) -> None:
    """Delete the row of a batch without items. Delete its objects in storage first."""
    await connection.execute(_sql.delete, uid)
    await connection.execute(_sql.end_control, uid)


def _stored_batch(row: Any) -> StoredBatch:
    """Return the batch of a row, in which the submitter is JSON."""
    submitted_by = row["submitted_by"]
    return StoredBatch(**{**row, "submitted_by": None if submitted_by is None else orjson.loads(submitted_by)})
