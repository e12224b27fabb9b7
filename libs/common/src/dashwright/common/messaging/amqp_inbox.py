"""Inbox over RabbitMQ's direct reply-to.

That is a pseudo-queue which exists as long as its channel, and has to be consumed again on a new one.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aio_pika import IncomingMessage
from aio_pika.abc import AbstractRobustChannel

from dashwright.common.messaging.amqp_wire import from_amqp, to_amqp, translate_errors
from dashwright.common.messaging.message import Message, check_size, with_id_and_trace

_PSEUDO_QUEUE = "amq.rabbitmq.reply-to"


class AmqpInbox:
    """Inbox on a channel of its own, where nothing else can cause a channel error.

    The library does not restore this kind of consumer, so the inbox does that itself.
    """

    def __init__(
        self, channel: AbstractRobustChannel, receive: Callable[[Message], None], lost: Callable[[], None], max_message: int
    ) -> None:
        self._channel = channel
        self._receive = receive
        self._lost = lost
        self._max_message = max_message
        self._ready = asyncio.Event()

    async def open(self) -> None:
        """Begin to receive, and again after each reconnection."""
        self._channel.reopen_callbacks.add(self._listen)
        self._channel.close_callbacks.add(self._closed)
        await self._listen()

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Send a message with this inbox as its reply address."""
        check_size(message, self._max_message)
        outgoing = to_amqp(replace(with_id_and_trace(message) if mandatory else message, reply_to=_PSEUDO_QUEUE))
        with translate_errors(f"Sending to {routing_key}"):
            async with asyncio.timeout(timeout):
                # After a loss, RabbitMQ rejects a reply-to address until the pseudo-queue is consumed again.
                await self._ready.wait()
                await self._channel.default_exchange.publish(outgoing, routing_key, mandatory=mandatory)

    async def close(self) -> None:
        """Close the channel, and with it the address."""
        self._ready.clear()
        with translate_errors("Closing an inbox"):
            await self._channel.close()

    async def _listen(self, *_: object) -> None:
        channel = await self._channel.get_underlay_channel()
        await channel.basic_consume(_PSEUDO_QUEUE, self._deliver, no_ack=True)
        self._ready.set()

    async def _deliver(self, delivered: Any) -> None:
        self._receive(from_amqp(IncomingMessage(delivered, no_ack=True)))

    def _closed(self, *_: object) -> None:
        """Report the loss. The library calls this twice for one loss; the second call finds the inbox not ready."""
        if self._ready.is_set():
            self._ready.clear()
            self._lost()
