"""Controller of batches: it submits their items as jobs, stops and finishes batches, and writes their status.

Each step is repeatable. Several workers may run a controller, and one of them handles a batch at a time.
"""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

import orjson
import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.notifier import CHANNEL
from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import DashwrightError, NotFound, Unavailable
from dashwright.common.jobs import job_messages
from dashwright.common.jobs.routing import Wakeup
from dashwright.common.kinds.annotations import CREATED_BY
from dashwright.common.kinds.batch import normalize_spec, parse_time
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import BatchSpec, RetryPolicy
from dashwright.common.models.provisioning import JobStatus, State
from dashwright.common.stores import batches, jobs, resources, sync_status
from dashwright.common.stores.batches import NewItem, StoredBatch
from dashwright.common.stores.notifications import Notification
from dashwright.common.stores.resources import StoredObject
from dashwright.common.work.wakeups import WakeupPublisher
from dashwright.jobs_worker.batches.dispatcher import BatchDispatcher
from dashwright.jobs_worker.batches.events import finished_event, receivers_of, receivers_of_end
from dashwright.jobs_worker.batches.progress import MAX_ERRORS, RateMeter, status_of
from dashwright.jobs_worker.stores import item_replies, notifications
from dashwright.jobs_worker.stores.notifications import NO_OUTCOME

log = structlog.get_logger()

#: Time between two searches for batches without a notification: for begins, retries, deadlines and delayed reports.
_SEARCH_INTERVAL_SECONDS: Final = 0.5
#: Time to wait after a notification: further ones usually follow, and one search handles all of them.
_SETTLE_SECONDS: Final = 0.05
#: Maximum number of batches that one search finds.
_MAX_BATCHES: Final = 50
#: Maximum number of unfinished jobs of a batch. Workers need enough to be busy until the next dispatch.
MAX_DISPATCHED: Final = 1000
#: Maximum number of items that one transaction submits, since it holds the lock of jobs.
_MAX_SUBMITTED: Final = 250
#: Minimum time between two writes of the status of a batch.
_REPORT_INTERVAL: Final = timedelta(seconds=0.5)
#: Time after which a batch that is due to be deleted is checked again for results of items that were not sent.
_REPLY_WAIT: Final = timedelta(seconds=0.5)
_UNFINISHED: Final = (State.PENDING, State.WORKING)
#: Name that is recorded for the deletion of an expired batch.
_ACTOR: Final = "access-policy:batches"


class BatchController:
    """Controller of the batches of all namespaces. ``on_due`` is called when notifications may be due."""

    def __init__(self, database: Database, wakeups: WakeupPublisher, clock: Clock, on_due: Callable[[], None]) -> None:
        self._database = database
        self._wakeups = wakeups
        self._on_due = on_due
        self._clock = clock
        self._dispatcher = BatchDispatcher(clock)
        self._rates = RateMeter()
        #: Set when a batch may have changed.
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the controller."""
        self._task = asyncio.create_task(self._run(), name="batches")

    async def stop(self) -> None:
        """Stop the controller."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        async with self._database.listen(CHANNEL, self._on_notification, self._changed.set):
            while True:
                self._changed.clear()
                # Also true after an error, so that the next search is not immediate.
                is_idle = True
                try:
                    is_idle = not await self.run_once()
                except Unavailable as error:
                    log.info("batches_delayed", error=error.message)
                except Exception:
                    log.exception("batch_controller_failed")
                if is_idle:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_SEARCH_INTERVAL_SECONDS):
                            await self._changed.wait()
                    await asyncio.sleep(_SETTLE_SECONDS)

    def _on_notification(self, payload: str) -> None:
        # Batches, their jobs and the outcomes of their notifications are announced as changes of jobs.
        if payload == "job":
            self._changed.set()

    async def run_once(self) -> bool:
        """Handle the batches that changed or are due. Return whether a batch can be handled further immediately."""
        async with self._database.connection() as connection:
            uids = await batches.list_changed(connection, limit=_MAX_BATCHES, report_interval=_REPORT_INTERVAL)
        is_unfinished = False
        for uid in uids:
            try:
                is_unfinished |= await self._handle(uid)
            # The database is unreachable for the other batches, too.
            except Unavailable:
                raise
            except DashwrightError as error:
                log.warning("batch_not_handled", batch=str(uid), error=error.message)
            except Exception:
                log.exception("batch_not_handled", batch=str(uid))
        return is_unfinished

    async def _handle(self, uid: uuid.UUID) -> bool:
        """Take the next step of a batch. Return whether there is another step to take immediately."""
        wakeups: list[Wakeup] = []
        async with self._database.transaction() as connection:
            if not await batches.try_lock_controller(connection, uid):
                return False
            batch = await batches.find(connection, uid)
            if batch is None:
                return False
            stored_object = None if batch.is_deleted else await _find_object(connection, batch)
            # Objects are locked before jobs: the end of a sync changes the status of its repository, and a batch may expire.
            if batch.stop_reason or batch.finished_at or stored_object is None:
                await resources.lock(connection, batch.namespace)
            if stored_object is None:
                await jobs.lock(connection, batch.namespace)
                return await self._delete(connection, batch)
            spec = BatchSpec.model_validate_json(stored_object.spec)
            # Workers need the lock, too, so it is taken only if jobs will change.
            if has_lock := batch.stop_reason is not None or _submittable_count(batch, spec) > 0:
                await jobs.lock(connection, batch.namespace)
            retry = spec.retry or RetryPolicy()
            controlled_batch = await batches.begin_control(
                connection, uid, attempts=retry.attempts, backoff=timedelta(seconds=retry.backoff)
            )
            assert controlled_batch is not None, "the row of a batch is deleted only under the lock of its controller"
            has_more = await self._advance(connection, controlled_batch, stored_object, spec, wakeups, has_lock=has_lock)
        self._wakeups.publish_soon(wakeups)
        # The step may have ended the batch, and recorded its notification.
        if controlled_batch.is_closed and not controlled_batch.dispatched:
            self._on_due()
        # In a separate transaction, because the lock of objects is taken before the lock of jobs, which this step may have taken.
        if self._may_report(controlled_batch):
            await self._report(uid, stored_object.namespace)
        return has_more

    async def _advance(
        self,
        connection: Connection,
        batch: StoredBatch,
        stored_object: StoredObject,
        spec: BatchSpec,
        wakeups: list[Wakeup],
        *,
        has_lock: bool,
    ) -> bool:
        """Take the next step of a batch that is locked. Return whether there is another step to take immediately.

        Without the lock of jobs (``has_lock``), a step that changes jobs is left to another transaction.
        """
        now = self._clock.now()
        if spec.items is not None and not batch.has_spec_items:
            await self._add_spec_items(connection, batch, stored_object, spec)
            await batches.continue_later(connection, batch.uid)
            return True
        if batch.finished_at is not None:
            return await self._delete_if_expired(connection, batch, stored_object, spec, now)
        reason = _stop_reason(batch, spec, now)
        if reason is not None and batch.stop_reason is None:
            # Cancelling items needs the locks of objects and jobs, which the next step takes.
            await batches.stop(connection, batch.uid, reason)
            return True
        if batch.stop_reason is not None:
            has_more = not has_lock or await self._cancel_items(connection, batch)
        else:
            has_more = _submittable_count(batch, spec) > 0 and (not has_lock or await self._dispatch(connection, batch, spec, now, wakeups))
        if has_more:
            await batches.continue_later(connection, batch.uid)
            return True
        if spec.deadline is not None and batch.stop_reason is None:
            await batches.continue_later(connection, batch.uid, parse_time(spec.deadline))
        # A batch with unfinished jobs is handled again when they end.
        may_finish = batch.stop_reason is not None or not batch.dispatched
        if may_finish and await batches.finish(connection, batch.uid, keep=timedelta(seconds=spec.keep)):
            await self._announce(connection, batch.uid, spec)
        return False

    async def _announce(self, connection: Connection, uid: uuid.UUID, spec: BatchSpec) -> None:
        """Record the notification of a batch that ends in this transaction, for the exchange and the receivers in the spec."""
        finished = await batches.find(connection, uid)
        if finished is None:
            return
        errors = await batches.first_errors(connection, uid, limit=MAX_ERRORS)
        status = status_of(finished, errors, now=self._clock.milliseconds())
        event_id = uuid.uuid4()
        notification = Notification(
            id=event_id,
            subject_kind="batch",
            subject=uid,
            namespace=finished.namespace,
            name=finished.name,
            event=finished_event(finished, status, event_id),
            receivers=receivers_of_end(finished, status, spec),
        )
        await notifications.add(connection, notification)

    async def _add_spec_items(self, connection: Connection, batch: StoredBatch, stored_object: StoredObject, spec: BatchSpec) -> None:
        """Add the items of the spec, and close the batch: it accepts no other items."""
        items = [
            NewItem(item.id or f"#{index}", item.kind, normalize_spec(item.kind, item.spec)) for index, item in enumerate(spec.items or ())
        ]
        creator = (orjson.loads(stored_object.metadata).get("annotations") or {}).get(CREATED_BY, "")
        await batches.add(connection, batch, items, submitted_by={"uid": creator, "login": creator}, trace=None)
        await batches.close(connection, batch.uid)

    async def _dispatch(self, connection: Connection, batch: StoredBatch, spec: BatchSpec, now: datetime, wakeups: list[Wakeup]) -> bool:
        """Submit pending items. Return whether more can be submitted immediately."""
        begin = None if spec.not_before is None else parse_time(spec.not_before)
        if begin is not None and begin > now:
            await batches.continue_later(connection, batch.uid, begin)
            return False
        submittable_count = _submittable_count(batch, spec)
        count = min(submittable_count, _MAX_SUBMITTED)
        items = await batches.list_ready(connection, batch.uid, limit=count)
        wakeups += await self._dispatcher.dispatch(connection, batch, spec, items)
        if len(items) == count < submittable_count:
            return True
        # Too few items are ready if some wait for the time of their next attempt.
        if len(items) < count and (next_at := await batches.next_attempt_at(connection, batch.uid)) is not None:
            await batches.continue_later(connection, batch.uid, next_at)
        return False

    async def _cancel_items(self, connection: Connection, batch: StoredBatch) -> bool:
        """Cancel the items of a stopped batch; after a failure only those that have not begun. Return whether more are left to cancel."""
        status = self._cancelled_status().to_json().decode()
        if await batches.cancel_pending(connection, batch.uid, status=status) == batches.CHUNK_SIZE:
            return True
        return await self._cancel_jobs(connection, batch, (State.PENDING,) if batch.stop_reason == batches.FAILURE else _UNFINISHED)

    async def _cancel_jobs(self, connection: Connection, batch: StoredBatch, states: Sequence[State]) -> bool:
        """Cancel the jobs of a batch that are in one of the states. Return whether more are left to cancel."""
        uids = await batches.list_dispatched(connection, batch.uid, states=states)
        status = self._cancelled_status()
        for job in await jobs.cancel_many(connection, uids, status=status.to_json()) if uids else ():
            await sync_status.update(connection, job, status)
        return len(uids) == batches.CHUNK_SIZE

    def _cancelled_status(self) -> JobStatus:
        message = job_messages.CANCELLED
        return JobStatus(state=State.ERROR, finished=self._clock.milliseconds(), message=message, errors=[message])

    async def _delete_if_expired(
        self, connection: Connection, batch: StoredBatch, stored_object: StoredObject, spec: BatchSpec, now: datetime
    ) -> bool:
        """Delete a finished batch after the time for which it is kept. Return whether it was deleted.

        Until then, the receivers in its spec may be corrected.
        """
        assert batch.finished_at is not None
        expires_at = batch.finished_at + timedelta(seconds=spec.keep)
        await notifications.change_receivers(connection, batch.uid, receivers_of(spec))
        if expires_at > now:
            await batches.continue_later(connection, batch.uid, expires_at)
            return False
        if await item_replies.has_due(connection, batch.uid):
            await batches.continue_later(connection, batch.uid, now + _REPLY_WAIT)
            return False
        await resources.delete(connection, BATCH, batch.namespace, [batch.name], actor=_ACTOR)
        log.info("batch_expired", batch=batch.name, namespace=batch.namespace)
        return True

    async def _delete(self, connection: Connection, batch: StoredBatch) -> bool:
        """Cancel the jobs of a batch whose object is deleted, and delete its items. Return whether more of them are left."""
        if await self._cancel_jobs(connection, batch, _UNFINISHED) or await batches.delete_items(connection, batch.uid):
            return True
        await batches.delete(connection, batch.uid)
        await notifications.delete_ended(connection, batch.uid)
        self._rates.forget(batch.uid)
        log.info("batch_deleted", batch=batch.name, namespace=batch.namespace)
        return False

    def _may_report(self, batch: StoredBatch) -> bool:
        """Return whether the status may be written now: if it was not written a moment ago, or if the batch may have ended.

        Otherwise a later search writes it.
        """
        may_end = batch.is_closed and not batch.dispatched and (batch.stop_reason is not None or not batch.pending)
        return may_end or batch.reported_at is None or self._clock.now() >= batch.reported_at + _REPORT_INTERVAL

    async def _report(self, uid: uuid.UUID, namespace: str) -> None:
        """Write the status of a batch, unless it is unchanged."""
        now = self._clock.milliseconds()
        async with self._database.transaction() as connection:
            await resources.lock(connection, namespace)
            batch = await batches.lock(connection, uid)
            if batch is None or batch.is_deleted:
                return
            errors = await batches.first_errors(connection, uid, limit=MAX_ERRORS)
            outcome = NO_OUTCOME
            if batch.finished_at is not None:
                outcome = await notifications.find_outcome(connection, uid, batch.finished_at)
            status = status_of(batch, errors, now=now, rate=self._rates.measure(batch, now), outcome=outcome).to_json()
            with suppress(NotFound):
                current = await resources.get(connection, BATCH, batch.namespace, batch.name)
                if current.uid == uid and status.decode() != current.status:
                    await resources.write_status(connection, BATCH, batch.namespace, batch.name, status)
            await batches.record_report(connection, uid)


async def _find_object(connection: Connection, batch: StoredBatch) -> StoredObject | None:
    """Return the object of a batch, or None if it is deleted."""
    with suppress(NotFound):
        stored_object = await resources.get(connection, BATCH, batch.namespace, batch.name)
        if stored_object.uid == batch.uid:
            return stored_object
    return None


def _submittable_count(batch: StoredBatch, spec: BatchSpec) -> int:
    """Return how many items of a batch may be submitted now."""
    # The concurrency group of a batch limits its evaluations only.
    limit = spec.parallelism if batch.has_jobs and spec.parallelism is not None else MAX_DISPATCHED
    submittable_count = max(0, min(limit - batch.dispatched, batch.pending))
    # Without a limit of the batch, many items are submitted together, when enough jobs have ended.
    awaits_more = limit == MAX_DISPATCHED and submittable_count < min(batch.pending, _MAX_SUBMITTED)
    return 0 if awaits_more else submittable_count


def _stop_reason(batch: StoredBatch, spec: BatchSpec, now: datetime) -> str | None:
    """Return why a batch must stop, or None."""
    if spec.deadline is not None and parse_time(spec.deadline) <= now:
        return batches.DEADLINE
    return batches.FAILURE if batch.error and spec.on_failure == "stop" else None
