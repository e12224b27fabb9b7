"""Consumer of one RabbitMQ queue on a channel of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import structlog
from aio_pika.abc import AbstractIncomingMessage, AbstractRobustChannel, AbstractRobustQueue

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.amqp_wire import origin_headers, to_delivery, translate_errors
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.consumer import FULL_QUEUE_PAUSE_SECONDS, Consumer
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult, FollowUp, follow_up
from dashwright.common.messaging.message import Delivery

_log = structlog.get_logger()

#: Time in which the broker must confirm.
_CONFIRM_TIMEOUT_SECONDS = 5.0


class AmqpSubscription:
    """Subscription that aio-pika restores after a reconnection.

    RabbitMQ then redelivers unacknowledged messages, whose first handlers may still be running.
    """

    def __init__(
        self,
        broker: Broker,
        channel: AbstractRobustChannel,
        queue: AbstractRobustQueue,
        consumer: Consumer,
        on_cancelled: Callable[["AmqpSubscription"], None],
    ) -> None:
        self._broker = broker
        self._on_cancelled = on_cancelled
        self._channel = channel
        self._queue = queue
        self._consumer = consumer
        #: Consumer tag, or "" if nothing is consumed.
        self._tag = ""

    async def begin(self) -> None:
        """Start consuming."""
        self._tag = await self._queue.consume(self._on_message)

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""
        if not self._tag:
            return
        tag, self._tag = self._tag, ""
        self._on_cancelled(self)
        try:
            with translate_errors("Cancelling a consumer"):
                # aio-pika removes the consumer immediately, but then waits for a connection. With a closed channel that wait is useless.
                async with asyncio.timeout(0 if self._channel.is_closed else _CONFIRM_TIMEOUT_SECONDS):
                    await self._queue.cancel(tag)
        except Unavailable as error:
            _log.info("subscription_already_lost", queue=self._queue.name, error=error.message)
        await self._consumer.drain(drain)
        try:
            with translate_errors("Closing a channel"):
                # Closing the channel returns unacknowledged messages to the queue.
                async with asyncio.timeout(_CONFIRM_TIMEOUT_SECONDS):
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

    async def _on_message(self, incoming: AbstractIncomingMessage) -> None:
        """Start the handler of a message."""
        delivery = to_delivery(incoming)
        # A message that the broker itself dead-lettered lacks the headers that ``follow_up`` adds to dead letters.
        if self._queue.name in (self._broker.topology.dead, self._broker.topology.dead_work):
            delivery = delivery.with_headers(origin_headers(incoming))

        async def settle(result: DeliveryResult) -> None:
            await self._settle(incoming, delivery, result)

        self._consumer.start(delivery, settle)

    async def _settle(self, incoming: AbstractIncomingMessage, delivery: Delivery, result: DeliveryResult) -> None:
        """Publish the message that the result requires, and acknowledge the delivery. Reject the delivery if that fails."""
        acknowledge: Callable[[], Awaitable[None]] = incoming.ack
        broker = self._broker
        try:
            # Publish before the acknowledgement: a crash in between then repeats the message instead of losing it.
            if not isinstance(result, Ack):
                next_message = follow_up(delivery, self._queue.name, result, broker.topology, max_body_bytes=broker.max_message)
                if next_message is not None:
                    await self._publish(incoming, next_message)
        except Unavailable as error:
            _log.warning("message_not_moved", error=error.message)
            acknowledge = partial(incoming.reject, requeue=True)
        except Exception:  # noqa: BLE001 - the outermost loop of a message
            # An unacknowledged message would occupy a slot of the consumer permanently.
            _log.exception("message_rejected")
            acknowledge = partial(incoming.reject, requeue=False)
        await self._acknowledge(acknowledge)

    async def _publish(self, incoming: AbstractIncomingMessage, message: FollowUp) -> None:
        """Publish the message that follows a delivery. Retry while the target queue is full or the broker is unreachable.

        The delivery is kept during that time, so that the broker delivers fewer messages: a return to its queue would count as an
        attempt. Raises Unavailable if the channel of the delivery is lost, since the broker then delivers it again. Raises Unroutable if
        the exchange has no queue for the message.
        """
        while True:
            try:
                return await self._broker.publish(message.exchange, message.routing_key, message.message)
            except Unroutable:
                # A subclass of Unavailable, but waiting does not help.
                raise
            except Unavailable as error:
                _log.info("message_move_delayed", queue=self._queue.name, error=error.message)
            await asyncio.sleep(FULL_QUEUE_PAUSE_SECONDS)
            with translate_errors("Moving a message"):
                # The property raises an error if the channel of the delivery is closed.
                assert incoming.channel is not None

    async def _acknowledge(self, acknowledge: Callable[[], Awaitable[None]]) -> None:
        """Acknowledge or reject a delivery. A lost channel is only logged."""
        try:
            with translate_errors("Acknowledging"):
                await acknowledge()
        except Unavailable as error:
            # The message will be redelivered, but the row of its job then shows that the work is done.
            _log.warning("acknowledgement_lost", error=error.message)
