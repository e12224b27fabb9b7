"""Relay of the outbox: publishes wake-ups right after the commit that recorded them, and overdue ones later.

It is above stores and messaging because it connects them.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import structlog

from dashwright.common.database.pool import Database
from dashwright.common.errors import Unavailable
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.signing import SIGNATURE, Purpose, Signer
from dashwright.common.observability import metrics
from dashwright.common.stores import outbox
from dashwright.common.stores.outbox import Wakeup

log = structlog.get_logger()


class Relay:
    """Publisher of recorded wake-ups.

    ``publish_soon`` neither waits nor fails: a row remains in the outbox until the broker has confirmed its message.
    ``overdue_after`` is the time that the process which recorded a wake-up has for publishing it; ``every`` the seconds
    between two looks for overdue ones; ``linger`` the seconds over which confirmed rows are collected to be deleted
    together.
    """

    def __init__(
        self,
        database: Database,
        broker: Broker,
        signer: Signer,
        *,
        overdue_after: timedelta = timedelta(seconds=2),
        every: float = 1.0,
        batch: int = 200,
        linger: float = 0.02,
    ) -> None:
        self._database = database
        self._broker = broker
        self._signer = signer
        self._overdue_after = overdue_after
        self._every = every
        self._batch = batch
        self._linger = linger
        self._confirmed: list[int] = []
        self._publishing: set[asyncio.Task[None]] = set()
        self._forgetting: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start looking for overdue wake-ups."""
        self._running = asyncio.create_task(self._run(), name="relay")

    async def stop(self) -> None:
        """Wait for messages that are being published. Those that fail remain in the outbox."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        await asyncio.gather(*self._publishing, return_exceptions=True)
        if self._forgetting is not None:
            await asyncio.gather(self._forgetting, return_exceptions=True)

    def publish_soon(self, wakeups: Sequence[Wakeup]) -> None:
        """Publish recorded wake-ups in the background. Call after the commit."""
        for wakeup in wakeups:
            task = asyncio.create_task(self._publish_one(wakeup), name="publish-wakeup")
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)

    async def _publish_one(self, wakeup: Wakeup) -> None:
        try:
            await self._publish(wakeup)
        except Unavailable as error:
            log.info("wakeup_left_in_outbox", routing_key=wakeup.routing_key, error=error.message)
            return
        metrics.outbox_published.labels(by="writer").inc()
        self._confirmed.append(wakeup.id)
        if self._forgetting is None or self._forgetting.done():
            self._forgetting = asyncio.create_task(self._forget_confirmed(), name="forget-published")

    async def _publish(self, wakeup: Wakeup) -> None:
        body = wakeup.body.encode()
        signature = self._signer.sign(Purpose.WAKE_UP, [wakeup.routing_key], body)
        message = Message(body=body, headers={**wakeup.headers, SIGNATURE: signature}, message_id=str(wakeup.id))
        await self._broker.publish(wakeup.exchange, wakeup.routing_key, message)

    async def _forget_confirmed(self) -> None:
        """Delete confirmed rows together: one statement for many jobs."""
        while self._confirmed:
            await asyncio.sleep(self._linger)
            ids, self._confirmed = self._confirmed, []
            try:
                async with self._database.connection() as connection:
                    await outbox.published(connection, ids)
            except Unavailable as error:
                # The rows remain and are published again, which does no harm: consumers ignore a repeated wake-up.
                log.info("outbox_not_cleared", rows=len(ids), error=error.message)
                return

    async def _run(self) -> None:
        waits = False
        while True:
            try:
                while await self.publish_overdue() == self._batch:
                    pass
                waits = False
            except Unavailable as error:
                if not waits:
                    log.info("relay_waits", error=error.message)
                waits = True
            except Exception:
                log.exception("relay_failed")
            await asyncio.sleep(self._every)

    async def publish_overdue(self) -> int:
        """Publish overdue wake-ups and return their number."""
        done: list[int] = []
        failure: Unavailable | None = None
        async with self._database.transaction() as connection:
            for wakeup in await outbox.overdue(connection, older_than=self._overdue_after, limit=self._batch):
                try:
                    await self._publish(wakeup)
                except Unavailable as error:
                    failure = error
                    break
                done.append(wakeup.id)
            if done:
                await outbox.published(connection, done)
        if done:
            metrics.outbox_published.labels(by="relay").inc(len(done))
            log.info("outbox_relayed", messages=len(done))
        if failure is not None:
            raise failure
        return len(done)


def is_genuine(signer: Signer, wakeup: Delivery) -> bool:
    """Return whether a relay published this wake-up. Retries and death add headers, which the signature does not cover."""
    message = wakeup.message
    return signer.is_genuine(message.headers.get(SIGNATURE), Purpose.WAKE_UP, [wakeup.routing_key], message.body)
