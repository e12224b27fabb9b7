"""Publishing: a message is confirmed and routed, or the publisher receives an error."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest
from tests.contract.messaging.handlers import RecordingHandler

from dashwright.common.errors import TooLarge, Unavailable, Unroutable
from dashwright.common.messaging.broker import MAX_MESSAGE, Broker
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult, Retry
from dashwright.common.messaging.message import ORIGIN_QUEUE, REASON, Delivery, Message
from dashwright.common.messaging.topology import Topology
from dashwright.common.observability import tracing


async def test_a_message_arrives_as_it_was_sent(broker: Broker) -> None:
    """The handler receives the body, headers of every type, ids, content type and reply address of a message. Its first attempt is 1."""
    handler = RecordingHandler()
    await broker.consume(broker.topology.submit, handler, prefetch=1)
    message = Message(
        body=b"\x00\xff{}",
        headers={"text": "ü", "number": 7, "negative": -1, "large": 2**62, "time": 1_790_000_000_123, "yes": True, "no": False},
        message_id="m1",
        correlation_id="c1",
        reply_to="somewhere",
        content_type="application/yaml",
    )
    await broker.publish(broker.topology.jobs, "submit.default", message)
    delivery = await handler.next()
    assert delivery.message == message
    assert delivery.exchange == broker.topology.jobs
    assert delivery.routing_key == "submit.default"
    assert delivery.attempt == 1
    assert not delivery.redelivered


async def test_a_message_without_an_id_gets_one(broker: Broker) -> None:
    """Every message has an id of its own."""
    handler = RecordingHandler()
    await broker.consume(broker.topology.submit, handler, prefetch=1)
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b""))
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b""))
    first, second = (await handler.next()).message.message_id, (await handler.next()).message.message_id
    assert first
    assert second
    assert first != second


async def test_the_key_decides_the_queue(broker: Broker) -> None:
    """The jobs exchange routes submissions and wake-ups to separate queues by their keys, in the order of publishing."""
    submissions, wakeups = RecordingHandler(), RecordingHandler()
    await broker.consume(broker.topology.submit, submissions, prefetch=1)
    await broker.consume(broker.topology.work, wakeups, prefetch=1)
    for key in ("work.sync", "submit.org-2", "work.export", "submit"):
        await broker.publish(broker.topology.jobs, key, Message(body=b"{}"))
    assert [(await submissions.next()).routing_key for _ in range(2)] == ["submit.org-2", "submit"]
    assert [(await wakeups.next()).routing_key for _ in range(2)] == ["work.sync", "work.export"]


@pytest.mark.parametrize("key", ["nowhere.default", "submitted.default", ""])
async def test_an_unroutable_message_is_refused(broker: Broker, key: str) -> None:
    """A message whose routing key matches no queue raises Unroutable, which is another error than that of an unreachable broker."""
    with pytest.raises(Unroutable, match="key"):
        await broker.publish(broker.topology.jobs, key, Message(body=b"{}"))


async def test_a_missing_queue_or_exchange_fails_one_publisher(broker: Broker) -> None:
    """A publisher with a wrong address receives an error; concurrent publishers continue."""
    invalid = [
        broker.publish("no-such-exchange", "submit.default", Message(body=b"{}")),
        broker.publish("", "no-such-queue", Message(body=b"{}")),
    ]
    valid = [broker.publish(broker.topology.jobs, "submit.default", Message(body=b"{}")) for _ in range(20)]
    first, second, *valid_outcomes = await asyncio.gather(*invalid, *valid, return_exceptions=True)
    assert type(first) is Unroutable
    assert type(second) is Unroutable
    assert valid_outcomes == [None] * 20


@pytest.mark.parametrize("is_wrong", [[True, False], [False, True], [True, True], [False, True, False, True]], ids=str)
async def test_messages_with_the_same_id_succeed_or_fail_separately(broker: Broker, is_wrong: list[bool]) -> None:
    """If messages with one id are published concurrently, those with a wrong address are unroutable, and all others succeed."""
    addresses = [("", "no-such-queue") if has_wrong_address else (broker.topology.jobs, "submit.default") for has_wrong_address in is_wrong]
    # The results of concurrent publications arrive in any order, so a single round might miss a confusion of messages.
    for number in range(20):
        message = Message(body=b"{}", message_id=f"shared-{number}")
        publications = [broker.publish(exchange, key, message) for exchange, key in addresses]
        outcomes = await asyncio.gather(*publications, return_exceptions=True)
        assert [isinstance(outcome, Unroutable) for outcome in outcomes] == is_wrong


async def test_a_message_over_the_brokers_limit_is_refused_before_it_is_sent(broker: Broker) -> None:
    """A message over the broker's limit is refused before it is sent, because the broker would close the channel."""
    with pytest.raises(TooLarge, match="16,777,216"):
        await broker.publish(broker.topology.jobs, "submit.default", Message(body=bytes(MAX_MESSAGE + 1)))
    # The channel is still open.
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b"{}"))


async def test_a_broker_that_is_not_running_is_unavailable(connect: Callable[[Topology], Broker], topology: Topology) -> None:
    """Before the start and after the end of a broker, each operation raises Unavailable immediately."""
    broker = connect(topology)
    # The first round is before the start, the second after the end.
    for _ in range(2):
        with pytest.raises(Unavailable):
            await broker.publish(topology.jobs, "submit.default", Message(body=b"{}"))
        with pytest.raises(Unavailable):
            await broker.reply("somewhere", Message(body=b"{}"))
        with pytest.raises(Unavailable):
            await broker.consume(topology.submit, RecordingHandler(), prefetch=1)
        with pytest.raises(Unavailable):
            await broker.inbox(lambda _: None, lambda: None, confirmed=True)
        with pytest.raises(Unavailable):
            await broker.check()
        await broker.start()
        await broker.check()
        await broker.close()


async def test_an_expired_message_is_a_dead_letter(broker: Broker) -> None:
    """A message that was not consumed in time is a dead letter with its routing key, the reason and its queue."""
    dead_letters = RecordingHandler()
    await broker.consume(broker.topology.dead_work, dead_letters, prefetch=1)
    await broker.publish(broker.topology.jobs, "work.sync", Message(body=b"late", expiration=0.05))
    letter = await dead_letters.next()
    assert letter.message.body == b"late"
    assert letter.routing_key == "work.sync"
    assert letter.message.headers[REASON] == "expired"
    assert letter.message.headers[ORIGIN_QUEUE] == broker.topology.work


async def test_messages_expire_at_the_head_of_the_queue_only(broker: Broker) -> None:
    """An expired message remains in the queue until the messages before it have left the queue."""
    dead_letters = RecordingHandler()
    await broker.consume(broker.topology.dead_work, dead_letters, prefetch=1)
    await broker.publish(broker.topology.jobs, "work.sync", Message(body=b"long", expiration=0.5))
    await broker.publish(broker.topology.jobs, "work.sync", Message(body=b"short", expiration=0.01))
    assert [(await dead_letters.next()).message.body for _ in range(2)] == [b"long", b"short"]


async def test_a_full_queue_rejects_messages(connect: Callable[[Topology], Broker], topology: Topology) -> None:
    """A queue with a limit accepts as many messages. The publisher of a message to a full queue receives a retryable error."""
    small_topology = replace(topology, queues=tuple(replace(queue, max_length=3) for queue in topology.queues))
    broker = connect(small_topology)
    await broker.start()
    # A quorum queue accepts a few messages above its limit, so the test publishes many more.
    outcomes = [await _outcome(broker.publish(small_topology.jobs, "work.sync", Message(body=b"{}"))) for _ in range(50)]
    assert outcomes[:3] == ["accepted", "accepted", "accepted"]
    assert "full" in outcomes[-1]
    await broker.close()


async def _outcome(publishing: Awaitable[None]) -> str:
    """Return ``accepted`` if a message was published, or the message of the error."""
    try:
        await publishing
    except Unavailable as error:
        return error.message
    return "accepted"


async def test_the_trace_is_sent_with_the_message(broker: Broker) -> None:
    """The handler runs in the publisher's trace with a new span; a trace that the message already has is kept."""
    traces: asyncio.Queue[tracing.TraceContext | None] = asyncio.Queue()

    class TracedHandler(RecordingHandler):
        """A handler that records the trace of each delivery."""

        async def __call__(self, delivery: Delivery) -> DeliveryResult:
            traces.put_nowait(tracing.current())
            return await super().__call__(delivery)

    await broker.consume(broker.topology.submit, TracedHandler(), prefetch=1)
    trace = tracing.enter(None)
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b"{}"))
    earlier_trace = tracing.TraceContext("a" * 32, "b" * 16)
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b"{}", headers={tracing.HEADER: earlier_trace.header}))
    first, second = await asyncio.wait_for(traces.get(), 20), await asyncio.wait_for(traces.get(), 20)
    assert first is not None
    assert first.trace_id == trace.trace_id
    assert first != trace, "the handler has the publisher's span"
    assert second is not None
    assert second.trace_id == earlier_trace.trace_id


@pytest.mark.parametrize("priority", [0, 5, 255])
async def test_a_message_keeps_its_priority(broker: Broker, priority: int) -> None:
    """A message has the priority of its publisher at its first delivery and after a retry."""
    handler = RecordingHandler(lambda delivery: Retry(0.1, "later") if delivery.attempt == 1 else Ack())
    await broker.consume(broker.topology.submit, handler, prefetch=1)
    await broker.publish(broker.topology.jobs, "submit.default", Message(body=b"{}", priority=priority))
    assert [(await handler.next()).message.priority for _ in range(2)] == [priority, priority]
