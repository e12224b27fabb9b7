"""Broker over RabbitMQ 3.10 to 4, by aio-pika."""

import asyncio
from collections.abc import Callable

import aio_pika
import structlog
from aio_pika.abc import AbstractExchange, AbstractRobustChannel, AbstractRobustConnection, AbstractRobustQueue
from aio_pika.exceptions import AuthenticationError, ChannelNotFoundEntity, ChannelPreconditionFailed, ProbableAuthenticationError
from aiormq.exceptions import ChannelAccessRefused, InvalidFrameError

from dashwright.common.errors import Unavailable, Unroutable
from dashwright.common.messaging.amqp_inbox import AmqpInbox
from dashwright.common.messaging.amqp_subscription import AmqpSubscription
from dashwright.common.messaging.amqp_wire import LOST, address, to_amqp, translate_errors
from dashwright.common.messaging.broker import MAX_MESSAGE, Handler
from dashwright.common.messaging.consumer import Consumer
from dashwright.common.messaging.message import Message, check_size, with_id_and_trace
from dashwright.common.messaging.topology import TOPOLOGY, Topology
from dashwright.common.observability import metrics

_log = structlog.get_logger()


class AmqpBroker:
    """Broker with one connection, which the library restores after a loss.

    Publishing, replies, inboxes and each subscription have channels of their own, so that a channel error of one does
    not stop the others. ``max_message`` (bytes) must not exceed the broker's ``max_message_size``; ``connect_timeout``
    is in seconds.
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
        self._exchanges: dict[str, AbstractExchange] = {}
        self._connection: AbstractRobustConnection | None = None
        self._is_lost = True
        self._publishing: AbstractRobustChannel | None = None
        self._replying: AbstractRobustChannel | None = None
        self._subscriptions: list[AmqpSubscription] = []
        self._may_declare = True

    async def start(self) -> None:
        """Connect and declare the topology. Raises Unavailable, naming the address, if that fails within the time-out."""
        try:
            self._connection = await self._connect()
            async with asyncio.timeout(self._connect_timeout):
                self._publishing = await self._channel(confirmed=True)
                self._replying = await self._channel(confirmed=False)
                try:
                    await self._declare(self._publishing)
                except ChannelAccessRefused:
                    # An account without the right to declare: the definitions of deploy/rabbitmq have declared it.
                    self._may_declare = False
                    self._publishing = await self._channel(confirmed=True)
                    await self._declare(self._publishing)
        except (TimeoutError, *LOST) as error:
            await self.close()
            raise self._not_started(error) from error
        self._connection.close_callbacks.add(self._on_lost)
        self._connection.reconnect_callbacks.add(self._on_connected)
        self._on_connected()

    async def close(self) -> None:
        """End every subscription without waiting for handlers, and the connection."""
        for subscription in [*self._subscriptions]:
            await subscription.cancel(drain=0)
        connection, self._connection = self._connection, None
        self._publishing = self._replying = None
        if connection is not None:
            await connection.close()
            # The library's callbacks run one turn of the event loop later.
            await asyncio.sleep(0)
        metrics.broker_connected.set(0)

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Publish a message and return once the broker has accepted it.

        Raises Unavailable, Unroutable or TooLarge.
        """
        check_size(message, self.max_message)
        self._open(self._publishing)
        target = self._exchanges.get(exchange)
        if target is None:
            # Publishing there would make the broker close the channel, which all publishers share.
            raise Unroutable(f"There is no exchange {exchange!r}; publish to one of the topology")
        with translate_errors(f"Publishing to {exchange or routing_key}"):
            async with asyncio.timeout(timeout):
                await target.publish(to_amqp(with_id_and_trace(message)), routing_key, mandatory=True)

    async def reply(self, reply_to: str, message: Message, *, timeout: float = 5.0) -> None:
        """Send a message to the ``reply_to`` of another; return even if that address no longer exists."""
        check_size(message, self.max_message)
        channel = self._open(self._replying)
        with translate_errors("Replying"):
            async with asyncio.timeout(timeout):
                # RabbitMQ delivers a mandatory message to a reply-to address, but also returns it as unroutable.
                await channel.default_exchange.publish(to_amqp(message), reply_to, mandatory=False)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> AmqpSubscription:
        """Run ``handler`` for each delivery of a queue, at most ``prefetch`` concurrently."""
        with translate_errors(f"Consuming {queue}"):
            channel = await self._channel(confirmed=False)
            await channel.set_qos(prefetch_count=prefetch)
            declared = await self._declare_queue(channel, queue)
            subscription = AmqpSubscription(self, channel, declared, Consumer(queue, handler, self.topology), self._subscriptions.remove)
            await subscription.begin()
        self._subscriptions.append(subscription)
        return subscription

    async def inbox(self, receive: Callable[[Message], None], lost: Callable[[], None], *, confirmed: bool) -> AmqpInbox:
        """Open an address of this process. ``lost`` is called when messages may have been missed."""
        with translate_errors("Opening an inbox"):
            inbox = AmqpInbox(await self._channel(confirmed=confirmed), receive, lost, self.max_message)
            await inbox.open()
        return inbox

    async def check(self) -> None:
        """Raise Unavailable unless the broker responds and every subscription is consuming."""
        self._open(self._publishing)
        for subscription in self._subscriptions:
            await subscription.check()
        with translate_errors("Checking the connection to the broker"):
            async with asyncio.timeout(5):
                channel = await self._channel(confirmed=False)
                await channel.close()

    async def _connect(self) -> AbstractRobustConnection:
        """Connect, trying until the time is up, since the broker may be starting as well.

        Do not cancel this: the library would go on connecting in the background.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self._connect_timeout
        while True:
            try:
                return await aio_pika.connect_robust(
                    self._url, timeout=end - loop.time(), reconnect_interval=self._reconnect_interval, heartbeat=self._heartbeat
                )
            except LOST as error:
                _log.info("broker_not_reached", address=address(self._url), error=repr(error))
                if loop.time() + self._reconnect_interval >= end:
                    raise
            await asyncio.sleep(self._reconnect_interval)

    async def _channel(self, *, confirmed: bool) -> AbstractRobustChannel:
        if self._connection is None:
            raise Unavailable("The message broker is not connected; try again later")
        channel = self._connection.channel(publisher_confirms=confirmed, on_return_raises=confirmed)
        await channel.initialize()
        assert isinstance(channel, AbstractRobustChannel)
        return channel

    def _open(self, channel: AbstractRobustChannel | None) -> AbstractRobustChannel:
        if channel is None or channel.is_closed:
            raise Unavailable("The message broker is not connected; try again later")
        return channel

    async def _declare(self, channel: AbstractRobustChannel) -> None:
        self._exchanges[""] = channel.default_exchange
        for exchange in self.topology.exchanges:
            self._exchanges[exchange.name] = await channel.declare_exchange(
                exchange.name, exchange.type, durable=True, passive=not self._may_declare
            )
        for queue in self.topology.queues:
            await self._declare_queue(channel, queue.name)

    async def _declare_queue(self, channel: AbstractRobustChannel, name: str) -> AbstractRobustQueue:
        """Declare a queue with its bindings.

        The library then restores both after a reconnection, even if an operator deleted them.
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

    def _not_started(self, error: Exception) -> Unavailable:
        where = address(self._url)
        if isinstance(error, ChannelPreconditionFailed):
            return Unavailable(
                f"The broker at {where} has a queue or exchange of the same name but other settings; delete it there: {error}"
            )
        if isinstance(error, ChannelNotFoundEntity):
            return Unavailable(
                f"The broker at {where} lacks an exchange or queue, and this account may not declare it; "
                f"import the definitions of deploy/rabbitmq, or give the account more rights: {error}"
            )
        if isinstance(error, AuthenticationError | ProbableAuthenticationError):
            return Unavailable(f"The broker at {where} refused the user; check name, password and rights on the virtual host")
        if isinstance(error, InvalidFrameError):
            return Unavailable(f"The broker at {where} closed the connection as it was opened; check that it has the virtual host")
        return Unavailable(
            f"The broker at {where} could not be used within {self._connect_timeout:g} s; check the address and that it runs"
        )

    def _on_connected(self, *_: object) -> None:
        self._is_lost = False
        metrics.broker_connected.set(1)
        _log.info("broker_connected", address=address(self._url))

    def _on_lost(self, *_: object) -> None:
        """Record the loss of the connection. Called again for each failed attempt to reconnect."""
        metrics.broker_connected.set(0)
        # Log a loss once, not once for each failed attempt.
        was_lost, self._is_lost = self._is_lost, True
        if self._connection is not None and not was_lost:
            _log.warning("broker_lost", address=address(self._url))
