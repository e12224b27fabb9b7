"""The consumer of the queue of dead letters, which stores them in the database.

A letter is acknowledged after the commit. A letter that is delivered again is stored once.
"""

import asyncio
from typing import Final

import structlog

from dashwright.api.dead_letters.reading import read_letter
from dashwright.api.stores import dead_letters
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.broker import Broker, Subscription
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery

log = structlog.get_logger()

_PREFETCH: Final = 8
"""Largest number of letters that are stored concurrently."""
_RETRY_SECONDS: Final = 5.0
"""Seconds between two attempts to store a letter."""
_DRAIN_SECONDS: Final = 2.0
"""Limit on waiting for letters that are being stored when the consumer stops, which usually takes milliseconds.

A letter that still waits for the database then returns to the queue.
"""


class DeadLetterConsumer:
    """The consumer of the queue of dead letters."""

    def __init__(self, broker: Broker, database: Database, clock: Clock, *, retry_seconds: float = _RETRY_SECONDS) -> None:
        self._broker = broker
        self._database = database
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._subscription: Subscription | None = None

    async def start(self) -> None:
        """Start consuming."""
        self._subscription = await self._broker.consume(self._broker.topology.dead, self.handle, prefetch=_PREFETCH)

    async def stop(self) -> None:
        """Stop consuming. Letters that are not stored return to the queue."""
        if self._subscription is not None:
            await self._subscription.cancel(drain=_DRAIN_SECONDS)

    async def handle(self, delivery: Delivery) -> DeliveryResult:
        """Store a letter, and repeat this until it succeeds.

        A result other than Ack would discard the letter, since a dead letter is not dead-lettered again. A return to the queue would
        count towards RabbitMQ's limit of deliveries.
        """
        letter = read_letter(delivery, self._broker.topology, self._clock.now())
        while True:
            try:
                async with self._database.transaction() as connection:
                    is_new = await dead_letters.insert(connection, letter)
            except Exception as error:  # noqa: BLE001 - an acknowledged letter would be lost after any error
                log.warning("dead_letter_delayed", seconds=self._retry_seconds, error=f"{type(error).__name__}: {error}")
                await asyncio.sleep(self._retry_seconds)
                continue
            log.info("dead_letter_stored", letter=letter.name, routing_key=letter.routing_key, reason=letter.reason, is_new=is_new)
            return Ack()
