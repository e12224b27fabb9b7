"""What the product asks of a broker, whichever it is."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import Delivery, Message
from dashwright.common.messaging.topology import Topology

Handler = Callable[[Delivery], Awaitable[DeliveryResult]]

MAX_MESSAGE = 16 * 2**20
"""Bytes of one message; RabbitMQ 4 has this limit unless it is told otherwise, older ones have 128 MiB."""


class Subscription(Protocol):
    """A running consumer of one queue."""

    async def cancel(self, *, drain: float) -> None:
        """Takes nothing more and waits up to ``drain`` seconds for running handlers; what is unfinished then goes back to the queue."""


class Inbox(Protocol):
    """An address of this process alone, to which receivers of its messages can answer. It lives as long as its connection."""

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Sends to a queue (``mandatory``) or to another inbox, with this inbox as the address for answers; in the order of the calls.

        Waits within ``timeout`` seconds for a lost connection to return. Raises Unavailable, TooLarge, and Unroutable when ``mandatory``.
        """

    async def close(self) -> None: ...


class Broker(Protocol):
    """Publishes and consumes by one topology. All errors are those of the tree; nothing waits for ever."""

    @property
    def topology(self) -> Topology: ...

    @property
    def max_message(self) -> int:
        """Bytes of the largest body that is published."""

    async def start(self) -> None:
        """Connects and declares the topology. Raises Unavailable, naming the address, when that fails within the time-out."""

    async def close(self) -> None:
        """Ends every subscription without waiting for handlers, and the connection. May be called twice."""

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Returns when the broker has taken the message over. Raises Unavailable (away, full, too slow), Unroutable or TooLarge."""

    async def reply(self, reply_to: str, message: Message, *, timeout: float = 5.0) -> None:
        """Sends to the ``reply_to`` of a message. Returns also when nobody is there any more: a broker does not know."""

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Runs the handler for each delivery, at most ``prefetch`` at once. A handler's exception is a Retry, at the ladder's end Dead."""

    async def inbox(self, receive: Callable[[Message], None], lost: Callable[[], None], *, confirmed: bool) -> Inbox:
        """Opens an address of its own. ``lost`` is called when messages may have been missed; mandatory sending needs ``confirmed``."""

    async def check(self) -> None:
        """Raises Unavailable unless the broker answers and every subscription is really consuming."""
