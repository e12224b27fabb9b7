"""In-memory broker for standalone mode and for tests without a server.

Its queues have the order, prefetch, expiration, redelivery and dead letters of RabbitMQ.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

import structlog

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.broker import MAX_MESSAGE, Handler
from dashwright.common.messaging.consumer import FULL_QUEUE_PAUSE_SECONDS, Consumer
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry, follow_up
from dashwright.common.messaging.message import (
    ATTEMPT,
    ORIGIN_EXCHANGE,
    ORIGIN_QUEUE,
    REASON,
    Delivery,
    Message,
    check_size,
    count_header,
    with_id_and_trace,
)
from dashwright.common.messaging.topology import TOPOLOGY, Queue, Topology
from dashwright.common.observability import metrics

_log = structlog.get_logger()


# Compared by identity, since equal messages can be in a queue.
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
        self, queue: "MemoryQueue", consumer: Consumer, prefetch: int, apply_result: Callable[[Delivery, str, Retry | DeadLetter], None]
    ) -> None:
        self._queue = queue
        self._consumer = consumer
        self._prefetch = prefetch
        self._apply_result = apply_result
        #: The keys are the messages. A set would not keep their order.
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
            """Publish what the result requires, and remove the message. Requeue or dead-letter it if that fails."""
            try:
                if not isinstance(result, Ack):
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

    async def _publish_result(self, delivery: Delivery, result: Retry | DeadLetter) -> None:
        """Publish the message that a result requires. The delivery is kept while the queue of that message is full."""
        while True:
            try:
                return self._apply_result(delivery, self._queue.spec.name, result)
            # Also an Unavailable, but a queue that does not exist is not waited for.
            except Unroutable:
                raise
            except Unavailable as error:
                _log.info("message_move_delayed", queue=self._queue.spec.name, error=error.message)
            await asyncio.sleep(FULL_QUEUE_PAUSE_SECONDS)

    async def cancel(self, *, drain: float) -> None:
        """Stop consuming and wait up to ``drain`` seconds for running handlers. Unfinished messages return to the queue."""
        self._queue.unsubscribe(self)
        await self._consumer.drain(drain)
        unfinished_messages = [*self._unacknowledged]
        self._unacknowledged.clear()
        self._queue.requeue(unfinished_messages)


class MemoryQueue:
    """Queue of messages. ``dead_letter`` is called for each message that dies: with the queue, the message and RabbitMQ's reason."""

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
        # As in RabbitMQ, the shorter of both lifetimes counts.
        lifetimes = [seconds for seconds in (message.expiration, self.spec.ttl) if seconds is not None]
        expires_at = _loop_time() + min(lifetimes) if lifetimes else None
        if self.spec.overflow == "drop-head" and len(self._waiting) >= self.spec.max_length:
            self._waiting.popleft()
        self._waiting.append(QueuedMessage(message, exchange, routing_key, expires_at))
        self.dispatch()

    def requeue(self, messages: list[QueuedMessage]) -> None:
        """Return unacknowledged messages to the head of the queue. Dead-letter those that were delivered too often."""
        # In reverse, since each message is put before those that are in the queue.
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
            first = self._waiting[0]
            if first.expires_at is not None and first.expires_at <= _loop_time():
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
        """Set the timer for the expiration of the first message."""
        if self._expiry_timer is not None:
            self._expiry_timer.cancel()
            self._expiry_timer = None
        if self._waiting and self._waiting[0].expires_at is not None:
            self._expiry_timer = asyncio.get_running_loop().call_at(self._waiting[0].expires_at, self.dispatch)


class MemoryBroker:
    """Broker inside the event loop. Closing it loses its messages, but no jobs: their rows are in the database, where workers search."""

    def __init__(self, topology: Topology = TOPOLOGY, *, max_message: int = MAX_MESSAGE) -> None:
        self.topology = topology
        self.max_message = max_message
        self._queues: dict[str, MemoryQueue] = {}
        self._inboxes: dict[str, Callable[[Message], None]] = {}
        self._inbox_ids = count(1)

    async def start(self) -> None:
        """Create the queues of the topology."""
        self._queues = {queue.name: MemoryQueue(queue, self._dead_letter) for queue in self.topology.queues}
        metrics.broker_connected.set(1)

    async def close(self) -> None:
        """Cancel all subscriptions without waiting for their handlers, and discard all messages."""
        for queue in self._queues.values():
            await queue.close()
        self._queues = {}
        self._inboxes = {}
        metrics.broker_connected.set(0)

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Route a message to the queues whose bindings match its routing key. Raises the errors that ``Broker.publish`` describes."""
        self._check_open()
        check_size(message, self.max_message)
        self._route(exchange, routing_key, with_id_and_trace(message))
        # Yield to the event loop, as waiting for the confirmation of a broker would.
        await asyncio.sleep(0)

    async def reply(self, reply_to: str, message: Message, *, confirmed: bool = False, timeout: float = 5.0) -> None:
        """Send a message to the inbox with the address ``reply_to``. An address that no longer exists is ignored."""
        self._check_open()
        check_size(message, self.max_message)
        self._deliver(reply_to, message)
        await asyncio.sleep(0)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> MemorySubscription:
        """Run ``handler`` for each delivery of a queue, at most ``prefetch`` concurrently."""
        self._check_open()
        if queue not in self._queues:
            raise Unavailable(f"The broker has no queue {queue}; use a queue of the topology")
        subscription = MemorySubscription(self._queues[queue], Consumer(queue, handler, self.topology), prefetch, self._apply_result)
        self._queues[queue].subscribe(subscription)
        return subscription

    async def inbox(self, receive: Callable[[Message], None], on_lost: Callable[[], None], *, confirmed: bool) -> "MemoryInbox":
        """Open an inbox, whose address is valid in this process only. ``on_lost`` is never called."""
        self._check_open()
        address = f"inbox.{next(self._inbox_ids)}"
        self._inboxes[address] = receive
        return MemoryInbox(self, address)

    async def check(self) -> None:
        """Raise Unavailable unless the broker is running."""
        self._check_open()

    async def send_from_inbox(self, address: str, routing_key: str, message: Message, *, mandatory: bool) -> None:
        """Send a message with a reply address, to a queue or to the inbox with the address ``routing_key``."""
        self._check_open()
        check_size(message, self.max_message)
        message = replace(message, reply_to=address)
        if mandatory or routing_key in self._queues:
            self._route("", routing_key, with_id_and_trace(message))
        else:
            self._deliver(routing_key, message)
        await asyncio.sleep(0)

    def close_inbox(self, address: str) -> None:
        """Close an inbox. Later messages to it are discarded."""
        self._inboxes.pop(address, None)

    def _check_open(self) -> None:
        if not self._queues:
            raise Unavailable("The message broker is not running; try again later")

    def _deliver(self, address: str, message: Message) -> None:
        """Deliver a message to an inbox. Ignore an address that does not exist."""
        receive = self._inboxes.get(address)
        if receive is not None:
            # In a later iteration of the event loop, as if from the network: a receiver must not run inside the call of the sender.
            asyncio.get_running_loop().call_soon(receive, message)

    def _route(self, exchange: str, routing_key: str, message: Message) -> None:
        """Put a message into all its queues, or into none. Raises Unroutable without a queue, and Unavailable if a queue is full."""
        queues = self._queues_for(exchange, routing_key)
        if not queues:
            raise Unroutable(f"No queue is bound to exchange {exchange!r} with routing key {routing_key!r}; check the key")
        for queue in queues:
            queue.check_not_full()
        for queue in queues:
            queue.put(message, exchange, routing_key)

    def _queues_for(self, exchange: str, routing_key: str) -> list[MemoryQueue]:
        """Return the queues to which an exchange routes a key, without duplicates."""
        # The default exchange leads to the queue with the name of the routing key.
        if exchange == "":
            return [self._queues[routing_key]] if routing_key in self._queues else []
        fanouts = {candidate.name for candidate in self.topology.exchanges if candidate.type == "fanout"}
        names = {
            binding.queue
            for binding in self.topology.bindings
            if binding.exchange == exchange and (exchange in fanouts or matches(binding.key.split("."), routing_key.split(".")))
        }
        return [self._queues[name] for name in sorted(names)]

    def _apply_result(self, delivery: Delivery, queue: str, result: Retry | DeadLetter) -> None:
        next_message = follow_up(delivery, queue, result, self.topology, max_body_bytes=self.max_message)
        if next_message is not None:
            self._route(next_message.exchange, next_message.routing_key, next_message.message)

    def _dead_letter(self, queue: Queue, queued_message: QueuedMessage, reason: str) -> None:
        """Put a message that has died into the queues of its dead-letter exchange, if it has one."""
        exchange = queue.dead_letter_exchange
        # A closed broker has no queues.
        if exchange is None or not self._queues:
            return
        message = replace(queued_message.message, expiration=None)
        # The dead-letter exchange of a retry queue is the jobs exchange: its messages are not dead letters.
        if exchange == self.topology.dead:
            origin = {REASON: reason, ORIGIN_QUEUE: queue.name, ORIGIN_EXCHANGE: queued_message.exchange}
            message = replace(message, headers={**message.headers, **origin})
        for target in self._queues_for(exchange, queued_message.routing_key):
            target.put(message, exchange, queued_message.routing_key)


class MemoryInbox:
    """Inbox of this process."""

    def __init__(self, broker: MemoryBroker, address: str) -> None:
        self._broker = broker
        self._address = address

    async def send(self, routing_key: str, message: Message, *, mandatory: bool, timeout: float = 5.0) -> None:
        """Send a message with this inbox as its reply address."""
        await self._broker.send_from_inbox(self._address, routing_key, message, mandatory=mandatory)

    async def close(self) -> None:
        """Close the inbox."""
        self._broker.close_inbox(self._address)


def matches(pattern: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether the words of a routing key match the words of a topic binding.

    In the binding, ``*`` matches one word, and ``#`` any number of words including zero (AMQP 0-9-1).
    """
    if not pattern:
        return not words
    if pattern[0] == "#":
        return any(matches(pattern[1:], words[skip:]) for skip in range(len(words) + 1))
    return bool(words) and pattern[0] in ("*", words[0]) and matches(pattern[1:], words[1:])


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
