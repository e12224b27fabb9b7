"""Use cases on batches. Each change is audited."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from dashwright.api.batches.open_batch import has_items, lock_batch
from dashwright.api.domain.actor import Actor
from dashwright.api.stores import audit
from dashwright.api.stores.audit import event_of, subject_of
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Conflict
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import BatchState, BatchStatus, ItemState
from dashwright.common.stores import batches, resources
from dashwright.common.stores.batches import ListedItem, StoredBatch
from dashwright.common.stores.resources import StoredObject

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ItemPage:
    """Page of the items of a batch."""

    items: Sequence[ListedItem]
    next_index: int | None  #: Index with which the next page begins. None on the last page.


class Batches:
    """The use cases on batches."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_items(self, namespace: str, name: str, *, first: int, limit: int, state: ItemState | None) -> ItemPage:
        """Return at most ``limit`` items from the index ``first`` on. Raises NotFound for an unknown batch."""
        async with self._database.connection() as connection:
            batch = await resources.get(connection, BATCH, namespace, name)
            # The item beyond the limit shows whether there is a next page, and where it begins.
            items = await batches.list_items(connection, batch.uid, first=first, limit=limit + 1, state=state)
        return ItemPage(items[:limit], items[limit].index if len(items) > limit else None)

    async def close(self, actor: Actor, namespace: str, name: str, *, dry_run: bool) -> StoredObject:
        """Close a batch, so that it accepts no more items, and return it. A closed batch is not changed. Raises NotFound."""
        async with self._database.transaction(dry_run=dry_run) as connection:
            await resources.lock(connection, namespace)
            stored_object, batch = await lock_batch(connection, namespace, name)
            # If a batch has items in its spec, the batch controller closes it after it has stored them.
            if has_items(stored_object):
                return stored_object
            if not batch.is_closed:
                await batches.close(connection, batch.uid)
                await _audit(connection, actor, "close", name)
            await resources.update_status(connection, BATCH, namespace, name, BatchStatus, _set_closed)
            return await resources.get(connection, BATCH, namespace, name)

    async def cancel(self, actor: Actor, namespace: str, name: str, *, dry_run: bool) -> StoredObject:
        """Request the cancellation of all items that have not ended, and return the batch. Raises NotFound.

        A batch that has ended is not changed.
        """
        # Needs no lock of objects: the batch controller writes the status when it stops the batch.
        async with self._database.transaction(dry_run=dry_run) as connection:
            stored_object, batch = await lock_batch(connection, namespace, name)
            if batch.finished_at is None and batch.stop_reason != batches.CANCELLED:
                await batches.stop(connection, batch.uid, batches.CANCELLED)
                await _audit(connection, actor, "cancel", name)
        log.info("batch_cancelled", batch=name, namespace=namespace)
        return stored_object

    async def retry(
        self, actor: Actor, namespace: str, name: str, *, states: Sequence[ItemState], ids: Sequence[str] | None, dry_run: bool
    ) -> int:
        """Make items pending again that ended in one of the states, and return their number. ``ids`` limits them to these ids.

        Raises NotFound, and Conflict for a batch that is being stopped.
        """
        async with self._database.transaction(dry_run=dry_run) as connection:
            await resources.lock(connection, namespace)
            _, batch = await lock_batch(connection, namespace, name)
            if batch.stop_reason is not None and batch.finished_at is None:
                raise Conflict("the batch is being stopped; retry its items after it has ended", retry_after=1)
            retried = await batches.retry(connection, batch.uid, states=[state.value for state in states], ids=ids)
            if retried:
                # A client that waits for the end of the retry must not see the former end and its counts, so both are updated here.
                _, batch = await lock_batch(connection, namespace, name)
                await resources.update_status(connection, BATCH, namespace, name, BatchStatus, partial(_set_unfinished, batch))
                await _audit(connection, actor, "retry", name)
        log.info("batch_retried", batch=name, namespace=namespace, items=retried)
        return retried


def _set_closed(status: BatchStatus, _: StoredObject) -> None:
    """Set the state of a batch that accepts no more items."""
    if status.state is BatchState.OPEN:
        status.state = BatchState.RUNNING


def _set_unfinished(batch: StoredBatch, status: BatchStatus, _: StoredObject) -> None:
    """Set the status of a batch after a retry: it has not ended, and has the counts of ``batch``."""
    status.finished, status.counts, status.progress = None, batch.counts, batch.progress
    if status.state is not BatchState.OPEN:
        status.state = BatchState.RUNNING


async def _audit(connection: Connection, actor: Actor, verb: str, name: str) -> None:
    await audit.record(connection, actor, event_of(BATCH, verb), subject_of(BATCH, name), org_id=actor.org_id)
