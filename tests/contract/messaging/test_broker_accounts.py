"""Each account of the broker's definitions has exactly the permissions that its service needs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from secrets import token_hex
from urllib.parse import urlsplit

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage
from aiormq.exceptions import ChannelAccessRefused
from deploy import definitions as accounts
from tests.contract.messaging.calls import echo
from tests.contract.messaging.handlers import RecordingHandler
from tests.servers.virtual_hosts import VirtualHosts
from tests.signer import SIGNER

from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.message import Message
from dashwright.common.messaging.rpc import RpcClient, RpcServer
from dashwright.common.messaging.topology import TOPOLOGY

#: Function from the name of an account to the broker's URL with its credentials.
AddressOf = Callable[[str], str]

#: Name of an account that receives events, with the permissions of docs/reference/notifications.md.
RECEIVER = "receiver"
#: The queues that the receiver may configure and write: those with a name that the broker has generated.
OWN_QUEUES = r"^amq\.gen-.*$"
#: The exchange and the queues that the receiver may read.
EVENTS_AND_OWN_QUEUES = r"^(dashwright\.events|amq\.gen-.*)$"
#: Topic keys by which the receiver may bind a queue to the exchange of events.
EVENT_KEYS = r"^([a-z]+|\*)\.([a-z]+|\*)\.([a-z]+|\*)\.default$"


@pytest.fixture
async def address(request: pytest.FixtureRequest, amqp_url: str, _virtual_hosts: VirtualHosts) -> AsyncIterator[AddressOf]:
    """Load the definitions, without the parts that a test names, into a virtual host. Yield a function from an account to its URL."""
    # The suffix makes the names of accounts unique, because all virtual hosts of a broker share its accounts.
    suffix, parts = f"_{token_hex(4)}", urlsplit(amqp_url)
    definitions = accounts.definitions(vhost=parts.path[1:], suffix=suffix, namespace="default")
    definitions |= {part: [] for part in getattr(request, "param", ())}
    account = {"user": f"{RECEIVER}{suffix}", "vhost": parts.path[1:]}
    definitions["users"].append({"name": account["user"], "tags": []})
    definitions["permissions"].append({**account, "configure": OWN_QUEUES, "write": OWN_QUEUES, "read": EVENTS_AND_OWN_QUEUES})
    definitions["topic_permissions"].append({**account, "exchange": TOPOLOGY.events, "write": "^$", "read": EVENT_KEYS})
    for user in definitions["users"]:
        user["password"] = "hush"
    await _virtual_hosts.load(definitions)
    yield lambda name: parts._replace(netloc=f"{name}{suffix}:hush@{parts.hostname}:{parts.port}").geturl()
    for user in definitions["users"]:
        await _virtual_hosts.remove_account(user["name"])


async def test_services_work_with_the_accounts_of_the_stack(address: AddressOf) -> None:
    """With accounts that may not declare anything, services consume, call, reply, wake workers, postpone messages and dead-letter them."""
    api, worker = AmqpBroker(address(accounts.API)), AmqpBroker(address(accounts.EXPRESSIONS))
    jobs = AmqpBroker(address(accounts.JOBS_WORKER))
    for broker in (api, worker, jobs):
        await broker.start()
    try:
        server, client = RpcServer(worker, TOPOLOGY.query, echo, SIGNER, prefetch=1), RpcClient(api, SIGNER)
        await server.start()
        await client.start()
        assert (await client.call(TOPOLOGY.query, b"x", timeout=10)).complete_body == b"x"
        await client.close()
        await server.stop(drain=1)
        wakeups, submissions = RecordingHandler(), RecordingHandler()
        for queue in (TOPOLOGY.work, TOPOLOGY.probe, TOPOLOGY.repositories, TOPOLOGY.dead_work):
            await jobs.consume(queue, wakeups, prefetch=1)
        await api.consume(TOPOLOGY.submit, submissions, prefetch=1)
        for broker, key in ((api, "work.sync"), (jobs, "work"), (worker, "work")):
            await broker.publish(TOPOLOGY.jobs, key, Message(body=key.encode()))
            assert (await wakeups.next()).routing_key == key
        # Postponed messages would be delivered only after the test.
        for tier in TOPOLOGY.retry_delays:
            await jobs.publish(tier.exchange, "work.sync", Message(body=b"later"))
        await worker.publish(TOPOLOGY.dead, "evaluate", Message(body=b"dead"))
        assert (await wakeups.next()).message.body == b"dead"
        for broker in (api, worker, jobs):
            await broker.check()
    finally:
        for broker in (api, worker, jobs):
            await broker.close()


async def test_a_submitter_receives_the_response(address: AddressOf) -> None:
    """A submitter publishes for its namespace and receives the response on its reply queue or by direct reply-to."""
    api, submissions = AmqpBroker(address(accounts.API)), RecordingHandler()
    await api.start()
    connection = await aio_pika.connect(address(accounts.SUBMITTER))
    try:
        await api.consume(TOPOLOGY.submit, submissions, prefetch=4)
        channel = await connection.channel()
        replies = await channel.declare_queue(exclusive=True)
        direct = await channel.get_queue("amq.rabbitmq.reply-to", ensure=False)
        received: asyncio.Queue[bytes] = asyncio.Queue()

        async def receive(message: AbstractIncomingMessage) -> None:
            received.put_nowait(message.body)

        await direct.consume(receive, no_ack=True)
        exchange = await channel.get_exchange(TOPOLOGY.jobs, ensure=False)
        for reply_to in (replies.name, "amq.rabbitmq.reply-to"):
            await exchange.publish(aio_pika.Message(b"{}", reply_to=reply_to), "submit.default")
            reply_address = (await submissions.next()).message.reply_to
            assert reply_address is not None
            await api.reply(reply_address, Message(body=b"Job"))
        response = await replies.get(timeout=5)
        assert response.body == b"Job"
        assert await asyncio.wait_for(received.get(), 5) == b"Job"
    finally:
        await connection.close()
        await api.close()


async def publish(channel: AbstractChannel, exchange: str, key: str) -> None:
    """Publish an empty object with a routing key."""
    target = channel.default_exchange if exchange == "" else await channel.get_exchange(exchange, ensure=False)
    await target.publish(aio_pika.Message(b"{}"), key)


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param(lambda channel: publish(channel, "", TOPOLOGY.query), id="send a request to a worker"),
        pytest.param(lambda channel: publish(channel, "", TOPOLOGY.repositories), id="send a request about files"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.jobs, "submit.org-2"), id="submit for another organization"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.jobs, "submit.default.x"), id="submit by another key"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.jobs, "work.sync"), id="wake a worker"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.jobs, "evaluate"), id="wake an evaluation"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.dead, "work.sync"), id="dead-letter a wake-up"),
        pytest.param(lambda channel: publish(channel, TOPOLOGY.retry_delays[0].exchange, "work.sync"), id="postpone a wake-up"),
        pytest.param(lambda channel: channel.declare_queue("mine"), id="declare a queue"),
        pytest.param(lambda channel: channel.declare_exchange("mine"), id="declare an exchange"),
        pytest.param(lambda channel: channel.queue_delete(TOPOLOGY.query), id="delete a queue"),
        pytest.param(lambda channel: _consume(channel, TOPOLOGY.query), id="read requests"),
        pytest.param(lambda channel: _consume(channel, TOPOLOGY.submit), id="read submissions"),
        pytest.param(lambda channel: _bind(channel), id="listen to an exchange"),
    ],
)
async def test_a_submitter_may_do_nothing_else(address: AddressOf, operation: Callable[[AbstractChannel], object]) -> None:
    """The broker refuses operations of a submitter that are not part of a submission to its namespace."""
    connection = await aio_pika.connect(address(accounts.SUBMITTER))
    try:
        with pytest.raises(ChannelAccessRefused):
            await operation(await connection.channel())  # type: ignore[misc]
    finally:
        await connection.close()


async def _ignore(_: AbstractIncomingMessage) -> None:
    """Consume a message without effect."""


async def _consume(channel: AbstractChannel, queue: str) -> None:
    """Begin to consume an existing queue."""
    await (await channel.get_queue(queue, ensure=False)).consume(_ignore)


async def _bind(channel: AbstractChannel) -> None:
    """Bind an own queue to all messages of the jobs exchange."""
    await (await channel.declare_queue(exclusive=True)).bind(TOPOLOGY.jobs, "#")


@pytest.mark.parametrize(
    ("key", "event"),
    [
        ("repository.sync.error.default", "repository.sync.error.default"),
        ("repository.sync.*.default", "repository.sync.error.default"),
        ("repository.*.*.default", "repository.sync.error.default"),
        ("batch.finished.error.default", "batch.finished.error.default"),
        ("*.*.*.default", "batch.finished.error.default"),
    ],
)
async def test_a_receiver_gets_the_events_of_its_organization(address: AddressOf, key: str, event: str) -> None:
    """A receiver with the documented permissions binds a queue of its own by a key, and receives matching events of the jobs worker."""
    jobs, connection = AmqpBroker(address(accounts.JOBS_WORKER)), await aio_pika.connect(address(RECEIVER))
    await jobs.start()
    try:
        queue = await (await connection.channel()).declare_queue(exclusive=True)
        await queue.bind(TOPOLOGY.events, key)
        await jobs.publish(TOPOLOGY.events, event, Message(body=b"event"))
        assert (await queue.get(timeout=5)).body == b"event"
    finally:
        await connection.close()
        await jobs.close()


@pytest.mark.parametrize(
    "key", ["#", "repository.#", "batch.#", "*.*.*.*", "repository.sync.error.*", "batch.finished.error.org-2", "*.*.*.org-2"]
)
async def test_a_receiver_gets_no_event_of_another_organization(address: AddressOf, key: str) -> None:
    """The broker refuses a binding by a key that matches events of another organization."""
    connection = await aio_pika.connect(address(RECEIVER))
    try:
        queue = await (await connection.channel()).declare_queue(exclusive=True)
        with pytest.raises(ChannelAccessRefused):
            await queue.bind(TOPOLOGY.events, key)
    finally:
        await connection.close()


@pytest.mark.parametrize("name", [accounts.API, accounts.EXPRESSIONS, accounts.SUBMITTER, RECEIVER])
async def test_only_the_jobs_worker_publishes_events(address: AddressOf, name: str) -> None:
    """The broker refuses events of all accounts but the jobs worker's, so that receivers can trust them."""
    connection = await aio_pika.connect(address(name))
    try:
        with pytest.raises(ChannelAccessRefused):
            await publish(await connection.channel(), TOPOLOGY.events, "repository.sync.error.default")
    finally:
        await connection.close()


async def test_a_service_reads_no_queue_of_another(address: AddressOf) -> None:
    """A service cannot read requests, which contain identities, from the queue of another service."""
    queues = {queue for names in accounts.consumed_queues(TOPOLOGY).values() for queue in names}
    for name, own_queues in accounts.consumed_queues(TOPOLOGY).items():
        connection = await aio_pika.connect(address(name))
        try:
            for queue in sorted(queues - set(own_queues)):
                with pytest.raises(ChannelAccessRefused):
                    await _consume(await connection.channel(), queue)
        finally:
            await connection.close()


@pytest.mark.parametrize("address", [("queues", "bindings")], indirect=True)
async def test_a_missing_definition_is_named(address: AddressOf) -> None:
    """An account that may not declare a missing queue or exchange cannot start, and the error says what to import."""
    broker = AmqpBroker(address(accounts.API), connect_timeout=5)
    with pytest.raises(Unavailable, match="may not declare it; import the definitions of deploy/rabbitmq"):
        await broker.start()
