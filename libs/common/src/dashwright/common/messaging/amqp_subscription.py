"""Consumer of one RabbitMQ queue on a channel of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractRobustChannel, AbstractRobustQueue

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp_wire import origin, to_delivery, translate_errors
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.consumer import Consumer
from dashwright.common.messaging.delivery_result import DeliveryResult, follow_up
from dashwright.common.messaging.message import Delivery

_log = structlog.get_logger()

_PATIENCE = 5.0  # seconds for the broker to confirm


class AmqpSubscription:
    """Subscription that the library restores after a reconnection.

    Unacknowledged messages are then delivered again, while their first handlers may still be running.
    """

    def __init__(
        self,
        broker: Broker,
        channel: AbstractRobustChannel,
        queue: AbstractRobustQueue,
        consumer: Consumer,
        ended: Callable[["AmqpSubscription"], None],
    ) -> None:
        self._broker = broker
        self._ended = ended
        self._channel = channel
        self._queue = queue
        self._consumer = consumer
        self._tag = ""

    async def begin(self) -> None:
        """Start consuming."""
        self._tag = await self._queue.consume(self._take)

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""
        if not self._tag:
            return
        tag, self._tag = self._tag, ""
        self._ended(self)
        try:
            with translate_errors("Cancelling a consumer"):
                # The library forgets the consumer immediately, then waits for a connection while the broker is unreachable.
                async with asyncio.timeout(0 if self._channel.is_closed else _PATIENCE):
                    await self._queue.cancel(tag)
        except Unavailable as error:
            _log.info("subscription_already_lost", queue=self._queue.name, error=error.message)
        await self._consumer.drain(drain)
        try:
            with translate_errors("Closing a channel"):
                # Closing the channel returns unacknowledged messages to the queue.
                async with asyncio.timeout(_PATIENCE):
                    await self._channel.close()
        except Unavailable as error:
            _log.info("channel_already_lost", queue=self._queue.name, error=error.message)

    async def check(self) -> None:
        """Raise Unavailable if the consumer was cancelled or the channel is closed.

        A broker cancels a consumer when its queue is deleted.
        """
        if not self._channel.is_closed:
            channel: Any = await self._channel.get_underlay_channel()
            if self._tag in channel.consumers:
                return
        raise Unavailable(f"The queue {self._queue.name} is not being consumed; it may have been deleted, or the broker is unreachable")

    async def _take(self, incoming: AbstractIncomingMessage) -> None:
        delivery = to_delivery(incoming)
        if self._queue.name in (self._broker.topology.dead, self._broker.topology.dead_work):
            delivery = delivery.with_headers(origin(incoming))

        async def settle(result: DeliveryResult) -> None:
            await self._settle(incoming, delivery, result)

        self._consumer.take(delivery, settle)

    async def _settle(self, incoming: AbstractIncomingMessage, delivery: Delivery, result: DeliveryResult) -> None:
        acknowledge: Callable[[], Awaitable[None]] = incoming.ack
        broker = self._broker
        try:
            follows = follow_up(delivery, self._queue.name, result, broker.topology, largest=broker.max_message)
            # Publish first, acknowledge second: a crash in between repeats the message instead of losing it.
            if follows is not None:
                await broker.publish(follows.exchange, follows.routing_key, follows.message)
        except Unavailable as error:
            _log.warning("message_not_moved", error=error.message)
            acknowledge = partial(incoming.reject, requeue=True)
        except Exception:  # noqa: BLE001 - the outermost loop of a message
            # Left unacknowledged, the message would occupy a slot of the consumer permanently.
            _log.exception("message_rejected")
            acknowledge = partial(incoming.reject, requeue=False)
        await self._acknowledge(acknowledge)

    async def _acknowledge(self, acknowledge: Callable[[], Awaitable[None]]) -> None:
        try:
            with translate_errors("Acknowledging"):
                await acknowledge()
        except Unavailable as error:
            # The message is delivered again; the row shows by then that its work is done.
            _log.warning("acknowledgement_lost", error=error.message)
