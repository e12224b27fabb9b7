"""Protocols of a broker, with one implementation for RabbitMQ and one in memory."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.topology import Topology

#: Callback that processes a delivery. Its result determines how the delivery is acknowledged.
Handler = Callable[[Delivery], Awaitable[DeliveryResult]]

#: Maximum size of a message in bytes. This is the default limit of RabbitMQ 4; older versions allow 128 MiB.
MAX_MESSAGE = 16 * 2**20


class Subscription(Protocol):
    """Running consumer of one queue."""

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""


class Inbox(Protocol):
    """Address of this process to which other processes can reply. It is valid until its connection ends."""

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Send a message with this inbox as its reply address. Messages arrive in the order in which they are sent.

        ``routing_key`` is the name of a queue if ``mandatory``, else the address of another inbox.

        Waits at most ``timeout`` seconds for the broker, also while a lost connection is restored.
        Raises Unavailable if the broker is unreachable, slow or full, TooLarge for a body over the limit of the broker, and Unroutable if
        the queue of a ``mandatory`` message does not exist.
        """

    async def close(self) -> None:
        """Close the inbox."""


class Broker(Protocol):
    """Publisher and consumer of the messages of a topology. All errors are DashwrightErrors, and every wait has a timeout."""

    @property
    def topology(self) -> Topology:
        """Exchanges, queues and bindings that the broker declares."""

    @property
    def max_message(self) -> int:
        """Maximum size of a message body in bytes."""

    async def start(self) -> None:
        """Connect and declare the topology. Raises Unavailable, with the address, if that does not succeed in time."""

    async def close(self) -> None:
        """Cancel all subscriptions without waiting for their handlers, and close the connection. May be called twice."""

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Publish a message and return once the broker has accepted it.

        Raises Unavailable if the broker is unreachable, slow or full, Unroutable if no queue is bound to the exchange with the routing
        key, and TooLarge for a body over ``max_message``.
        """

    async def reply(self, reply_to: str, message: Message, *, confirmed: bool = False, timeout: float = 5.0) -> None:
        """Send a message to the ``reply_to`` address of another message. An address that no longer exists is ignored.

        If ``confirmed``, this returns once the broker has accepted the message, and raises Unavailable if the queue is full.
        """

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Run ``handler`` for each delivery of a queue, at most ``prefetch`` concurrently.

        An exception of the handler counts as a Retry, and after the last retry delay as a DeadLetter.
        """

    async def inbox(self, receive: Callable[[Message], None], on_lost: Callable[[], None], *, confirmed: bool) -> Inbox:
        """Open an inbox. ``on_lost`` is called when messages to it may have been lost.

        Only a ``confirmed`` inbox can send ``mandatory`` messages.
        """

    async def check(self) -> None:
        """Raise Unavailable unless the broker responds and every subscription is consuming."""
