"""Queue of the in-memory broker: order, prefetch, expiration, redelivery and dead letters as in RabbitMQ."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.consumer import Consumer
from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import ATTEMPT, Delivery, Message, count
from dashwright.common.messaging.topology import Queue

_log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class QueuedMessage:
    """Message in a queue, or held by one of its consumers."""

    message: Message
    exchange: str
    routing_key: str
    expires_at: float | None = None  #: Event loop time.
    redeliveries: int = 0

    @property
    def delivery(self) -> Delivery:
        """Delivery that a consumer gets."""
        return Delivery(
            message=self.message,
            exchange=self.exchange,
            routing_key=self.routing_key,
            redelivered=self.redeliveries > 0,
            attempt=count(self.message.headers, ATTEMPT) + self.redeliveries + 1,
        )


class MemorySubscription:
    """Consumer of a queue with the messages it holds, oldest first."""

    def __init__(
        self, queue: "MemoryQueue", consumer: Consumer, prefetch: int, settle: Callable[[Delivery, str, DeliveryResult], None]
    ) -> None:
        self._queue = queue
        self._consumer = consumer
        self._prefetch = prefetch
        self._settle = settle
        self._held: dict[QueuedMessage, None] = {}

    @property
    def has_room(self) -> bool:
        """True if another message may be delivered."""
        return len(self._held) < self._prefetch

    def deliver(self, entry: QueuedMessage) -> None:
        """Start the handler of a message."""
        self._held[entry] = None
        delivery = entry.delivery

        async def settle(result: DeliveryResult) -> None:
            try:
                self._settle(delivery, self._queue.spec.name, result)
            except Unavailable:
                self._held.pop(entry)
                self._queue.put_back([entry])
                return
            except Exception:  # noqa: BLE001 - the outermost loop of a message
                _log.exception("message_rejected")
                self._held.pop(entry)
                self._queue.reject(entry)
                return
            self._held.pop(entry)
            self._queue.dispatch()

        self._consumer.take(delivery, settle)

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""
        self._queue.leave(self)
        await self._consumer.drain(drain)
        held = [*self._held]
        self._held.clear()
        self._queue.put_back(held)


class MemoryQueue:
    """Queue of messages. ``bury`` is called with each message that dies here, and RabbitMQ's word for the reason."""

    def __init__(self, spec: Queue, bury: Callable[[Queue, QueuedMessage, str], None]) -> None:
        self.spec = spec
        self._bury = bury
        self._ready: deque[QueuedMessage] = deque()
        self._subscriptions: deque[MemorySubscription] = deque()
        self._expiry: asyncio.TimerHandle | None = None

    def check_room(self) -> None:
        """Raise Unavailable if the queue refuses another message."""
        if self.spec.overflow == "reject-publish" and len(self._ready) >= self.spec.max_length:
            raise Unavailable(
                f"The queue {self.spec.name} is full ({self.spec.max_length:,} messages); try again when workers have caught up"
            )

    def put(self, message: Message, exchange: str, routing_key: str) -> None:
        """Append a message and deliver it if a consumer has room."""
        limits = [seconds for seconds in (message.expiration, self.spec.ttl) if seconds is not None]
        expires_at = _now() + min(limits) if limits else None
        if self.spec.overflow == "drop-head" and len(self._ready) >= self.spec.max_length:
            self._ready.popleft()
        self._ready.append(QueuedMessage(message, exchange, routing_key, expires_at))
        self.dispatch()

    def put_back(self, entries: list[QueuedMessage]) -> None:
        """Return unacknowledged messages to the head of the queue; bury those that were delivered too often."""
        for entry in reversed(entries):
            again = replace(entry, redeliveries=entry.redeliveries + 1)
            if self.spec.delivery_limit is not None and again.redeliveries > self.spec.delivery_limit:
                self._bury(self.spec, again, "delivery_limit")
            else:
                self._ready.appendleft(again)
        self.dispatch()

    def reject(self, entry: QueuedMessage) -> None:
        """Bury a message that no consumer will accept."""
        self._bury(self.spec, entry, "rejected")
        self.dispatch()

    def join(self, subscription: MemorySubscription) -> None:
        """Add a consumer."""
        self._subscriptions.append(subscription)
        self.dispatch()

    def leave(self, subscription: MemorySubscription) -> None:
        """Remove a consumer."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def dispatch(self) -> None:
        """Deliver messages to consumers with room, in turn. Messages expire at the head only, as in RabbitMQ."""
        while self._ready:
            head = self._ready[0]
            if head.expires_at is not None and head.expires_at <= _now():
                self._bury(self.spec, self._ready.popleft(), "expired")
                continue
            subscription = next((one for one in self._subscriptions if one.has_room), None)
            if subscription is None:
                break
            self._subscriptions.remove(subscription)
            self._subscriptions.append(subscription)
            subscription.deliver(self._ready.popleft())
        self._watch_head()

    async def close(self) -> None:
        """Cancel the consumers and drop all messages."""
        for subscription in [*self._subscriptions]:
            await subscription.cancel(drain=0)
        self._ready.clear()
        self._watch_head()

    def _watch_head(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if self._ready and self._ready[0].expires_at is not None:
            self._expiry = asyncio.get_running_loop().call_at(self._ready[0].expires_at, self.dispatch)


def _now() -> float:
    return asyncio.get_running_loop().time()
