"""Notifications of batches over RabbitMQ, which the queue in the spec and the exchange of events receive."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aio_pika
import jsonschema_rs
import pytest
from aio_pika.abc import AbstractChannel, AbstractQueue
from tests.contract.api.batch_client import BatchClient, batch_workers, evaluation
from tests.contract.api.conftest import StartApi
from tests.contract.api.git.sync_environment import wait_until
from tests.contract.api.test_batches import INVALID

from dashwright.api.repositories.queue_contract.document import document
from dashwright.common.database.pool import Database
from dashwright.common.messaging.amqp import AmqpBroker

QUEUE = "notify.default.reports"


@pytest.fixture
def broker(rabbitmq_broker: AmqpBroker) -> AmqpBroker:
    """Replace the broker of the gateways."""
    return rabbitmq_broker


@pytest.fixture
async def channel(amqp_url: str) -> AsyncIterator[AbstractChannel]:
    """Open a channel of a receiver."""
    async with await aio_pika.connect(amqp_url) as connection:
        yield await connection.channel()


@pytest.fixture
async def client(
    start_api: StartApi, database: Database, broker: AmqpBroker, tmp_path: Path, no_delays: None
) -> AsyncIterator[BatchClient]:
    """Start a gateway and workers, and yield a client of batches."""
    async with batch_workers(database, broker, data_dir=tmp_path, permitted_paths=str(tmp_path)):
        yield BatchClient(await start_api())


async def bound_queue(channel: AbstractChannel, key: str) -> AbstractQueue:
    """Return a queue that is bound to the exchange of events."""
    queue = await channel.declare_queue(exclusive=True)
    await queue.bind("dashwright.events", key)
    return queue


async def next_message(queue: AbstractQueue) -> aio_pika.abc.AbstractIncomingMessage:
    """Return the next message of a queue."""
    async with asyncio.timeout(30), queue.iterator() as messages:
        async for message in messages:
            await message.ack()
            return message
    raise AssertionError("the queue has no message")


async def test_the_end_of_a_batch_is_published(client: BatchClient, channel: AbstractChannel) -> None:
    """The queue gets one persistent message with a CloudEvent, whose id is the message id. The exchange of events gets the same body."""
    queue = await channel.declare_queue(QUEUE, durable=True)
    queue_of_events = await bound_queue(channel, "batch.#")
    await client.create("b", items=[evaluation(1)], notify={"queue": QUEUE})
    message = await next_message(queue)
    event = json.loads(message.body)
    asyncapi = document(version="1")
    schema = asyncapi["components"]["messages"]["batchFinished"]["payload"]
    jsonschema_rs.Draft7Validator({"allOf": [schema], "components": asyncapi["components"]}).validate(event)
    assert message.content_type == "application/cloudevents+json"
    assert message.delivery_mode == aio_pika.DeliveryMode.PERSISTENT
    assert (event["type"], event["data"]["status"]["state"], event["id"]) == ("io.dashwright.batch.finished", "success", message.message_id)
    await client.wait_until("b", lambda status: "notified" in status)
    assert await queue.get(fail=False) is None
    assert (await next_message(queue_of_events)).body == message.body


async def test_every_end_is_published_to_the_exchange(client: BatchClient, channel: AbstractChannel) -> None:
    """Each end of a batch without receivers is published, even one after a retry. The status of such a batch has no notification."""
    queue_of_ends = await bound_queue(channel, "batch.#")
    queue_of_errors = await bound_queue(channel, "batch.finished.error.default")
    queue_of_other_org = await bound_queue(channel, "*.*.*.org-2")
    await client.create("good", items=[evaluation(1)])
    assert (await next_message(queue_of_ends)).routing_key == "batch.finished.success.default"
    await client.create("bad", items=[evaluation(1, expression=INVALID)])
    first = await next_message(queue_of_ends)
    assert first.routing_key == "batch.finished.error.default"
    assert (await client.post("bad", "retry"))[0] == 200
    second = await next_message(queue_of_ends)
    assert (await next_message(queue_of_errors)).message_id == first.message_id
    assert (await next_message(queue_of_errors)).message_id == second.message_id
    assert first.message_id != second.message_id
    assert await queue_of_other_org.get(fail=False) is None
    await wait_until(client.api.database, lambda: client.api.sql("select not exists (select from notification)"))
    for name in ("good", "bad"):
        assert not {"notified", "notifyError"} & (await client.status(name)).keys()


async def test_a_missing_queue_is_named_until_it_exists(client: BatchClient, channel: AbstractChannel) -> None:
    """The status says that the queue does not exist. Once the queue is declared, it gets the event."""
    await client.create("b", items=[evaluation(1)], notify={"queue": QUEUE})
    status = await client.wait_until("b", lambda status: "notifyError" in status)
    assert status["notifyError"] == f"the queue '{QUEUE}' does not exist; declare it at the broker"
    queue = await channel.declare_queue(QUEUE, durable=True)
    await next_message(queue)
    assert "notifyError" not in await client.wait_until("b", lambda status: "notified" in status)
