"""Batches that accept items, and the number of items that they can accept."""

from dataclasses import dataclass

import orjson

from dashwright.api.batches.plan import Allowance
from dashwright.common.database.pool import Connection
from dashwright.common.errors import Conflict
from dashwright.common.kinds.registry import BATCH
from dashwright.common.stores import batches, job_queues, resources
from dashwright.common.stores.batches import StoredBatch
from dashwright.common.stores.job_queues import TooManyWaitingJobs
from dashwright.common.stores.resources import StoredObject


@dataclass(frozen=True, slots=True)
class Capacity:
    """The number of items that a batch and its organization can accept."""

    free_in_batch: int  #: Number of items that the batch can still accept; negative if its limit was reduced.
    max_items: int  #: Limit on the items of a batch.
    waiting: int  #: Waiting jobs and pending items of the organization.
    max_waiting: int  #: Limit on ``waiting``.

    def waiting_error(self, added: int) -> TooManyWaitingJobs | None:
        """Return the error of an organization that would have too many waiting jobs with ``added`` items, or None."""
        is_full = self.waiting + added > self.max_waiting
        return TooManyWaitingJobs(waiting=self.waiting, added=added, limit=self.max_waiting) if is_full else None

    @property
    def batch_allowance(self) -> Allowance:
        """The items that the batch can accept."""
        message = f"a batch may have {self.max_items:,} items (DASHWRIGHT_BATCH_ITEMS); submit the rest as another batch"
        return Allowance(max(0, self.free_in_batch), message)

    @property
    def allowance(self) -> Allowance:
        """The items that both the batch and the organization can accept."""
        free = max(0, self.max_waiting - self.waiting)
        if self.free_in_batch <= free:
            return self.batch_allowance
        error = self.waiting_error(free + 1)
        assert error is not None, "one item more than the free ones is too many"
        return Allowance(free, error.message)


class ItemLimits:
    """The limits on the items of a batch, and on the waiting jobs and items of an organization."""

    def __init__(self, *, max_items: int, max_waiting_jobs: int) -> None:
        self._max_items = max_items
        self._max_waiting_jobs = max_waiting_jobs

    async def capacity(self, connection: Connection, batch: StoredBatch, *, added: int = 0) -> Capacity:
        """Return the capacity for further items of a batch. ``added`` is the number of new items that are not stored yet.

        Concurrent additions to different batches do not see each other. Together they may exceed the limit of the organization; later
        additions are then refused.
        """
        waiting = (await job_queues.count_waiting(connection, [batch.namespace])).get(batch.namespace, 0)
        waiting += await batches.count_pending(connection, batch.namespace)
        return Capacity(self._max_items - batch.total - added, self._max_items, waiting + added, self._max_waiting_jobs)


async def lock_batch(connection: Connection, namespace: str, name: str) -> tuple[StoredObject, StoredBatch]:
    """Return a batch and its counts, which are locked until the end of the transaction. Raises NotFound."""
    stored_object = await resources.get(connection, BATCH, namespace, name)
    batch = await batches.lock(connection, stored_object.uid)
    if batch is None or batch.is_deleted:
        raise resources.not_found(BATCH, name)
    return stored_object, batch


def has_items(stored_object: StoredObject) -> bool:
    """Return whether the spec of a batch has items. The batch then accepts no others."""
    return bool(orjson.loads(stored_object.spec).get("items"))


def require_open(stored_object: StoredObject, batch: StoredBatch, *, accepts_late: bool = False) -> None:
    """Raise Conflict if a batch accepts no items.

    ``accepts_late`` is true for items from the queue. A batch that was closed through the queue accepts them until it has ended.
    """
    if has_items(stored_object):
        reason = "has its items in its spec"
    elif batch.finished_at is not None:
        reason = "has ended"
    elif batch.stop_reason is not None:
        reason = "was stopped"
    elif batch.is_closed and not (accepts_late and batch.accepts_late):
        reason = "is closed"
    else:
        return
    message = f'{BATCH.key} "{stored_object.name}" {reason} and accepts no items; create another batch'
    raise Conflict(message, details=BATCH.details(batch.name))
