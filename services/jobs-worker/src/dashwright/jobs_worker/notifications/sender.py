"""Delivery of notifications about batches and repositories.

Each notification is delivered at least once, with the same id in each repetition: a process that dies between a delivery and its
record leaves the notification to another process.
"""

import asyncio
import random
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Final

import structlog

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError, Gone, SourceFailed, Unavailable
from dashwright.common.observability import metrics
from dashwright.common.stores.notifications import ReceiverType
from dashwright.jobs_worker.notifications.channels import Deliver
from dashwright.jobs_worker.stores import notifications
from dashwright.jobs_worker.stores.notifications import ClaimedNotification, ClaimLimits

log = structlog.get_logger()

#: Concurrent deliveries of a process. A slow receiver occupies a few of them, and leaves the others to other organizations and hosts.
LIMITS: Final = ClaimLimits(total=128, per_namespace=8, per_host=2)
_SEARCH_INTERVAL_SECONDS: Final = 1.0
#: Time limit of an attempt, with the resolution of the host.
_ATTEMPT_SECONDS: Final = 30.0
#: Time after which another process repeats an attempt that was not recorded.
_LEASE: Final = timedelta(seconds=60)
_FIRST_DELAY: Final = timedelta(seconds=5)
_MAX_DELAY: Final = timedelta(hours=1)
#: Bound on the doublings of the delay, after which it is far above the limit and a timedelta does not overflow.
_MAX_DOUBLINGS: Final = 20


class NotificationSender:
    """Sender of notifications. ``period`` is the time after an event for which failed attempts are repeated."""

    def __init__(self, database: Database, channels: Mapping[ReceiverType, Deliver], clock: Clock, *, period: timedelta) -> None:
        self._database = database
        self._channels = channels
        self._clock = clock
        self._period = period
        #: Set when a notification may be due, or a limit may permit another delivery.
        self._changed = asyncio.Event()
        self._deliveries: dict[asyncio.Task[None], ClaimedNotification] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start the delivery."""
        self._task = asyncio.create_task(self._run(), name="notifications")

    async def stop(self, *, drain: float) -> None:
        """Claim no more notifications, and wait at most ``drain`` seconds for running attempts."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        running = list(self._deliveries)
        if running:
            _, unfinished = await asyncio.wait(running, timeout=drain)
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)

    def wake(self) -> None:
        """Search for due notifications immediately."""
        self._changed.set()

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._claim()
            except Unavailable as error:
                log.info("notifications_delayed", error=error.message)
            except Exception:
                log.exception("notification_sender_failed")
            with suppress(TimeoutError):
                async with asyncio.timeout(_SEARCH_INTERVAL_SECONDS):
                    await self._changed.wait()

    async def _claim(self) -> None:
        """Start the delivery of due notifications, as many as the limits allow."""
        running = list(self._deliveries.values())
        async with self._database.connection() as connection:
            claimed_notifications = await notifications.claim(connection, LIMITS, running=running, lease=_LEASE)
        for notification in claimed_notifications:
            task = asyncio.create_task(self._deliver(notification), name=f"notification-{notification.id}")
            self._deliveries[task] = notification
            task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        del self._deliveries[task]
        self._changed.set()

    async def _deliver(self, notification: ClaimedNotification) -> None:
        """Make one attempt and record its outcome."""
        bound_log = log.bind(
            **{notification.subject_kind: notification.name},
            namespace=notification.namespace,
            receiver=notification.receiver,
            attempt=notification.attempts,
        )
        try:
            await self._attempt(notification)
        except DashwrightError as error:
            retry_after = self._retry_after(notification, error)
            outcome = "given_up" if retry_after is None else "failed"
            metrics.notifications.labels(receiver=notification.receiver, outcome=outcome).inc()
            bound_log.info("notification_not_delivered", error=error.message, is_last=retry_after is None)
            with suppress(Unavailable):
                async with self._database.transaction() as connection:
                    await notifications.record_failure(connection, notification, error=error.message, retry_after=retry_after)
            return
        except Exception:  # noqa: BLE001 - the lease expires, and the attempt is repeated
            bound_log.exception("notification_not_delivered")
            return
        metrics.notifications.labels(receiver=notification.receiver, outcome="delivered").inc()
        bound_log.info("notification_delivered")
        # Without a record, the lease expires and the notification is delivered again with the same id.
        with suppress(Unavailable):
            async with self._database.transaction() as connection:
                await notifications.record_delivery(connection, notification)

    async def _attempt(self, notification: ClaimedNotification) -> None:
        """Send a notification. Raises a DashwrightError if the receiver did not accept it, Gone if it never will."""
        try:
            async with asyncio.timeout(_ATTEMPT_SECONDS):
                await self._channels[notification.receiver](notification)
        except TimeoutError as error:
            raise SourceFailed(f"the {notification.receiver} did not accept the notification within {_ATTEMPT_SECONDS:g} s") from error

    def _retry_after(self, notification: ClaimedNotification, error: DashwrightError) -> timedelta | None:
        """Return the time until the next attempt, which doubles with each attempt; None after the last attempt."""
        if isinstance(error, Gone):
            return None
        delay = min(_MAX_DELAY, _FIRST_DELAY * 2 ** min(notification.attempts - 1, _MAX_DOUBLINGS))
        # Receivers that failed at the same time are not all called again at the same time.
        delay *= random.uniform(0.75, 1.25)
        delay = max(delay, min(_MAX_DELAY, timedelta(seconds=error.retry_after or 0)))
        return delay if self._clock.now() + delay < notification.created_at + self._period else None
