"""Batches and their items through the queue, over a gateway with a real database and without workers."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final

import orjson
import pytest
from structlog.testing import capture_logs
from tests.contract.api import repositories
from tests.contract.api.batch_client import BATCHES, evaluation
from tests.contract.api.conftest import ADMIN, Api, StartApi, case_id

from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.message import Header, Message

AUTHORIZED: Final[Mapping[str, Header]] = {"authorization": ADMIN}
SYNC_ITEM: Final = {"spec": {"action": "sync", "repository": "team", "sync": {}}}
SPEC: Final = {"priority": 4, "keep": 60}

SendMessage = Callable[..., Awaitable[Any]]


@pytest.fixture
async def send_message(api: Api, broker: MemoryBroker) -> AsyncIterator[SendMessage]:
    """Yield a function that publishes a message and returns its reply. The first message has the correlation id 0."""
    waiting: dict[str, asyncio.Future[Any]] = {}
    correlation_ids = itertools.count()

    def receive(message: Message) -> None:
        """Pass a reply to the sender that waits for it."""
        assert message.correlation_id is not None
        waiting.pop(message.correlation_id).set_result(orjson.loads(message.body))

    inbox = await broker.inbox(receive, lambda: None, confirmed=True)

    async def publish(body: Any, *, batch: str | None = "b", headers: Mapping[str, Header] = AUTHORIZED, **properties: Any) -> Any:
        """Publish a message for a batch and return the reply. Without ``batch``, the body names the batch."""
        correlation_id = str(next(correlation_ids))
        batch_header = {} if batch is None else {"dashwright-batch": batch}
        message = Message(
            body=orjson.dumps(body),
            headers={**headers, **batch_header},
            reply_to=inbox._address,
            correlation_id=correlation_id,
            **properties,
        )
        waiting[correlation_id] = asyncio.get_running_loop().create_future()
        await broker.publish(broker.topology.jobs, "submit.default", message)
        async with asyncio.timeout(30):
            return await waiting[correlation_id]

    yield publish
    await inbox.close()


async def stored_items(api: Api) -> list[tuple[int, str]]:
    """Return index and id of each stored item, in the order of the indexes."""
    async with api.database.connection() as connection:
        return [(row["index"], row["id"]) for row in await connection.fetch("select index, id from batch_item order by index")]


def verdicts(reply: Any) -> list[tuple[int | None, str | None, str]]:
    """Return index, id and status of each item of a reply."""
    assert reply["kind"] == "BatchSubmission", reply
    return [(item.get("index"), item.get("id"), item["status"]) for item in reply["items"]]


async def test_items_create_their_batch_and_close_it(api: Api, send_message: SendMessage) -> None:
    """The first message creates the batch with a default spec, and a message with the header dashwright-close closes the batch."""
    reply = await send_message(evaluation(1, item_id="a"))
    assert reply == {
        "kind": "BatchSubmission",
        "apiVersion": "jobs.dashwright.io/v0alpha1",
        "batch": "b",
        "items": [{"index": 0, "id": "a", "status": "accepted"}],
    }
    reply = await send_message([evaluation(1, item_id="a"), evaluation(2, item_id="c")], headers={**AUTHORIZED, "dashwright-close": True})
    assert verdicts(reply) == [(0, "a", "duplicate"), (1, "c", "accepted")]
    assert await api.sql("select is_closed from batch")


async def test_a_redelivered_message_adds_nothing(api: Api, send_message: SendMessage) -> None:
    """Items without ids get ids from their message, so a redelivery has only duplicates, even after the end of the batch."""
    body, headers = [evaluation(1), evaluation(2)], {**AUTHORIZED, "dashwright-close": "true"}
    first = await send_message(body, headers=headers, message_id="m")
    assert verdicts(first) == [(0, "m/0", "accepted"), (1, "m/1", "accepted")]
    assert verdicts(await send_message(body, headers=headers, message_id="m")) == [(0, "m/0", "duplicate"), (1, "m/1", "duplicate")]
    await api.sql("update batch set finished_at = now()")
    assert verdicts(await send_message(body, headers=headers, message_id="m")) == [(0, "m/0", "duplicate"), (1, "m/1", "duplicate")]
    assert await stored_items(api) == [(0, "m/0"), (1, "m/1")]


async def test_concurrent_messages_are_added_before_the_batch_is_closed(api: Api, send_message: SendMessage) -> None:
    """Messages that are published together are all added, although the last one closes the batch."""
    bodies = [[evaluation(number, item_id=f"{message}-{number}") for number in range(3)] for message in range(40)]
    closing = {**AUTHORIZED, "dashwright-close": True}
    replies = await asyncio.gather(*(send_message(body) for body in bodies), send_message([], headers=closing))
    assert all(item["status"] == "accepted" for reply in replies for item in reply["items"])
    assert sorted(index for index, _ in await stored_items(api)) == list(range(120))
    assert await api.sql("select is_closed and total = 120 from batch")
    # One event for each of the 40 messages, and one for the closing message.
    assert await api.sql("select count(*) from audit_event where action = 'batch.submit'") == 41
    assert await api.sql("select count(*) from resource where resource = 'batches'") == 1


async def test_concurrent_messages_share_a_transaction(api: Api, send_message: SendMessage) -> None:
    """Messages that arrive during a commit are committed together."""
    await send_message([evaluation(0)])
    await asyncio.gather(*(send_message(evaluation(number)) for number in range(60)))
    transactions = await api.sql("select count(distinct xmin::text) from batch_item")
    # Far fewer transactions than messages; the exact number depends on the speed of the machine.
    assert transactions < 20


async def test_a_late_message_is_added_until_the_batch_has_ended(api: Api, send_message: SendMessage) -> None:
    """A batch that was closed through the queue accepts messages that arrive late. A batch that has ended refuses them."""
    await send_message(evaluation(1, item_id="a"), headers={**AUTHORIZED, "dashwright-close": True})
    assert verdicts(await send_message(evaluation(2, item_id="late"))) == [(1, "late", "accepted")]
    await api.sql("update batch set finished_at = now()")
    refusal = await send_message(evaluation(3, item_id="later"))
    assert refusal["kind"] == "Status"
    assert refusal["code"] == 409
    assert "has ended" in refusal["message"]


async def test_a_batch_closed_over_http_accepts_no_messages(api: Api, send_message: SendMessage) -> None:
    """Further items of a batch that was closed over HTTP get a conflict as reply."""
    await send_message(evaluation(1, item_id="a"))
    assert (await api("POST", f"{BATCHES}/b/close"))[0] == 200
    assert (await send_message(evaluation(2)))["code"] == 409


async def test_a_batch_is_created_with_a_spec(api: Api, send_message: SendMessage) -> None:
    """A message with a Batch creates the batch, and its repetition returns the same batch. A Batch with another spec is a conflict."""
    batch = {"kind": "Batch", "metadata": {"name": "b"}, "spec": SPEC}
    replies = await asyncio.gather(send_message(batch, batch=None), send_message(evaluation(1, item_id="a")))
    assert (replies[0]["spec"]["priority"], verdicts(replies[1])) == (4, [(0, "a", "accepted")])
    assert (await send_message(batch, batch=None))["metadata"]["uid"] == replies[0]["metadata"]["uid"]
    assert (await send_message({**batch, "spec": {"priority": 5}}, batch=None))["reason"] == "AlreadyExists"
    assert (await api("GET", f"{BATCHES}/b"))[1]["spec"]["keep"] == 60


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"kind": "Batch", "spec": {}}, "metadata.name is missing"),
        ({"kind": "Batch", "metadata": {"name": "b"}, "spec": {"weights": 1}}, 'unknown field "spec.weights"'),
        ({"kind": "Batch", "metadata": {"name": "b"}, "spec": {"priority": 9}}, "spec.priority"),
        ({"kind": "Batch", "metadata": []}, "metadata"),
    ],
    ids=case_id,
)
async def test_an_invalid_batch_is_refused(api: Api, send_message: SendMessage, body: Any, message: str) -> None:
    """The reply to an invalid batch is a Status that names the fault, and no batch is created."""
    refusal = await send_message(body, batch=None)
    assert refusal["kind"] == "Status", refusal
    assert message in refusal["message"], refusal
    assert await api.sql("select count(*) from batch") == 0


@pytest.mark.parametrize(
    ("body", "batch", "message"),
    [
        ([], "b", "the list of items is empty"),
        ([{}] * 1001, "b", "1,001 items, more than the 1,000"),
        (evaluation(1), "Not A Name", "Not A Name"),
        (evaluation(1), "", "name"),
    ],
    ids=case_id,
)
async def test_an_invalid_message_is_refused(api: Api, send_message: SendMessage, body: Any, batch: str, message: str) -> None:
    """The reply to an invalid message is a Status, and nothing is stored."""
    refusal = await send_message(body, batch=batch)
    assert refusal["kind"] == "Status", refusal
    assert message in refusal["message"], refusal
    assert await api.sql("select count(*) from batch") == 0


async def test_items_without_credentials_may_only_be_syncs(api: Api, send_message: SendMessage) -> None:
    """The queue identity may create batches, and may add to them only the jobs that it may also submit alone."""
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    export = {"spec": {"repository": "team", "export": {}}}
    reply = await send_message([SYNC_ITEM, evaluation(1), export], headers={}, message_id="m")
    assert [item["status"] for item in reply["items"]] == ["accepted", "refused", "refused"]
    assert [item["index"] for item in reply["items"]] == [0, 1, 2]
    assert reply["items"][1]["message"].startswith("[1]: queue:default may not submit evaluations")


async def test_refused_items_without_reply_to_are_a_dead_letter(api: Api, broker: MemoryBroker) -> None:
    """The accepted items of a message are stored, and a dead letter names the refused items."""
    body = orjson.dumps([evaluation(1, item_id="a"), {"id": "wrong"}])
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=body, headers={**AUTHORIZED, "dashwright-batch": "b"}))
    async with asyncio.timeout(30):
        while not await api.sql("select count(*) from dead_letter"):
            pass
    assert await api.sql("select reason from dead_letter") == "1 of 2 items are refused: [1]: spec: Field required"
    assert await stored_items(api) == [(0, "a")]


@pytest.mark.parametrize(
    ("header", "correlation_id"),
    # The first message of a test has the correlation id 0.
    [({}, None), ({"dashwright-item-results": True}, "0")],
    ids=["without the header", "with the header"],
)
async def test_results_of_items_are_requested_by_a_header(
    api: Api, send_message: SendMessage, header: dict[str, Header], correlation_id: str | None
) -> None:
    """Only if a message has the header, the reply address and correlation id of the message are stored with its items."""
    await send_message(evaluation(1), headers={**AUTHORIZED, **header})
    assert await api.sql("select correlation_id from batch_item") == correlation_id
    reply_to = await api.sql("select reply_to from batch_item")
    if header:
        assert reply_to is not None
    else:
        assert reply_to is None


async def test_a_message_waits_while_too_many_items_wait(start_api: StartApi, broker: MemoryBroker) -> None:
    """A message whose items do not all fit is delayed as a whole, and nothing of it is stored."""
    api = await start_api(waiting_jobs=3)
    headers = {**AUTHORIZED, "dashwright-batch": "b"}

    async def submit(message_id: str) -> None:
        """Publish a message with two items and no reply address."""
        body = orjson.dumps([evaluation(1), evaluation(2)])
        await broker.publish(broker.topology.jobs, "submit.default", Message(body=body, headers=headers, message_id=message_id))

    with capture_logs() as logs:
        async with asyncio.timeout(30):
            await submit("first")
            while await api.sql("select count(*) from batch_item") < 2:
                pass
            await submit("second")
            while not any(line["event"] == "submission_delayed" for line in logs):
                await api.sql("select 1")  # Other tasks run until the response of the database.
    assert await stored_items(api) == [(0, "first/0"), (1, "first/1")]
    assert await api.sql("select count(*) from dead_letter") == 0
