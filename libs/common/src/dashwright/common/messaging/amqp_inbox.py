"""Inbox that uses RabbitMQ's direct reply-to, a pseudo-queue that exists as long as its channel."""

import asyncio
from collections.abc import Callable

from aio_pika.abc import AbstractRobustChannel
from aiormq.abc import DeliveredMessage

from dashwright.common.messaging.amqp_wire import from_amqp, publish, translate_errors
from dashwright.common.messaging.message import Message, check_size, with_id_and_trace

_PSEUDO_QUEUE = "amq.rabbitmq.reply-to"


class AmqpInbox:
    """Inbox with a channel of its own, on which nothing else can cause a channel error.

    aio-pika does not restore a consumer of a pseudo-queue after a reconnection, so the inbox does that itself.
    """

    def __init__(
        self, channel: AbstractRobustChannel, receive: Callable[[Message], None], on_lost: Callable[[], None], max_message: int
    ) -> None:
        self._channel = channel
        self._receive = receive
        self._on_lost = on_lost
        self._max_message = max_message
        #: Set while the pseudo-queue is consumed.
        self._consuming = asyncio.Event()

    async def open(self) -> None:
        """Begin to receive messages, also after each reconnection."""
        self._channel.reopen_callbacks.add(self._consume)
        self._channel.close_callbacks.add(self._on_closed)
        await self._consume()

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Send a message with this inbox as its reply address."""
        check_size(message, self._max_message)
        # The broker may return a mandatory message, which is then identified by its id. Other messages need no id.
        outgoing = with_id_and_trace(message) if mandatory else message
        with translate_errors(f"Sending to {routing_key}"):
            async with asyncio.timeout(timeout):
                # After a reconnection, RabbitMQ rejects the reply address until the pseudo-queue is consumed again.
                await self._consuming.wait()
                await publish(self._channel, routing_key, outgoing, mandatory=mandatory, reply_to=_PSEUDO_QUEUE)

    async def close(self) -> None:
        """Close the channel and thereby the inbox."""
        # First, so that ``on_lost`` is not called for the intended end.
        self._consuming.clear()
        with translate_errors("Closing an inbox"):
            await self._channel.close()

    async def _consume(self, *_: object) -> None:
        channel = await self._channel.get_underlay_channel()
        await channel.basic_consume(_PSEUDO_QUEUE, self._deliver, no_ack=True)
        self._consuming.set()

    async def _deliver(self, incoming: DeliveredMessage) -> None:
        self._receive(from_amqp(incoming.body, incoming.header.properties))

    def _on_closed(self, *_: object) -> None:
        """Report the loss of the channel. aio-pika calls this twice, and the second call is ignored."""
        if self._consuming.is_set():
            self._consuming.clear()
            self._on_lost()
