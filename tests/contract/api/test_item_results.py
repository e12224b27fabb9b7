"""Messages with the results of a batch's items, sent to the reply address of the submission, over RabbitMQ."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel, AbstractIncomingMessage, AbstractQueue
from tests.contract.api.batch_client import BATCHES, BatchClient, batch_workers, evaluation
from tests.contract.api.conftest import ADMIN, StartApi
from tests.contract.api.test_batches import INVALID

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import Unavailable
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.jobs_worker.batches.item_replies import ItemReplySender
from dashwright.jobs_worker.stores import item_replies

DIRECT_REPLY_TO = "amq.rabbitmq.reply-to"


class Submitter:
    """A program that submits the items of the batch ``b`` and receives their results."""

    def __init__(self, channel: AbstractChannel) -> None:
        self.channel = channel
        self.received: asyncio.Queue[AbstractIncomingMessage] = asyncio.Queue()

    async def submit(self, items: Sequence[Any], *, reply_to: str, closes: bool = True) -> None:
        """Publish items whose results are sent to an address. ``closes`` closes the batch."""
        headers: dict[str, Any] = {"authorization": ADMIN, "dashwright-batch": "b", "dashwright-item-results": True}
        headers["dashwright-close"] = closes
        body = json.dumps(items).encode()
        message = aio_pika.Message(body, headers=headers, reply_to=reply_to, correlation_id="c", message_id="m")
        exchange = await self.channel.get_exchange("dashwright.jobs", ensure=False)
        await exchange.publish(message, "submit.default")

    async def consume(self, queue: AbstractQueue, *, no_ack: bool = True) -> None:
        """Begin to receive the messages of a queue."""
        await queue.consume(self.received.put, no_ack=no_ack)

    async def results(self, count: int) -> list[tuple[str | None, str | None, dict[str, Any]]]:
        """Return message id, correlation id and body of the next results, in the order of the items. Skip the reply to the submission."""
        results: list[tuple[str | None, str | None, dict[str, Any]]] = []
        async with asyncio.timeout(30):
            while len(results) < count:
                message = await self.received.get()
                if message.headers.get("dashwright-batch") == "b":
                    results.append((message.message_id, message.correlation_id, json.loads(message.body)))
        return sorted(results, key=lambda result: result[2]["index"])


@pytest.fixture
def broker(rabbitmq_broker: AmqpBroker) -> AmqpBroker:
    """Replace the broker of the gateways."""
    return rabbitmq_broker


@pytest.fixture
async def client(start_api: StartApi, database: Database, broker: AmqpBroker, tmp_path: Path) -> AsyncIterator[BatchClient]:
    """Start a gateway and workers, and yield a client of batches."""
    async with batch_workers(database, broker, data_dir=tmp_path, permitted_paths=str(tmp_path)):
        yield BatchClient(await start_api())


@pytest.fixture
async def submitter(amqp_url: str) -> AsyncIterator[Submitter]:
    """Yield a submitter that is connected to RabbitMQ."""
    async with await aio_pika.connect(amqp_url) as connection:
        yield Submitter(await connection.channel())


@pytest.fixture(autouse=True)
def rounds(monkeypatch: pytest.MonkeyPatch) -> asyncio.Queue[None]:
    """Record each round of the sender."""
    run_once, rounds = ItemReplySender.run_once, asyncio.Queue[None]()

    async def run_and_record(sender: ItemReplySender) -> None:
        """Run a round of the sender, and record its end even if it fails."""
        try:
            await run_once(sender)
        finally:
            rounds.put_nowait(None)

    monkeypatch.setattr(ItemReplySender, "run_once", run_and_record)
    return rounds


async def wait_until_all_sent(client: BatchClient, rounds: asyncio.Queue[None]) -> None:
    """Wait until the batch has ended and no result is left to send."""
    await client.wait_for_end("b")
    async with asyncio.timeout(30):
        while await client.api.sql("select exists (select from batch_item where not is_replied)"):
            await rounds.get()


@pytest.mark.parametrize("is_direct", [False, True], ids=["queue", "direct reply-to"])
async def test_each_item_has_a_message(client: BatchClient, submitter: Submitter, is_direct: bool, rounds: asyncio.Queue[None]) -> None:
    """Each result is one message, whose body is the line in the results of the batch. A retry sends another message with another id."""
    if is_direct:
        queue = await submitter.channel.get_queue(DIRECT_REPLY_TO, ensure=False)
    else:
        queue = await submitter.channel.declare_queue(exclusive=True)
    await submitter.consume(queue)
    await submitter.submit([evaluation(1), evaluation(2, expression=INVALID)], reply_to=queue.name)
    (first_id, correlation_id, first), (second_id, _, second) = await submitter.results(2)
    assert correlation_id == "c"
    assert first["id"] == "m/0"
    assert first["state"] == "success"
    assert second["state"] == "error"
    assert first["result"]["results"]["B"]["frames"][0]["data"]["values"][1] == [2]
    assert second["error"]
    await wait_until_all_sent(client, rounds)
    async with client.api.session.get(f"{BATCHES}/b/results", headers={"Authorization": ADMIN}) as response:
        assert [first, second] == [json.loads(line) for line in (await response.text()).splitlines()]
    assert (await client.post("b", "retry"))[0] == 200
    [(third_id, _, third)] = await submitter.results(1)
    assert (third["index"], third["state"]) == (1, "error")
    assert len({first_id, second_id, third_id}) == 3


@pytest.mark.parametrize("address", ["replies.missing", "direct reply-to of a disconnected client", "notify.default.reports"])
async def test_an_address_without_a_receiver_delays_nothing(
    client: BatchClient, submitter: Submitter, amqp_url: str, address: str, rounds: asyncio.Queue[None]
) -> None:
    """Results for a missing queue, for a disconnected client or for a queue of notifications are dropped."""
    reports = await submitter.channel.declare_queue("notify.default.reports", durable=True)
    if address == "direct reply-to of a disconnected client":
        async with await aio_pika.connect(amqp_url) as connection:
            disconnected = Submitter(await connection.channel())
            await disconnected.consume(await disconnected.channel.get_queue(DIRECT_REPLY_TO, ensure=False))
            await disconnected.submit([evaluation(1), evaluation(2)], reply_to=DIRECT_REPLY_TO)
            await disconnected.received.get()  # the reply to the submission
    else:
        await submitter.submit([evaluation(1), evaluation(2)], reply_to=address)
    await wait_until_all_sent(client, rounds)
    # The queue has no result, and at most the reply to the submission.
    while (message := await reports.get(fail=False)) is not None:
        assert "index" not in json.loads(message.body)


async def test_a_worker_that_dies_before_the_record_repeats_the_messages(
    client: BatchClient, submitter: Submitter, rounds: asyncio.Queue[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results are recorded after the broker has accepted them, so that a crash in between repeats them with the same ids."""
    record = item_replies.record
    has_crashed = False

    async def crash_once(connection: Connection, *arguments: Any) -> None:
        """Fail once instead of recording that results were sent."""
        nonlocal has_crashed
        if not has_crashed:
            has_crashed = True
            raise Unavailable("the worker dies")
        await record(connection, *arguments)

    monkeypatch.setattr(item_replies, "record", crash_once)
    queue = await submitter.channel.declare_queue(exclusive=True)
    await submitter.consume(queue)
    await submitter.submit([evaluation(1)], reply_to=queue.name)
    first, second = await submitter.results(2)
    assert first == second
    await wait_until_all_sent(client, rounds)


async def test_a_full_queue_delays_its_results_only(client: BatchClient, submitter: Submitter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that a full queue refuses are sent when it has room. Results of other batches are sent without delay."""
    list_batches, has_ended = item_replies.list_batches, asyncio.Event()

    async def list_after_the_end(connection: Connection, *, limit: int) -> Sequence[uuid.UUID]:
        """List batches with results only after the batch has ended."""
        # The results are then in one chunk, of which the broker accepts a part.
        return await list_batches(connection, limit=limit) if has_ended.is_set() else ()

    monkeypatch.setattr(item_replies, "list_batches", list_after_the_end)
    # Room for the reply to the submission and two results.
    full_queue = await submitter.channel.declare_queue("replies.full", arguments={"x-max-length": 3, "x-overflow": "reject-publish"})
    await submitter.submit([evaluation(value) for value in range(5)], reply_to=full_queue.name)
    await client.wait_for_end("b")
    has_ended.set()
    open_queue = await submitter.channel.declare_queue(exclusive=True)
    await client.create("other", items=[evaluation(1)])
    await client.wait_for_end("other")
    await client.api.sql("update batch_item set reply_to = $1 where batch = (select uid from batch where name = 'other')", open_queue.name)
    async with asyncio.timeout(30), open_queue.iterator() as messages:
        async for message in messages:
            assert message.headers["dashwright-batch"] == "other"
            break
    await submitter.consume(full_queue)
    assert [body["index"] for _, _, body in await submitter.results(5)] == [0, 1, 2, 3, 4]


async def test_a_large_result_is_omitted(client: BatchClient, submitter: Submitter) -> None:
    """A message has at most 64 KiB. It omits a larger result, which can be read from the batch."""
    values = list(range(20_000))
    fields = [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]
    large_evaluation = evaluation(1)
    large_evaluation["spec"]["queries"][0]["rawFrameContent"] = json.dumps(
        [{"schema": {"fields": fields}, "data": {"values": [values, values]}}]
    )
    queue = await submitter.channel.declare_queue(exclusive=True)
    await submitter.consume(queue)
    await submitter.submit([large_evaluation, evaluation(1)], reply_to=queue.name)
    first, second = [body for _, _, body in await submitter.results(2)]
    assert first == {"index": 0, "id": "m/0", "state": "success"}
    assert "result" in second


async def test_a_batch_is_deleted_after_its_results_were_sent(client: BatchClient, submitter: Submitter) -> None:
    """All results are sent before the batch is deleted, even if the batch is kept for 0 seconds after its end."""
    queue = await submitter.channel.declare_queue(exclusive=True)
    await submitter.consume(queue)
    await client.create("b", keep=0)
    await submitter.submit([evaluation(value) for value in range(20)], reply_to=queue.name)
    assert [body["index"] for _, _, body in await submitter.results(20)] == list(range(20))
