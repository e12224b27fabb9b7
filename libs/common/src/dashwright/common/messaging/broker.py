"""Protocols of a broker, which RabbitMQ and the in-memory broker implement."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.topology import Topology

Handler = Callable[[Delivery], Awaitable[DeliveryResult]]

#: Bytes of the largest message. The default limit of RabbitMQ 4; older versions allow 128 MiB.
MAX_MESSAGE = 16 * 2**20


class Subscription(Protocol):
    """Running consumer of one queue."""

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""


class Inbox(Protocol):
    """Address of this process, to which other processes can reply. It exists as long as its connection."""

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Send to a queue (``mandatory``) or to another inbox, with this inbox as the reply address, in the order of calls.

        Waits up to ``timeout`` seconds for a lost connection to return. Raises Unavailable, TooLarge, and Unroutable
        when ``mandatory``.
        """

    async def close(self) -> None:
        """Close the address."""


class Broker(Protocol):
    """Publisher and consumer by one topology. All errors are those of the tree, and every wait is bounded."""

    @property
    def topology(self) -> Topology:
        """Exchanges, queues and bindings that the broker declares."""

    @property
    def max_message(self) -> int:
        """Bytes of the largest body that is published."""

    async def start(self) -> None:
        """Connect and declare the topology. Raises Unavailable, naming the address, if that fails within the time-out."""

    async def close(self) -> None:
        """End every subscription without waiting for handlers, and the connection. May be called twice."""

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Publish a message and return once the broker has accepted it.

        Raises Unavailable (unreachable, full or slow), Unroutable or TooLarge.
        """

    async def reply(self, reply_to: str, message: Message, *, timeout: float = 5.0) -> None:
        """Send a message to the ``reply_to`` of another; return even if that address no longer exists: a broker cannot know."""

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Run ``handler`` for each delivery, at most ``prefetch`` concurrently.

        An exception of the handler is a Retry, and after the last retry delay a DeadLetter.
        """

    async def inbox(self, receive: Callable[[Message], None], lost: Callable[[], None], *, confirmed: bool) -> Inbox:
        """Open an address. ``lost`` is called when messages may have been missed; mandatory sending needs ``confirmed``."""

    async def check(self) -> None:
        """Raise Unavailable unless the broker responds and every subscription is consuming."""
