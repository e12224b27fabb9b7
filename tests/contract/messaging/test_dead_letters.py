"""Dead letters: they are kept for operators without secrets, and do not occupy the slot of a consumer."""

import asyncio

import pytest
from tests.contract.messaging.handlers import RecordingHandler

from dashwright.common.errors import Conflict
from dashwright.common.messaging import amqp_subscription, memory
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry
from dashwright.common.messaging.message import REASON, Delivery, Message

#: The size of a large message, and the maximum size of messages that the test sets, in bytes.
BODY_SIZE, LIMIT = 3000, 1000


async def test_dead_wakeups_and_dead_submissions_have_separate_queues(broker: Broker) -> None:
    """Dead wake-ups of jobs and evaluations are in one queue, and dead submissions and requests in another queue."""
    topology = broker.topology
    wakeup_letters, submission_letters = RecordingHandler(), RecordingHandler()
    for queue in (topology.work, topology.evaluate, topology.submit, topology.query):
        await broker.consume(queue, RecordingHandler(lambda _: DeadLetter("no")), prefetch=1)
    for exchange, key in (
        (topology.jobs, "work.sync"),
        (topology.jobs, "submit.default"),
        (topology.jobs, "evaluate"),
        ("", topology.query),
    ):
        await broker.publish(exchange, key, Message(body=b"{}"))
    await broker.consume(topology.dead_work, wakeup_letters, prefetch=1)
    await broker.consume(topology.dead, submission_letters, prefetch=1)
    assert {(await wakeup_letters.next()).routing_key for _ in range(2)} == {"work.sync", "evaluate"}
    assert {(await submission_letters.next()).routing_key for _ in range(2)} == {"submit.default", topology.query}
    assert wakeup_letters.is_empty
    assert submission_letters.is_empty


async def test_dead_letters_carry_no_credentials(broker: Broker) -> None:
    """A retried message has its credentials, which the next attempt needs. A dead letter has none."""
    topology = broker.topology
    handler = RecordingHandler(lambda delivery: Retry(0.1, "later") if delivery.attempt == 1 else DeadLetter("no"))
    dead_letters = RecordingHandler()
    await broker.consume(topology.submit, handler, prefetch=1)
    await broker.consume(topology.dead, dead_letters, prefetch=1)
    await broker.publish(topology.jobs, "submit.default", Message(body=b"{}", headers={"authorization": "Basic c2VjcmV0", "kept": "yes"}))
    for _ in ("first attempt", "second attempt"):
        assert (await handler.next()).message.headers["authorization"] == "Basic c2VjcmV0"
    headers = (await dead_letters.next()).message.headers
    assert "authorization" not in headers
    assert headers["kept"] == "yes"
    assert headers[REASON] == "no"


@pytest.mark.parametrize("result", [DeadLetter("no"), Retry(0.1, "busy")], ids=["dead letter", "retry"])
async def test_a_message_over_the_limit_is_dead_with_a_part_of_its_body(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, result: DeliveryResult
) -> None:
    """If a message is too large to be published again, its dead letter has the beginning of the body and says how much is kept."""
    topology = broker.topology
    await broker.publish(topology.jobs, "work.large", Message(body=b"x" * BODY_SIZE))
    await broker.publish(topology.jobs, "work.next", Message(body=b"{}"))
    # From now on, the first message is too large.
    monkeypatch.setattr(broker, "max_message", LIMIT)
    handler = RecordingHandler(lambda delivery: result if delivery.routing_key == "work.large" else Ack())
    dead_letters = RecordingHandler()
    await broker.consume(topology.work, handler, prefetch=1)
    assert [(await handler.next()).routing_key for _ in range(2)] == ["work.large", "work.next"]
    await broker.consume(topology.dead_work, dead_letters, prefetch=1)
    letter = await dead_letters.next()
    assert letter.message.body == b"x" * LIMIT
    assert letter.message.headers[REASON] == f"{result.reason}; of its body, 3,000 bytes, the first 1,000 are kept"  # type: ignore[union-attr]


async def test_a_message_that_cannot_be_moved_frees_its_slot(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a message cannot be published as a dead letter, it is rejected, and the next message is handled. The broker dead-letters it."""

    def fail(*_: object, **__: object) -> None:
        raise Conflict("something unforeseen")

    topology = broker.topology
    handler, dead_letters = RecordingHandler(lambda _: DeadLetter("of no use")), RecordingHandler()
    subscription = await broker.consume(topology.work, handler, prefetch=1)
    with monkeypatch.context() as patch:
        # Each broker calls follow_up to move a message.
        for module in (amqp_subscription, memory):
            patch.setattr(module, "follow_up", fail)
        await broker.publish(topology.jobs, "work.1", Message(body=b"{}"))
        await broker.publish(topology.jobs, "work.2", Message(body=b"{}"))
        assert [(await handler.next()).routing_key for _ in range(2)] == ["work.1", "work.2"]
        await subscription.cancel(drain=20)
    await broker.consume(topology.dead_work, dead_letters, prefetch=1)
    letters = [await dead_letters.next() for _ in range(2)]
    assert [(letter.routing_key, letter.message.headers[REASON]) for letter in letters] == [("work.1", "rejected"), ("work.2", "rejected")]


async def test_a_dead_letter_does_not_die_again(broker: Broker) -> None:
    """If the consumer of dead letters fails, it receives the next letter. The failed letter is not delivered again."""
    topology = broker.topology
    handled_keys: asyncio.Queue[str] = asyncio.Queue()

    async def handler(delivery: Delivery) -> DeliveryResult:
        handled_keys.put_nowait(delivery.routing_key)
        raise ValueError("boom")

    await broker.consume(topology.dead_work, handler, prefetch=1)
    await broker.publish(topology.dead, "work.1", Message(body=b"{}"))
    await broker.publish(topology.dead, "work.2", Message(body=b"{}"))
    await broker.publish(topology.dead, "work.3", Message(body=b"{}"))
    assert [await asyncio.wait_for(handled_keys.get(), 20) for _ in range(3)] == ["work.1", "work.2", "work.3"]


async def test_a_long_reason_is_truncated(broker: Broker) -> None:
    """A reason is shortened to its first 2,000 characters, and a character that cannot be encoded becomes an escape sequence."""
    topology = broker.topology
    dead_letters = RecordingHandler()
    await broker.consume(topology.work, RecordingHandler(lambda _: DeadLetter("\udc80" + "x" * 300_000)), prefetch=1)
    await broker.consume(topology.dead_work, dead_letters, prefetch=1)
    await broker.publish(topology.jobs, "work.1", Message(body=b"{}"))
    # The first character is a lone surrogate.
    assert str((await dead_letters.next()).message.headers[REASON]) == "\\udc80" + "x" * 1999
