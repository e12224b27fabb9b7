"""Consuming: a delivery leaves its queue only after its handler has returned a result."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace

import structlog
from tests.contract.messaging.handlers import BlockingHandler, RecordingHandler

from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.delivery_result import Ack, DeadLetter, DeliveryResult, Retry
from dashwright.common.messaging.message import ORIGIN_EXCHANGE, ORIGIN_QUEUE, REASON, Delivery, Message
from dashwright.common.messaging.topology import Topology


async def publish(broker: Broker, *keys: str) -> None:
    """Publish a message for each routing key, which is also its body and its id."""
    for key in keys:
        message = Message(body=key.encode(), headers={"kept": "yes"}, message_id=key)
        await broker.publish(broker.topology.jobs, key, message, timeout=20)


async def test_an_acknowledged_message_is_not_redelivered(broker: Broker) -> None:
    """After an Ack, a second consumer of the queue receives only later messages."""
    first, second = RecordingHandler(), RecordingHandler()
    subscription = await broker.consume(broker.topology.work, first, prefetch=1)
    await publish(broker, "work.sync")
    await first.next()
    await subscription.cancel(drain=5)
    await broker.consume(broker.topology.work, second, prefetch=1)
    await publish(broker, "work.export")
    assert (await second.next()).routing_key == "work.export"


async def test_a_retry_is_redelivered_after_its_delay(broker: Broker) -> None:
    """A retried message is redelivered after its delay, with its key and the number of its attempt. It is not dead-lettered."""
    loop = asyncio.get_running_loop()
    # The topology has delays of 0.1 and 0.2 s. A retry after 0.15 s takes the longer delay, because it must not be early.
    handler = RecordingHandler(lambda delivery: Ack() if delivery.attempt == 4 else Retry(0.15, "busy"))
    await broker.consume(broker.topology.work, handler, prefetch=1)
    start_time = loop.time()
    await publish(broker, "work.sync")
    deliveries = [await handler.next() for _ in range(4)]
    assert [delivery.attempt for delivery in deliveries] == [1, 2, 3, 4]
    first_message = deliveries[0].message
    for delivery in deliveries:
        assert delivery.exchange == broker.topology.jobs
        assert delivery.routing_key == "work.sync"
        assert delivery.message.headers["kept"] == "yes"
        # Messages differ only in headers, such as the number of the attempt.
        assert delivery.message == replace(first_message, headers=delivery.message.headers)
    # Three retries after 0.2 s each.
    assert loop.time() - start_time >= 3 * 0.2


async def test_a_retry_beyond_the_last_delay_takes_the_last_one(broker: Broker) -> None:
    """A retry after a time that exceeds the longest delay is redelivered after the longest delay."""
    handler = RecordingHandler(lambda delivery: Ack() if delivery.attempt == 2 else Retry(3600, "later"))
    await broker.consume(broker.topology.work, handler, prefetch=1)
    await publish(broker, "work.sync")
    await handler.next()
    assert (await handler.next()).attempt == 2


async def test_dead_letters_keep_reason_and_origin(broker: Broker) -> None:
    """A dead letter has the key, headers, reason and queue of its message, so that it can be read and sent again."""
    dead_letters = RecordingHandler()
    await broker.consume(broker.topology.work, RecordingHandler(lambda _: DeadLetter("no such repository")), prefetch=1)
    await broker.consume(broker.topology.dead_work, dead_letters, prefetch=1)
    await publish(broker, "work.sync")
    letter = await dead_letters.next()
    assert letter.routing_key == "work.sync"
    assert letter.message.body == b"work.sync"
    assert letter.message.message_id == "work.sync"
    assert letter.message.headers["kept"] == "yes"
    assert letter.message.headers[REASON] == "no such repository"
    assert letter.message.headers[ORIGIN_QUEUE] == broker.topology.work
    assert letter.message.headers[ORIGIN_EXCHANGE] == broker.topology.jobs


async def test_a_failed_message_is_dead_after_the_last_delay(broker: Broker) -> None:
    """A message whose handler fails is retried after each delay of the topology. It then is a dead letter with the exception's text."""

    class FailingHandler(RecordingHandler):
        """A handler that fails after recording the delivery."""

        async def __call__(self, delivery: Delivery) -> DeliveryResult:
            await super().__call__(delivery)
            raise ValueError("boom")

    loop = asyncio.get_running_loop()
    handler, dead_letters = FailingHandler(), RecordingHandler()
    await broker.consume(broker.topology.work, handler, prefetch=1)
    await broker.consume(broker.topology.dead_work, dead_letters, prefetch=1)
    start_time = loop.time()
    await publish(broker, "work.sync")
    assert [(await handler.next()).attempt for _ in range(3)] == [1, 2, 3]
    assert (await dead_letters.next()).message.headers[REASON] == "ValueError: boom"
    assert loop.time() - start_time >= 0.1 + 0.2  # the delays of the topology


async def test_only_failures_count_against_the_retry_delays(broker: Broker) -> None:
    """A message that its handler postponed three times is retried after its first failure, although the topology has only two delays."""

    class PostponingHandler(RecordingHandler):
        """A handler that postpones three attempts, fails at the fourth one, and then succeeds."""

        async def __call__(self, delivery: Delivery) -> DeliveryResult:
            await super().__call__(delivery)
            if delivery.attempt <= 3:
                return Retry(0.1, "another one is working")
            if delivery.attempt == 4:
                raise ValueError("boom")
            return Ack()

    handler = PostponingHandler()
    await broker.consume(broker.topology.work, handler, prefetch=1)
    await publish(broker, "work.sync")
    assert [(await handler.next()).attempt for _ in range(5)] == [1, 2, 3, 4, 5]


async def test_a_message_from_another_exchange_is_dead_instead_of_retried(broker: Broker) -> None:
    """A handler cannot retry a message of another exchange than that of jobs. The message becomes a dead letter with its reason."""
    dead_letters = RecordingHandler()
    await broker.consume(broker.topology.query, RecordingHandler(lambda _: Retry(0.1, "busy")), prefetch=1)
    await broker.consume(broker.topology.dead, dead_letters, prefetch=1)
    await broker.publish("", broker.topology.query, Message(body=b"q", persistent=False))
    assert (await dead_letters.next()).message.headers[REASON] == "busy"


async def test_prefetch_limits_running_handlers(broker: Broker) -> None:
    """A consumer holds at most ``prefetch`` messages; the others remain in the queue."""
    handler, second_handler = BlockingHandler(), RecordingHandler()
    await broker.consume(broker.topology.work, handler, prefetch=2)
    await publish(broker, "work.1", "work.2", "work.3")
    held_keys = {(await handler.next()).routing_key, (await handler.next()).routing_key}
    await broker.consume(broker.topology.work, second_handler, prefetch=1)
    remaining_key = (await second_handler.next()).routing_key
    assert held_keys | {remaining_key} == {"work.1", "work.2", "work.3"}
    assert handler.started.empty()
    handler.released.set()


async def test_cancel_completes_running_handlers(broker: Broker) -> None:
    """During the drain time of a cancelled subscription, running handlers finish and acknowledge. No new handlers start."""
    handler, second_handler = BlockingHandler(), RecordingHandler()
    subscription = await broker.consume(broker.topology.work, handler, prefetch=1)
    await publish(broker, "work.1", "work.2")
    await handler.next()
    asyncio.get_running_loop().call_later(0.05, handler.released.set)
    await subscription.cancel(drain=10)
    assert handler.finished == ["work.1"]
    await broker.consume(broker.topology.work, second_handler, prefetch=1)
    assert (await second_handler.next()).routing_key == "work.2"
    assert second_handler.is_empty


async def test_cancel_requeues_unfinished_messages(broker: Broker) -> None:
    """After the drain time, running handlers are cancelled. Their messages are redelivered first, and marked as redelivered."""
    handler, second_handler = BlockingHandler(), RecordingHandler()
    subscription = await broker.consume(broker.topology.work, handler, prefetch=1)
    await publish(broker, "work.1", "work.2")
    first = await handler.next()
    await subscription.cancel(drain=0.01)
    assert handler.finished == []
    await broker.consume(broker.topology.work, second_handler, prefetch=1)
    repeated = await second_handler.next()
    assert not first.redelivered
    assert first.attempt == 1
    assert repeated.routing_key == "work.1"
    assert repeated.redelivered
    assert repeated.attempt == 2
    assert (await second_handler.next()).attempt == 1


async def test_a_cancelled_subscription_is_forgotten(broker: Broker) -> None:
    """A second cancellation has no effect. The health check succeeds, although the queue of the subscription is not consumed."""
    subscription = await broker.consume(broker.topology.work, RecordingHandler(), prefetch=1)
    await subscription.cancel(drain=0)
    await subscription.cancel(drain=0)
    await broker.check()


async def test_a_message_that_is_never_acknowledged_is_dead_in_the_end(connect: Callable[[Topology], Broker], topology: Topology) -> None:
    """A message whose consumer stops at each delivery becomes a dead letter after the delivery limit of its queue."""
    limited_topology = replace(
        topology, queues=tuple(replace(queue, delivery_limit=2 if queue.delivery_limit else None) for queue in topology.queues)
    )
    broker, dead_letters = connect(limited_topology), RecordingHandler()
    await broker.start()
    await broker.consume(limited_topology.dead_work, dead_letters, prefetch=1)
    await publish(broker, "work.poison")
    # The limit of 2 permits two redeliveries after the first delivery.
    for attempt in (1, 2, 3):
        handler = BlockingHandler()
        subscription = await broker.consume(limited_topology.work, handler, prefetch=1)
        assert (await handler.next()).attempt == attempt
        await subscription.cancel(drain=0)
    letter = await dead_letters.next()
    assert letter.routing_key == "work.poison"
    assert letter.message.headers[REASON] == "delivery_limit"
    assert letter.message.headers[ORIGIN_QUEUE] == limited_topology.work
    await broker.close()


async def test_a_handler_runs_in_a_separate_context(broker: Broker) -> None:
    """A handler has no context variables of the publisher or of other deliveries. Its log lines have the queue, message and attempt."""
    variable: ContextVar[str] = ContextVar("variable", default="default")
    contexts: asyncio.Queue[tuple[str, dict[str, object]]] = asyncio.Queue()

    async def handler(delivery: Delivery) -> DeliveryResult:
        contexts.put_nowait((variable.get(), structlog.contextvars.get_contextvars()))
        variable.set(delivery.routing_key)
        return Ack()

    await broker.consume(broker.topology.work, handler, prefetch=1)
    variable.set("of the publisher")
    await publish(broker, "work.1", "work.2")
    for key in ("work.1", "work.2"):
        context = {"queue": broker.topology.work, "message_id": key, "delivery": 1}
        assert await asyncio.wait_for(contexts.get(), 20) == ("default", context)


async def test_consumers_share_the_messages_of_a_queue(broker: Broker) -> None:
    """Two consumers of one queue share its messages."""
    first, second = BlockingHandler(), BlockingHandler()
    await broker.consume(broker.topology.work, first, prefetch=1)
    await broker.consume(broker.topology.work, second, prefetch=1)
    await publish(broker, "work.1", "work.2")
    assert {(await first.next()).routing_key, (await second.next()).routing_key} == {"work.1", "work.2"}
    first.released.set()
    second.released.set()


async def test_many_messages_each_arrive_once(broker: Broker) -> None:
    """Each of many concurrent messages is handled to its end exactly once, even if some of them are retried."""
    count = 200
    handled_ids: list[str] = []
    all_arrived = asyncio.Event()

    async def handler(delivery: Delivery) -> DeliveryResult:
        """Retry each seventh message once, and record all others."""
        if delivery.attempt == 1 and int(delivery.routing_key.removeprefix("work.")) % 7 == 0:
            return Retry(0.1, "busy")
        handled_ids.append(delivery.routing_key)
        if len(handled_ids) == count:
            all_arrived.set()
        return Ack()

    await broker.consume(broker.topology.work, handler, prefetch=10)
    await asyncio.gather(*(publish(broker, f"work.{index}") for index in range(count)))
    await asyncio.wait_for(all_arrived.wait(), 20)
    assert sorted(handled_ids) == sorted(f"work.{index}" for index in range(count))


async def test_a_message_is_kept_while_the_queue_of_its_retry_is_full(connect: Callable[[Topology], Broker], topology: Topology) -> None:
    """If the queue of a retry is full, the message is neither lost nor is a further attempt counted: each message is handled twice."""
    # The queue of a delay has the name of its exchange.
    retry_queue = topology.retry_delays[0].exchange
    small_topology = replace(
        topology, queues=tuple(replace(queue, max_length=1) if queue.name == retry_queue else queue for queue in topology.queues)
    )
    broker = connect(small_topology)
    await broker.start()
    handler = RecordingHandler(lambda delivery: Retry(0.1, "later") if delivery.attempt == 1 else Ack())
    await broker.consume(small_topology.submit, handler, prefetch=8)
    await publish(broker, *(f"submit.{number}" for number in range(8)))
    deliveries = [await handler.next() for _ in range(16)]
    assert sorted((delivery.routing_key, delivery.attempt) for delivery in deliveries) == [
        (f"submit.{number}", attempt) for number in range(8) for attempt in (1, 2)
    ]
    await broker.close()
