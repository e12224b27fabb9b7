"""RabbitMQ going away under a running process, and what only a real broker does."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

import aio_pika
import pytest
from tests.contract.messaging.calls import Calls, Stuck, echo, pause
from tests.contract.messaging.handlers import Holding, LoopClock, Received
from tests.servers.rabbitmq import Private

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.topology import Topology


@pytest.fixture
async def broker(amqp_url: str, wiring: Topology) -> AsyncIterator[AmqpBroker]:
    broker = AmqpBroker(amqp_url, topology=wiring, reconnect_interval=0.1)
    await broker.start()
    yield broker
    await broker.close()


async def eventually(works: Callable[[], object], seconds: float = 20) -> None:
    """Tries until it does not raise Unavailable; the last error is the test's."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            await works()  # type: ignore[misc]
        except Unavailable:
            if asyncio.get_running_loop().time() > end:
                raise
            await pause(0.05)
        else:
            return


async def test_everything_works_again_after_the_broker_was_away(private_rabbitmq: Private, wiring: Topology) -> None:
    """While the broker is away every call fails immediately as retryable; afterwards consuming, publishing and calls recover."""
    broker = AmqpBroker(private_rabbitmq.url, topology=wiring, reconnect_interval=0.2)
    await broker.start()
    async with AsyncExitStack() as stack:
        calls = Calls(broker, LoopClock(), stack)
        client, stuck, holding = await calls.client(), Stuck(), Holding()
        server = await calls.server(stuck)
        await broker.consume(wiring.work, holding, prefetch=2)
        await broker.publish(wiring.jobs, "work.kept", Message(body=b"{}"))
        assert (await holding.next()).attempt == 1
        waiting = asyncio.ensure_future(client.call(wiring.query, b"", timeout=60))
        await asyncio.wait_for(stuck.begun.get(), 5)

        await private_rabbitmq.stop()
        with pytest.raises(Unavailable, match="lost"):
            await asyncio.wait_for(waiting, 10)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(broker.publish(wiring.jobs, "work.sync", Message(body=b"{}")), 1)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(broker.check(), 1)
        with pytest.raises(Unavailable):
            await client.call(wiring.query, b"", timeout=0.2)
        early = asyncio.ensure_future(client.call(wiring.query, b"", timeout=60))

        await private_rabbitmq.start()
        # The call that waited for the broker has been taken by the worker.
        assert (await asyncio.wait_for(stuck.begun.get(), 30)).body == b""
        early.cancel()
        await eventually(broker.check)
        assert (await holding.next()).redelivered
        holding.let_go.set()
        await eventually(lambda: broker.publish(wiring.jobs, "work.new", Message(body=b"{}")))
        assert (await holding.next()).routing_key == "work.new"
        await server.stop(drain=0)
        await calls.server(echo)
        assert (await client.call(wiring.query, b"back", timeout=10)).complete == b"back"
    await broker.close()


async def test_an_address_where_nobody_is_names_itself_without_the_password(wiring: Topology, unused_tcp_port: int) -> None:
    """A process that cannot reach its broker names it, and does not wait forever."""
    broker = AmqpBroker(
        f"amqp://user:hunter2@127.0.0.1:{unused_tcp_port}/here", topology=wiring, connect_timeout=0.3, reconnect_interval=0.1
    )
    with pytest.raises(Unavailable) as caught:
        await broker.start()
    assert f"127.0.0.1:{unused_tcp_port}/here" in caught.value.message
    assert "hunter2" not in caught.value.message


async def test_a_server_that_says_nothing_is_given_up(wiring: Topology) -> None:
    """A silent server that accepts connections is not a broker; nothing keeps trying after the error."""
    before = asyncio.all_tasks()
    silent = await asyncio.start_server(_say_nothing, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    broker = AmqpBroker(f"amqp://127.0.0.1:{port}/", topology=wiring, connect_timeout=0.3, reconnect_interval=0.1)
    with pytest.raises(Unavailable, match=str(port)):
        await asyncio.wait_for(broker.start(), 5)
    await asyncio.wait_for(asyncio.gather(*(asyncio.all_tasks() - before), return_exceptions=True), 5)
    silent.close()


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()
    writer.close()


async def test_a_wrong_password_is_told(amqp_url: str, wiring: Topology) -> None:
    """It is another mistake than a wrong address."""
    parts = urlsplit(amqp_url)
    url = parts._replace(netloc=f"{parts.username}:hunter2@{parts.hostname}:{parts.port}").geturl()
    broker = AmqpBroker(url, topology=wiring, connect_timeout=0.5, reconnect_interval=0.4)
    with pytest.raises(Unavailable, match="password") as caught:
        await broker.start()
    assert "hunter2" not in caught.value.message


async def test_a_deleted_queue_is_noticed(broker: AmqpBroker, amqp_url: str) -> None:
    """The check fails while a subscription gets nothing; then the queue is there again with its bindings, and is consumed."""
    handler = Received()
    await broker.consume(broker.topology.work, handler, prefetch=1)
    await broker.check()
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.queue_delete(broker.topology.work, if_unused=False, if_empty=False)
    noticed = asyncio.get_running_loop().create_future()

    async def until_noticed() -> None:
        while not noticed.done():
            try:
                await broker.check()
            except Unavailable as error:
                noticed.set_result(error.message)

    await asyncio.wait_for(until_noticed(), 5)
    assert broker.topology.work in await noticed
    await eventually(broker.check)
    await broker.publish(broker.topology.jobs, "work.after", Message(body=b"{}"))
    assert (await handler.next()).routing_key == "work.after"


async def test_a_channel_error_elsewhere_does_not_end_publishing(broker: AmqpBroker, amqp_url: str) -> None:
    """An exchange deleted by hand is an error of the publishers that meet it; the topology is declared again."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.exchange_delete(broker.topology.jobs)
    with pytest.raises(Unavailable):
        await broker.publish(broker.topology.jobs, "work.sync", Message(body=b"{}"))
    await eventually(lambda: broker.publish(broker.topology.jobs, "work.sync", Message(body=b"{}")))


async def test_an_inbox_is_consumed_anew_after_a_channel_error(broker: AmqpBroker) -> None:
    """A pending call fails immediately as retryable, and the next one works on the same client."""
    async with AsyncExitStack() as stack:
        calls = Calls(broker, LoopClock(), stack)
        client, stuck = await calls.client(), Stuck()
        server = await calls.server(stuck)
        waiting = asyncio.ensure_future(client.call(broker.topology.query, b"", timeout=60))
        await asyncio.wait_for(stuck.begun.get(), 5)
        # Nobody else can cause an error on this channel; this is the way it would come.
        channel = await client._inbox._channel.get_underlay_channel()  # type: ignore[union-attr]
        with pytest.raises(aio_pika.exceptions.ChannelClosed):
            await channel.queue_declare("no-such-queue", passive=True)
        with pytest.raises(Unavailable, match="lost"):
            await asyncio.wait_for(waiting, 5)
        await server.stop(drain=0)
        await calls.server(echo)
        assert (await client.call(broker.topology.query, b"again", timeout=10)).complete == b"again"


async def test_other_settings_of_a_queue_are_told(amqp_url: str, wiring: Topology) -> None:
    """A queue left by something else is an error at the start that names it."""
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        await channel.declare_queue(wiring.work, durable=True)
    broker = AmqpBroker(amqp_url, topology=wiring, connect_timeout=5)
    with pytest.raises(Unavailable, match=wiring.work):
        await broker.start()


async def test_headers_of_strangers_do_no_harm(broker: AmqpBroker, amqp_url: str) -> None:
    """Headers of unsupported types are left out; counters that are not numbers count as zero."""
    handler = Received()
    await broker.consume(broker.topology.submit, handler, prefetch=1)
    headers = {"table": {"a": 1}, "list": [1], "x-mine": "y", "none": None, "dashwright-attempt": "many", "text": "kept"}
    async with await aio_pika.connect(amqp_url) as connection:
        channel = await connection.channel()
        exchange = await channel.get_exchange(broker.topology.jobs, ensure=False)
        await exchange.publish(aio_pika.Message(b"{}", headers=headers), "submit.default")  # type: ignore[arg-type]
    delivery = await handler.next()
    assert delivery.attempt == 1
    assert delivery.message.headers == {"dashwright-attempt": "many", "text": "kept"}


async def test_a_missing_virtual_host_is_told(amqp_url: str, wiring: Topology) -> None:
    """The broker runs and takes the user; what is missing is named."""
    broker = AmqpBroker(f"{amqp_url}-none", topology=wiring, connect_timeout=0.5, reconnect_interval=0.4)
    with pytest.raises(Unavailable, match="check that it has the virtual host"):
        await broker.start()
