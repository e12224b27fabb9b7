"""Broker on RabbitMQ 3.10 to 4, with the library aio-pika."""

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

import aio_pika
import structlog
from aio_pika.abc import AbstractRobustChannel, AbstractRobustConnection, AbstractRobustQueue
from aio_pika.exceptions import AuthenticationError, ChannelNotFoundEntity, ChannelPreconditionFailed, ProbableAuthenticationError
from aiormq.exceptions import ChannelAccessRefused, InvalidFrameError

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.amqp_inbox import AmqpInbox
from dashwright.common.messaging.amqp_subscription import AmqpSubscription
from dashwright.common.messaging.amqp_wire import CONNECTION_ERRORS, publish, translate_errors, url_without_password
from dashwright.common.messaging.broker import MAX_MESSAGE, Handler
from dashwright.common.messaging.consumer import Consumer
from dashwright.common.messaging.message import Message, check_size, with_id_and_trace
from dashwright.common.messaging.topology import TOPOLOGY, Topology
from dashwright.common.observability import metrics

_log = structlog.get_logger()

_CHECK_TIMEOUT_SECONDS = 5.0


class AmqpBroker:
    """Broker with one connection, which aio-pika restores after a loss.

    Publishing, replies, inboxes and each subscription have channels of their own, so that a channel error of one does
    not stop the others. ``max_message`` is in bytes and must not exceed ``max_message_size`` of RabbitMQ. Timeouts are in
    seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        topology: Topology = TOPOLOGY,
        connect_timeout: float = 30.0,
        reconnect_interval: float = 1.0,
        heartbeat: int = 20,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self.topology = topology
        self._url = url
        self._connect_timeout = connect_timeout
        self._reconnect_interval = reconnect_interval
        self._heartbeat = heartbeat
        self.max_message = max_message
        #: Names of exchanges that exist. The default exchange is "".
        self._exchanges = {"", *(exchange.name for exchange in topology.exchanges)}
        self._connection: AbstractRobustConnection | None = None
        self._is_disconnected = True
        self._publish_channel: AbstractRobustChannel | None = None
        self._reply_channel: AbstractRobustChannel | None = None
        self._subscriptions: list[AmqpSubscription] = []
        #: False if the account has no right to declare. Then exchanges and queues must exist already.
        self._may_declare = True
        #: Locks by the ids of the messages that are being published.
        self._publish_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def start(self) -> None:
        """Connect and declare the topology. Raises Unavailable, with the address, if that does not succeed in time."""
        try:
            self._connection = await self._connect()
            async with asyncio.timeout(self._connect_timeout):
                self._publish_channel = await self._open_channel(confirmed=True)
                self._reply_channel = await self._open_channel(confirmed=False)
                try:
                    await self._declare(self._publish_channel)
                except ChannelAccessRefused:
                    # The account may not declare anything. The definitions of deploy/rabbitmq have declared the topology.
                    self._may_declare = False
                    self._publish_channel = await self._open_channel(confirmed=True)
                    await self._declare(self._publish_channel)
        except (TimeoutError, *CONNECTION_ERRORS) as error:
            await self.close()
            raise self._start_error(error) from error
        self._connection.close_callbacks.add(self._on_lost)
        self._connection.reconnect_callbacks.add(self._on_connected)
        self._on_connected()

    async def close(self) -> None:
        """Cancel all subscriptions without waiting for their handlers, and close the connection."""
        for subscription in [*self._subscriptions]:
            await subscription.cancel(drain=0)
        connection, self._connection = self._connection, None
        self._publish_channel = self._reply_channel = None
        if connection is not None:
            await connection.close()
            # Let the callbacks of aio-pika run first: it schedules them for the next iteration of the event loop.
            await asyncio.sleep(0)
        metrics.broker_connected.set(0)

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Publish a message and return once the broker has accepted it.

        Raises the errors that ``Broker.publish`` describes.
        """
        check_size(message, self.max_message)
        channel = self._require_open(self._publish_channel)
        if exchange not in self._exchanges:
            # RabbitMQ would close the channel, which all publishers share.
            raise Unroutable(f"There is no exchange {exchange!r}; publish to one of the topology")
        identified_message = with_id_and_trace(message)
        # If the broker returns a message, aiormq identifies it by its id only. So messages with the same id are sent one after the other.
        lock = self._publish_locks.setdefault(identified_message.message_id or "", asyncio.Lock())
        with translate_errors(f"Publishing to {exchange or routing_key}"):
            async with asyncio.timeout(timeout), lock:
                await publish(channel, routing_key, identified_message, exchange=exchange, mandatory=True)

    async def reply(self, reply_to: str, message: Message, *, confirmed: bool = False, timeout: float = 5.0) -> None:
        """Send a message to the ``reply_to`` address of another message. An address that no longer exists is ignored."""
        check_size(message, self.max_message)
        channel = self._require_open(self._publish_channel if confirmed else self._reply_channel)
        with translate_errors("Replying"):
            async with asyncio.timeout(timeout):
                # Not mandatory: RabbitMQ would deliver a mandatory message to a reply-to address, but also return it as unroutable.
                await publish(channel, reply_to, message, mandatory=False)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> AmqpSubscription:
        """Run ``handler`` for each delivery of a queue, at most ``prefetch`` concurrently."""
        with translate_errors(f"Consuming {queue}"):
            channel = await self._open_channel(confirmed=False)
            await channel.set_qos(prefetch_count=prefetch)
            amqp_queue = await self._declare_queue(channel, queue)
            subscription = AmqpSubscription(self, channel, amqp_queue, Consumer(queue, handler, self.topology), self._subscriptions.remove)
            await subscription.begin()
        self._subscriptions.append(subscription)
        return subscription

    async def inbox(self, receive: Callable[[Message], None], on_lost: Callable[[], None], *, confirmed: bool) -> AmqpInbox:
        """Open an inbox of this process. ``on_lost`` is called when messages to it may have been lost."""
        with translate_errors("Opening an inbox"):
            inbox = AmqpInbox(await self._open_channel(confirmed=confirmed), receive, on_lost, self.max_message)
            await inbox.open()
        return inbox

    async def check(self) -> None:
        """Raise Unavailable unless the broker responds and every subscription is consuming."""
        self._require_open(self._publish_channel)
        with translate_errors("Checking the connection to the broker"):
            async with asyncio.timeout(_CHECK_TIMEOUT_SECONDS):
                # While aio-pika reconnects, the check of a subscription waits without a limit of its own.
                for subscription in self._subscriptions:
                    await subscription.check()
                # Only a broker that responds opens a channel.
                channel = await self._open_channel(confirmed=False)
                await channel.close()

    async def _connect(self) -> AbstractRobustConnection:
        """Connect, with retries until the timeout, since the broker may still be starting.

        Do not cancel this method: aio-pika would continue to connect in the background.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._connect_timeout
        while True:
            try:
                return await aio_pika.connect_robust(
                    self._url, timeout=deadline - loop.time(), reconnect_interval=self._reconnect_interval, heartbeat=self._heartbeat
                )
            except CONNECTION_ERRORS as error:
                _log.info("broker_not_reached", address=url_without_password(self._url), error=repr(error))
                if loop.time() + self._reconnect_interval >= deadline:
                    raise
            await asyncio.sleep(self._reconnect_interval)

    async def _open_channel(self, *, confirmed: bool) -> AbstractRobustChannel:
        """Open a channel. If it is ``confirmed``, publishing waits for the broker, and raises an error for a message that it returns."""
        if self._connection is None:
            raise Unavailable("The message broker is not connected; try again later")
        channel = self._connection.channel(publisher_confirms=confirmed, on_return_raises=confirmed)
        try:
            await channel.initialize()
        except RuntimeError as error:
            # aiormq raises it for a connection that was lost a moment ago.
            raise Unavailable("The connection to the message broker was lost; try again later") from error
        assert isinstance(channel, AbstractRobustChannel)
        return channel

    def _require_open(self, channel: AbstractRobustChannel | None) -> AbstractRobustChannel:
        """Return the channel. Raises Unavailable if it is missing or closed."""
        if channel is None or channel.is_closed:
            raise Unavailable("The message broker is not connected; try again later")
        return channel

    async def _declare(self, channel: AbstractRobustChannel) -> None:
        """Declare the topology, or only check that it exists if the account may not declare."""
        for exchange in self.topology.exchanges:
            await channel.declare_exchange(exchange.name, exchange.type, durable=True, passive=not self._may_declare)
        for queue in self.topology.queues:
            await self._declare_queue(channel, queue.name)

    async def _declare_queue(self, channel: AbstractRobustChannel, name: str) -> AbstractRobustQueue:
        """Declare a queue and its bindings.

        aio-pika declares both again after a reconnection, even if an operator has deleted them.
        """
        spec = next((queue for queue in self.topology.queues if queue.name == name), None)
        if spec is None:
            raise Unavailable(f"The broker has no queue {name}; use a queue of the topology")
        if not self._may_declare:
            return await channel.declare_queue(name, passive=True)
        queue = await channel.declare_queue(name, durable=True, arguments={**spec.arguments})
        for binding in self.topology.bindings:
            if binding.queue == name:
                await queue.bind(binding.exchange, binding.key)
        return queue

    def _start_error(self, error: Exception) -> Unavailable:
        """Return the error of a failed start, with advice that depends on the cause."""
        broker_url = url_without_password(self._url)
        if isinstance(error, ChannelPreconditionFailed):
            return Unavailable(
                f"The broker at {broker_url} has a queue or exchange of the same name but other settings; delete it there: {error}"
            )
        if isinstance(error, ChannelNotFoundEntity):
            return Unavailable(
                f"The broker at {broker_url} lacks an exchange or queue, and this account may not declare it; "
                f"import the definitions of deploy/rabbitmq, or give the account more rights: {error}"
            )
        if isinstance(error, AuthenticationError | ProbableAuthenticationError):
            return Unavailable(f"The broker at {broker_url} refused the user; check name, password and rights on the virtual host")
        if isinstance(error, InvalidFrameError):
            return Unavailable(f"The broker at {broker_url} closed the connection as it was opened; check that it has the virtual host")
        return Unavailable(
            f"The broker at {broker_url} could not be used within {self._connect_timeout:g} s; check the address and that it runs"
        )

    def _on_connected(self, *_: object) -> None:
        self._is_disconnected = False
        metrics.broker_connected.set(1)
        _log.info("broker_connected", address=url_without_password(self._url))

    def _on_lost(self, *_: object) -> None:
        """Record the loss of the connection. aio-pika calls this also for each failed attempt to reconnect."""
        metrics.broker_connected.set(0)
        # Log only the loss, not the failed attempts.
        was_disconnected, self._is_disconnected = self._is_disconnected, True
        if self._connection is not None and not was_disconnected:
            _log.warning("broker_lost", address=url_without_password(self._url))
