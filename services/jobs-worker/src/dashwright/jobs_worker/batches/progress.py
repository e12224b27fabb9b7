"""Status of batches: counts, the rate of the last seconds, and the first errors."""

import uuid
from collections import deque
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dashwright.common.models.batch import BatchState, BatchStatus
from dashwright.common.models.provisioning import JobStatus
from dashwright.common.stores import batches
from dashwright.common.stores.batches import StoredBatch
from dashwright.jobs_worker.stores.notifications import NO_OUTCOME, NotificationOutcome

#: Time over which the rate is measured, in milliseconds.
_RATE_MILLISECONDS: Final = 10_000
#: Maximum number of batches whose rates are kept in memory.
_MAX_BATCHES: Final = 1000
#: Maximum number of errors in the status of a batch.
MAX_ERRORS: Final = 10

_MESSAGES: Final = {
    batches.CANCELLED: "the batch was cancelled",
    batches.DEADLINE: "the deadline has passed",
    batches.FAILURE: "an item failed, and onFailure is stop",
}


class RateMeter:
    """Meter of the rate of each batch: the items that end per second, averaged over ten seconds."""

    def __init__(self) -> None:
        #: Time in Unix milliseconds and number of ended items, at each measurement of a batch.
        self._samples: dict[uuid.UUID, deque[tuple[int, int]]] = {}

    def measure(self, batch: StoredBatch, now: int) -> float:
        """Return the rate of a batch, or 0 if it is not known yet. ``now`` is in Unix milliseconds."""
        samples = self._samples.setdefault(batch.uid, deque())
        samples.append((now, batch.ended))
        # Two samples are kept even if they are older, because a rate needs two.
        while samples[0][0] < now - _RATE_MILLISECONDS and len(samples) > 2:
            samples.popleft()
        while len(self._samples) > _MAX_BATCHES:
            del self._samples[next(iter(self._samples))]
        first_time, first_count = samples[0]
        return max(0.0, (batch.ended - first_count) * 1000 / (now - first_time)) if now > first_time else 0.0

    def forget(self, uid: uuid.UUID) -> None:
        """Discard the stored rates of a batch."""
        self._samples.pop(uid, None)


def status_of(
    batch: StoredBatch,
    errors: Sequence[tuple[int, str, str]],
    *,
    now: int,
    rate: float = 0.0,
    outcome: NotificationOutcome = NO_OUTCOME,
) -> BatchStatus:
    """Return the status of a batch.

    ``errors`` has the index, the id and the JobStatus (as JSON) of failed items. ``now`` is in Unix milliseconds, ``rate`` in items per
    second.
    """
    remaining = batch.total - batch.ended
    # Items may still be added to a batch that is not closed, so its end is unknown.
    is_estimated = batch.finished_at is None and batch.is_closed and rate > 0
    return BatchStatus(
        state=_state_of(batch),
        counts=batch.counts,
        progress=batch.progress,
        rate=0.0 if batch.finished_at else round(rate, 1),
        estimated_end=now + round(1000 * remaining / rate) if is_estimated else None,
        errors=[_error_text(*error) for error in errors],
        message=_MESSAGES[batch.stop_reason] if batch.stop_reason else None,
        started=_milliseconds(batch.started_at),
        finished=_milliseconds(batch.finished_at),
        notified=_milliseconds(outcome.delivered_at),
        notify_error=outcome.error,
    )


def _state_of(batch: StoredBatch) -> BatchState:
    if batch.finished_at is None:
        return BatchState.RUNNING if batch.is_closed else BatchState.OPEN
    if batch.stop_reason == batches.CANCELLED:
        return BatchState.CANCELLED
    # ``error`` is the number of failed items.
    has_failed_items = batch.error > 0
    return BatchState.ERROR if has_failed_items or batch.stop_reason else BatchState.SUCCESS


def _error_text(index: int, item_id: str, status: str) -> str:
    """Return the error of an item with its index and id."""
    return f"item {index} ({item_id}): {JobStatus.model_validate_json(status).error}"


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else round(time.timestamp() * 1000)
