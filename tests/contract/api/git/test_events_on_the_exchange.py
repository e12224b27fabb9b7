"""Events about repositories on the exchange of RabbitMQ, and the limit and metrics of the events that wait to be sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aio_pika
import jsonschema_rs
import pytest
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from prometheus_client import REGISTRY
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.sync_environment import AheadClock, SyncEnvironment, dashboard, wait_until
from tests.servers.git import GitServer

from dashwright.api.repositories.queue_contract.document import document
from dashwright.common.database.pool import Database
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.jobs_worker.notifications.outcomes import NotificationBacklog, NotificationBound

EXCHANGE = "dashwright.events"
#: Statement that inserts $4 waiting events of receiver $1, subject kind $2 and namespace $3. The first one is a second old, and each
#: further event a second older.
INSERT_WAITING_EVENTS = """
    insert into notification (id, receiver, subject_kind, subject, namespace, name, target, host, event, created_at, next_attempt_at)
    select gen_random_uuid(), $1, $2, gen_random_uuid(), $3, 'team', 'chat', 'https://slow.example', '{}',
           now() - n * interval '1 s', now() + interval '1 h'
    from generate_series(1, $4) n
"""


@pytest.fixture
def broker(rabbitmq_broker: AmqpBroker) -> AmqpBroker:
    """Return RabbitMQ as the broker of the gateways, instead of the memory broker."""
    return rabbitmq_broker


@pytest.fixture
async def channel(amqp_url: str, broker: AmqpBroker) -> AsyncIterator[AbstractChannel]:
    """Yield a channel of a receiver. The fixture needs ``broker``, because its start declares the exchange."""
    async with await aio_pika.connect(amqp_url) as connection:
        yield await connection.channel()


@pytest.fixture
async def environment(
    start_api: StartApi, broker: AmqpBroker, git_server: GitServer, tmp_path: Path, no_delays: None
) -> AsyncIterator[SyncEnvironment]:
    """Yield the environment with RabbitMQ and one dashboard in the git repository."""
    environment = SyncEnvironment(
        await start_api(), git_server, git_server.create_repository("team.git"), AheadClock(), broker, tmp_path / "data"
    )
    environment.work_tree.commit({"a.json": dashboard("a", "A")})
    await environment.start()
    yield environment
    await environment.stop()


async def bound_queue(channel: AbstractChannel, key: str, **arguments: Any) -> AbstractQueue:
    """Declare a queue of a receiver and bind it to the events that match a key."""
    queue = await channel.declare_queue(exclusive=True, arguments=arguments)
    await queue.bind(EXCHANGE, key)
    return queue


async def next_message(queue: AbstractQueue) -> AbstractIncomingMessage:
    """Return the next message of a queue."""
    async with asyncio.timeout(30), queue.iterator() as messages:
        async for message in messages:
            await message.ack()
            return message
    raise AssertionError("the queue has no message")


async def test_events_are_routed_by_name_and_organization(environment: SyncEnvironment, channel: AbstractChannel) -> None:
    """A queue receives the events whose type and organization match its key, with the documented schema and the id of the event.

    The repository has no receivers of notifications in its spec.
    """
    all_events_queue = await bound_queue(channel, "repository.#")
    sync_errors_queue = await bound_queue(channel, "repository.sync.error.default")
    other_org_queue = await bound_queue(channel, "repository.*.*.org-2")
    environment.work_tree.commit({"b.json": "{"})
    await environment.create_repository()
    messages = [await next_message(all_events_queue) for _ in range(2)]
    asyncapi = document(version="1")
    schema = jsonschema_rs.Draft7Validator(
        {"allOf": [{"$ref": "#/components/schemas/RepositoryEvent"}], "components": asyncapi["components"]}
    )
    for message in messages:
        event = json.loads(message.body)
        schema.validate(event)
        assert message.content_type == "application/cloudevents+json"
        assert message.delivery_mode is aio_pika.DeliveryMode.PERSISTENT
        assert message.message_id == event["id"]
        assert f"io.dashwright.{message.routing_key}" == f"{event['type']}.default"
    assert {message.routing_key for message in messages} == {"repository.sync.error.default", "repository.quarantine.entered.default"}
    assert (await next_message(sync_errors_queue)).routing_key == "repository.sync.error.default"
    assert await other_org_queue.get(fail=False) is None


async def test_events_without_a_queue_do_not_accumulate(environment: SyncEnvironment) -> None:
    """If no queue is bound to the exchange, events do not wait in the database."""
    await environment.create_repository()

    async def is_empty() -> bool:
        """Return whether no event waits."""
        return bool(await environment.api.sql("select not exists (select from notification)"))

    await wait_until(environment.api.database, is_empty)


async def test_an_event_that_a_full_queue_refuses_is_repeated(environment: SyncEnvironment, channel: AbstractChannel) -> None:
    """An event that a full queue refuses is sent again, until the queue accepts it."""
    queue = await bound_queue(channel, "repository.sync.#", **{"x-max-length": 1, "x-overflow": "reject-publish"})
    await environment.create_repository()
    environment.work_tree.commit({"a.json": dashboard("a", "B")})
    await environment.advance()
    commits: set[str] = set()
    # The queue has space for one event, so the second one is refused until the test reads the first. An event may arrive twice.
    while len(commits) < 2:
        commits.add(json.loads((await next_message(queue)).body)["data"]["commit"])


async def test_the_waiting_events_of_an_organization_are_bounded(database: Database) -> None:
    """The newest 10,000 of an organization's 13,000 events remain. Other organizations, and webhooks of batches, lose no event."""
    # In one transaction, now() is the same for all events, so that the two types of receivers have as many of the newest ones.
    async with database.transaction() as connection:
        await connection.execute(INSERT_WAITING_EVENTS, "webhook", "repository", "default", 6_500)
        await connection.execute(INSERT_WAITING_EVENTS, "exchange", "batch", "default", 6_500)
        await connection.execute(INSERT_WAITING_EVENTS, "webhook", "batch", "default", 10)
        await connection.execute(INSERT_WAITING_EVENTS, "webhook", "repository", "org-2", 100)
    await NotificationBound(database, keep=10_000).run_once()
    async with database.connection() as connection:
        # Events are one second apart: the newest 5,000 of a kind are younger than 5,100 seconds, and the next 1,400 are not.
        rows = await connection.fetch(
            "select namespace, subject_kind, receiver, count(*), min(created_at) > now() - interval '5100 s' as are_newest "
            "from notification group by namespace, subject_kind, receiver order by namespace, subject_kind, receiver"
        )
    assert [tuple(row) for row in rows] == [
        ("default", "batch", "exchange", 5_000, True),
        ("default", "batch", "webhook", 10, True),
        ("default", "repository", "webhook", 5_000, True),
        ("org-2", "repository", "webhook", 100, True),
    ]


async def test_the_waiting_events_are_measured_by_receiver(database: Database) -> None:
    """For each type of receiver, a metric has the number of waiting events, and another one the age of the oldest event, or 0."""

    async def measure(receiver: str) -> tuple[float | None, float | None]:
        """Return the number of waiting events of a type of receiver, and the age of the oldest one in seconds."""
        await NotificationBacklog(database).run_once()
        labels = {"receiver": receiver}
        names = ("dashwright_notifications_waiting", "dashwright_notifications_oldest_seconds")
        waiting, oldest = (REGISTRY.get_sample_value(name, labels) for name in names)
        return waiting, oldest

    async with database.connection() as connection:
        await connection.execute(INSERT_WAITING_EVENTS, "webhook", "repository", "default", 100)
        await connection.execute(INSERT_WAITING_EVENTS, "webhook", "batch", "org-2", 20)
        waiting, oldest = await measure("webhook")
        assert waiting == 100 + 20
        assert oldest is not None
        # The oldest event was inserted with an age of 100 s. A slow machine may take some seconds more.
        assert 100 <= oldest < 160
        assert await measure("exchange") == (0, 0)
        # An event without a time of its next attempt does not wait.
        await connection.execute("update notification set next_attempt_at = null")
        assert await measure("webhook") == (0, 0)
