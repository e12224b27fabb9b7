"""Queue of the in-memory broker, with the order, prefetch, expiration, redelivery and dead letters of RabbitMQ."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.consumer import FULL_QUEUE_PAUSE_SECONDS, Consumer
from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import ATTEMPT, Delivery, Message, count_header
from dashwright.common.messaging.topology import Queue

_log = structlog.get_logger()


@dataclass(slots=True, eq=False)
class QueuedMessage:
    """Message that is waiting in a queue, or is delivered but not acknowledged."""

    message: Message
    exchange: str
    routing_key: str
    expires_at: float | None = None  #: Time of the event loop.
    redeliveries: int = 0

    @property
    def delivery(self) -> Delivery:
        """The delivery of this message to a consumer."""
        return Delivery(
            message=self.message,
            exchange=self.exchange,
            routing_key=self.routing_key,
            redelivered=self.redeliveries > 0,
            attempt=count_header(self.message.headers, ATTEMPT) + self.redeliveries + 1,
        )


class MemorySubscription:
    """Consumer of a queue, with its unacknowledged messages in the order of delivery."""

    def __init__(
        self, queue: "MemoryQueue", consumer: Consumer, prefetch: int, apply_result: Callable[[Delivery, str, DeliveryResult], None]
    ) -> None:
        self._queue = queue
        self._consumer = consumer
        self._prefetch = prefetch
        self._apply_result = apply_result
        self._unacknowledged: dict[QueuedMessage, None] = {}

    @property
    def has_free_slot(self) -> bool:
        """True if another message can be delivered."""
        return len(self._unacknowledged) < self._prefetch

    def deliver(self, queued_message: QueuedMessage) -> None:
        """Start the handler of a message and keep the message until it is acknowledged."""
        self._unacknowledged[queued_message] = None
        delivery = queued_message.delivery

        async def settle(result: DeliveryResult) -> None:
            try:
                await self._publish_result(delivery, result)
            except Unroutable:
                self._unacknowledged.pop(queued_message)
                self._queue.requeue([queued_message])
                return
            except Exception:  # noqa: BLE001 - the outermost loop of a message
                _log.exception("message_rejected")
                self._unacknowledged.pop(queued_message)
                self._queue.reject(queued_message)
                return
            self._unacknowledged.pop(queued_message)
            self._queue.dispatch()

        self._consumer.start(delivery, settle)

    async def _publish_result(self, delivery: Delivery, result: DeliveryResult) -> None:
        """Publish the message that a result requires. The delivery is kept while the queue of that message is full."""
        while True:
            try:
                return self._apply_result(delivery, self._queue.spec.name, result)
            except Unroutable:
                raise
            except Unavailable as error:
                _log.info("message_kept", queue=self._queue.spec.name, error=error.message)
            await asyncio.sleep(FULL_QUEUE_PAUSE_SECONDS)

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""
        self._queue.unsubscribe(self)
        await self._consumer.drain(drain)
        unfinished_messages = [*self._unacknowledged]
        self._unacknowledged.clear()
        self._queue.requeue(unfinished_messages)


class MemoryQueue:
    """Queue of messages. ``dead_letter`` is called with each message that dies in it, and with RabbitMQ's name of the reason."""

    def __init__(self, spec: Queue, dead_letter: Callable[[Queue, QueuedMessage, str], None]) -> None:
        self.spec = spec
        self._dead_letter = dead_letter
        self._waiting: deque[QueuedMessage] = deque()
        self._subscriptions: deque[MemorySubscription] = deque()
        self._expiry_timer: asyncio.TimerHandle | None = None

    def check_not_full(self) -> None:
        """Raise Unavailable if the queue is full and rejects messages."""
        if self.spec.overflow == "reject-publish" and len(self._waiting) >= self.spec.max_length:
            raise Unavailable(
                f"The queue {self.spec.name} is full ({self.spec.max_length:,} messages); try again when workers have caught up"
            )

    def put(self, message: Message, exchange: str, routing_key: str) -> None:
        """Append a message, and deliver it if a consumer has a free slot."""
        limits = [seconds for seconds in (message.expiration, self.spec.ttl) if seconds is not None]
        expires_at = _loop_time() + min(limits) if limits else None
        if self.spec.overflow == "drop-head" and len(self._waiting) >= self.spec.max_length:
            self._waiting.popleft()
        self._waiting.append(QueuedMessage(message, exchange, routing_key, expires_at))
        self.dispatch()

    def requeue(self, messages: list[QueuedMessage]) -> None:
        """Return unacknowledged messages to the head of the queue. Dead-letter those that were delivered too often."""
        for queued_message in reversed(messages):
            redelivered = replace(queued_message, redeliveries=queued_message.redeliveries + 1)
            if self.spec.delivery_limit is not None and redelivered.redeliveries > self.spec.delivery_limit:
                self._dead_letter(self.spec, redelivered, "delivery_limit")
            else:
                self._waiting.appendleft(redelivered)
        self.dispatch()

    def reject(self, queued_message: QueuedMessage) -> None:
        """Dead-letter a message whose handler failed."""
        self._dead_letter(self.spec, queued_message, "rejected")
        self.dispatch()

    def subscribe(self, subscription: MemorySubscription) -> None:
        """Add a consumer."""
        self._subscriptions.append(subscription)
        self.dispatch()

    def unsubscribe(self, subscription: MemorySubscription) -> None:
        """Remove a consumer."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def dispatch(self) -> None:
        """Deliver messages to consumers with a free slot, in rotation. As in RabbitMQ, messages expire only at the head."""
        while self._waiting:
            head = self._waiting[0]
            if head.expires_at is not None and head.expires_at <= _loop_time():
                self._dead_letter(self.spec, self._waiting.popleft(), "expired")
                continue
            subscription = next((candidate for candidate in self._subscriptions if candidate.has_free_slot), None)
            if subscription is None:
                break
            self._subscriptions.remove(subscription)
            self._subscriptions.append(subscription)
            subscription.deliver(self._waiting.popleft())
        self._schedule_expiry()

    async def close(self) -> None:
        """Cancel the consumers and discard all messages."""
        for subscription in [*self._subscriptions]:
            await subscription.cancel(drain=0)
        self._waiting.clear()
        self._schedule_expiry()

    def _schedule_expiry(self) -> None:
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None
        if self._waiting and self._waiting[0].expires_at is not None:
            self._expiry_timer = asyncio.get_running_loop().call_at(self._waiting[0].expires_at, self.dispatch)


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
