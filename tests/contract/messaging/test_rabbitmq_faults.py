"""Behaviour that only a real broker has, such as a stop while a process is connected."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aio_pika
import pytest
from tests.contract.messaging.calls import CallFactory, HangingHandler, echo, pause
from tests.contract.messaging.handlers import BlockingHandler, LoopClock, RecordingHandler
from tests.servers.rabbitmq import PrivateRabbitmq

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.topology import Topology


@pytest.fixture
async def broker(amqp_url: str, topology: Topology) -> AsyncIterator[AmqpBroker]:
    """Yield a connection to RabbitMQ that is restored quickly, instead of the broker of either kind that other modules use."""
    broker = AmqpBroker(amqp_url, topology=topology, reconnect_interval=0.1)
    await broker.start()
    yield broker
    await broker.close()


async def retry_until_available(operation: Callable[[], object], seconds: float = 20) -> None:
    """Repeat an operation until it no longer raises Unavailable. Raises the last error after ``seconds``."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            await operation()  # type: ignore[misc]
        except Unavailable:
            if asyncio.get_running_loop().time() > end:
                raise
            await pause(0.05)
        else:
            return


async def test_everything_works_again_after_an_outage_of_the_broker(private_rabbitmq: PrivateRabbitmq, topology: Topology) -> None:
    """During an outage, calls and publishing raise Unavailable, and a call with more time waits. Afterwards, everything recovers."""
    broker = AmqpBroker(private_rabbitmq.url, topology=topology, reconnect_interval=0.2)
    await broker.start()
    async with AsyncExitStack() as stack:
        calls = CallFactory(broker, LoopClock(), stack)
        client, hanging, blocking = await calls.client(), HangingHandler(), BlockingHandler()
        server = await calls.server(hanging)
        await broker.consume(topology.work, blocking, prefetch=2)
        await broker.publish(topology.jobs, "work.kept", Message(body=b"{}"))
        assert (await blocking.next()).attempt == 1
        call_before_outage = asyncio.ensure_future(client.call(topology.query, b"", timeout=60))
        await asyncio.wait_for(hanging.started.get(), 5)

        await private_rabbitmq.stop()
        with pytest.raises(Unavailable, match="lost"):
            await asyncio.wait_for(call_before_outage, 10)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(broker.publish(topology.jobs, "work.sync", Message(body=b"{}")), 1)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(broker.check(), 1)
        with pytest.raises(Unavailable):
            await client.call(topology.query, b"", timeout=0.2)
        call_during_outage = asyncio.ensure_future(client.call(topology.query, b"", timeout=60))

        await private_rabbitmq.start()
        # The call that waited for the broker has been taken by the worker.
        assert (await asyncio.wait_for(hanging.started.get(), 30)).body == b""
        call_during_outage.cancel()
        await retry_until_available(broker.check)
        assert (await blocking.next()).redelivered
        blocking.released.set()
        await retry_until_available(lambda: broker.publish(topology.jobs, "work.new", Message(body=b"{}")))
        assert (await blocking.next()).routing_key == "work.new"
        await server.stop(drain=0)
        await calls.server(echo)
        assert (await client.call(topology.query, b"back", timeout=10)).complete_body == b"back"
    await broker.close()


@pytest.mark.faults
async def test_a_broker_with_a_full_disk_is_unavailable(private_rabbitmq: PrivateRabbitmq, topology: Topology) -> None:
    """While a broker blocks publishers because its disk is full, publishing and the readiness check raise Unavailable."""
    broker = AmqpBroker(private_rabbitmq.url, topology=topology)
    await broker.start()
    await broker.consume(topology.work, RecordingHandler(), prefetch=1)
    # No disk has as much free space, so the broker considers its disk full.
    await private_rabbitmq.control("set_disk_free_limit", "900000GB")
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable):
            await broker.publish(topology.jobs, "work.sync", Message(body=b"{}"), timeout=1)
        with pytest.raises(Unavailable):
            await broker.check()
    await private_rabbitmq.control("set_disk_free_limit", "50MB")
    await retry_until_available(broker.check)
    await broker.close()


async def test_an_unreachable_broker_is_named_without_the_password(topology: Topology, unused_tcp_port: int) -> None:
    """A process that cannot reach its broker fails after the connect timeout. The error has the address without the password."""
    broker = AmqpBroker(
        f"amqp://user:hunter2@127.0.0.1:{unused_tcp_port}/here", topology=topology, connect_timeout=0.3, reconnect_interval=0.1
    )
    with pytest.raises(Unavailable) as caught:
        await broker.start()
    assert f"127.0.0.1:{unused_tcp_port}/here" in caught.value.message
    assert "hunter2" not in caught.value.message


async def test_a_silent_server_times_out(topology: Topology) -> None:
    """A server that accepts connections and never responds makes the start fail, and no task remains."""
    before = asyncio.all_tasks()
    server = await asyncio.start_server(_never_respond, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    broker = AmqpBroker(f"amqp://127.0.0.1:{port}/", topology=topology, connect_timeout=0.3, reconnect_interval=0.1)
    with pytest.raises(Unavailable, match=str(port)):
        await asyncio.wait_for(broker.start(), 5)
    # The tasks that the start created end.
    await asyncio.wait_for(asyncio.gather(*(asyncio.all_tasks() - before), return_exceptions=True), 5)
    server.close()


async def test_a_connection_closed_at_its_opening_is_an_error(amqp_url: str, topology: Topology, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that the broker closes while it is being opened is retried until the connect timeout, and then an error.

    If the end of the stream arrives before the first read, aio-pika raises StopAsyncIteration. No server can force this order, so
    the test replaces aio-pika's function.
    """

    async def connect(*_: object, **__: object) -> None:
        raise StopAsyncIteration

    monkeypatch.setattr(aio_pika, "connect_robust", connect)
    broker = AmqpBroker(amqp_url, topology=topology, connect_timeout=0.3, reconnect_interval=0.1)
    with pytest.raises(Unavailable):
        await broker.start()


async def _never_respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read until the client closes the connection."""
    await reader.read()
    writer.close()


async def test_a_wrong_password_is_an_error(amqp_url: str, topology: Topology) -> None:
    """The error of a wrong password names the password as the reason, and does not contain it."""
    parts = urlsplit(amqp_url)
    url = parts._replace(netloc=f"{parts.username}:hunter2@{parts.hostname}:{parts.port}").geturl()
    broker = AmqpBroker(url, topology=topology, connect_timeout=0.5, reconnect_interval=0.4)
    with pytest.raises(Unavailable, match="password") as caught:
        await broker.start()
    assert "hunter2" not in caught.value.message


async def test_a_deleted_queue_is_noticed(broker: AmqpBroker, amqp_url: str) -> None:
    """A deleted queue fails the readiness check and is then declared, bound and consumed again."""
    handler = RecordingHandler()
    await broker.consume(broker.topology.work, handler, prefetch=1)
    await broker.check()
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.queue_delete(broker.topology.work, if_unused=False, if_empty=False)

    async def check_until_unavailable() -> str:
        """Return the message of the first check that fails."""
        while True:
            try:
                await broker.check()
            except Unavailable as error:
                return error.message

    assert broker.topology.work in await asyncio.wait_for(check_until_unavailable(), 5)
    await retry_until_available(broker.check)
    await broker.publish(broker.topology.jobs, "work.after", Message(body=b"{}"))
    assert (await handler.next()).routing_key == "work.after"


async def test_publishing_continues_after_a_channel_error(broker: AmqpBroker, amqp_url: str) -> None:
    """Publishing to a deleted exchange fails until the topology is declared again."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.exchange_delete(broker.topology.jobs)
    with pytest.raises(Unavailable):
        await broker.publish(broker.topology.jobs, "work.sync", Message(body=b"{}"))
    await retry_until_available(lambda: broker.publish(broker.topology.jobs, "work.sync", Message(body=b"{}")))


async def test_an_inbox_is_consumed_again_after_a_channel_error(broker: AmqpBroker) -> None:
    """If the channel of a client is closed, the client's pending call raises Unavailable, and its next call succeeds."""
    async with AsyncExitStack() as stack:
        calls = CallFactory(broker, LoopClock(), stack)
        client, hanging = await calls.client(), HangingHandler()
        server = await calls.server(hanging)
        task = asyncio.ensure_future(client.call(broker.topology.query, b"", timeout=60))
        await asyncio.wait_for(hanging.started.get(), 5)
        # An error of a channel is caused by an invalid operation on this channel, so the test uses the client's own channel.
        channel = await client._inbox._channel.get_underlay_channel()  # type: ignore[union-attr]
        with pytest.raises(aio_pika.exceptions.ChannelClosed):
            await channel.queue_declare("no-such-queue", passive=True)
        with pytest.raises(Unavailable, match="lost"):
            await asyncio.wait_for(task, 5)
        await server.stop(drain=0)
        await calls.server(echo)
        assert (await client.call(broker.topology.query, b"again", timeout=10)).complete_body == b"again"


async def test_a_queue_with_other_settings_is_an_error(amqp_url: str, topology: Topology) -> None:
    """An existing queue with other settings is an error at the start that names the queue."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        # A classic queue. The topology's queue of this name is a quorum queue.
        await channel.declare_queue(topology.work, durable=True)
    broker = AmqpBroker(amqp_url, topology=topology, connect_timeout=5)
    with pytest.raises(Unavailable, match=topology.work):
        await broker.start()


async def test_unsupported_headers_are_ignored(broker: AmqpBroker, amqp_url: str) -> None:
    """Headers of unsupported types and the broker's own headers (``x-…``) are omitted. A counter that is not a number counts as zero."""
    handler = RecordingHandler()
    await broker.consume(broker.topology.submit, handler, prefetch=1)
    headers = {"table": {"a": 1}, "list": [1], "x-mine": "y", "none": None, "dashwright-attempt": "many", "text": "kept"}
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        exchange = await channel.get_exchange(broker.topology.jobs, ensure=False)
        await exchange.publish(aio_pika.Message(b"{}", headers=headers), "submit.default")  # type: ignore[arg-type]
    delivery = await handler.next()
    assert delivery.attempt == 1
    assert delivery.message.headers == {"dashwright-attempt": "many", "text": "kept"}


async def test_a_missing_virtual_host_is_an_error(amqp_url: str, topology: Topology) -> None:
    """A missing virtual host is an error at the start that names it."""
    broker = AmqpBroker(f"{amqp_url}-none", topology=topology, connect_timeout=0.5, reconnect_interval=0.4)
    with pytest.raises(Unavailable, match="check that it has the virtual host"):
        await broker.start()
