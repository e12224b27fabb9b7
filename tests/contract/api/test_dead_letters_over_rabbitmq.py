"""Dead letters over RabbitMQ, which are stored once and replayed once even if a step fails."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from tests.contract.api import repositories
from tests.contract.api.conftest import Api, StartApi
from tests.contract.api.dead_letters import LETTERS, STATE, HandledDeliveries, letters, submit
from tests.contract.api.watching import JOBS, watching
from tests.proxies.tcp_proxy import TcpProxy

from dashwright.api.dead_letters.consumer import DeadLetterConsumer
from dashwright.api.repositories.queue_submissions import QueueSubmissions
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.delivery_result import DeliveryResult
from dashwright.common.messaging.message import Delivery, Message

# Databases of one template have equal ids of relations, and pg_locks lists the locks of all databases.
_TERMINATE_SESSION_OF_REPLAY = """select pg_terminate_backend(pid) from pg_locks
    where relation = 'dead_letter'::regclass and mode = 'RowExclusiveLock' and pid <> pg_backend_pid()
      and database = (select oid from pg_database where datname = current_database())"""


class CountingBroker(AmqpBroker):
    """A broker that counts the submissions that it publishes, and runs a function after each."""

    submissions = 0

    async def after_submission(self) -> None:
        """Do nothing. A test may replace this method of its broker."""

    async def publish(self, exchange: str, routing_key: str, message: Message, *, timeout: float = 5.0) -> None:
        """Publish a message. After a submission, count it and run the action of the test."""
        await super().publish(exchange, routing_key, message, timeout=timeout)
        if exchange == self.topology.jobs and routing_key.startswith("submit."):
            self.submissions += 1
            await self.after_submission()


@pytest.fixture
async def proxy(amqp_url: str) -> AsyncIterator[TcpProxy]:
    """Start a proxy of RabbitMQ, whose connections a test can interrupt."""
    async with TcpProxy(amqp_url) as proxy:
        yield proxy


@pytest.fixture
async def broker(proxy: TcpProxy) -> AsyncIterator[CountingBroker]:
    """Replace the broker of the gateways."""
    broker = CountingBroker(proxy.url, reconnect_interval=0.05)
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture(autouse=True)
def stored_letters(monkeypatch: pytest.MonkeyPatch) -> HandledDeliveries:
    """Count the dead letters that gateways have handled in this test."""
    return HandledDeliveries(monkeypatch, DeadLetterConsumer)


@pytest.fixture(autouse=True)
def handled_submissions(monkeypatch: pytest.MonkeyPatch) -> HandledDeliveries:
    """Count the submissions that gateways have handled in this test."""
    return HandledDeliveries(monkeypatch, QueueSubmissions)


async def test_a_lost_acknowledgement_stores_one_letter(
    start_api: StartApi, broker: CountingBroker, proxy: TcpProxy, stored_letters: HandledDeliveries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the connection breaks between the commit and the acknowledgement, the broker delivers the letter again, and it is stored once."""
    handle = DeadLetterConsumer.handle
    deliveries: list[Delivery] = []

    async def handle_and_disconnect(consumer: DeadLetterConsumer, delivery: Delivery) -> DeliveryResult:
        """Handle a delivery. Interrupt the connection after the first delivery, so that this delivery is not acknowledged."""
        result = await handle(consumer, delivery)
        deliveries.append(delivery)
        if len(deliveries) == 1:
            await proxy.disconnect()
            await proxy.connect()
        return result

    monkeypatch.setattr(DeadLetterConsumer, "handle", handle_and_disconnect)
    api = await start_api()
    await submit(broker)
    await stored_letters.reach(2)
    assert [delivery.redelivered for delivery in deliveries] == [False, True]
    assert len(await letters(api)) == 1


@pytest.mark.parametrize("path", ["/{name}/replay", "/replay"], ids=["by name", "by selection"])
async def test_a_crash_between_publishing_and_recording_creates_one_job(
    api: Api, broker: CountingBroker, stored_letters: HandledDeliveries, handled_submissions: HandledDeliveries, path: str
) -> None:
    """After a crash between publishing and recording, the state of the letter is still dead.

    A later replay publishes the same message id, which the gateway recognizes.
    """
    await submit(broker)
    await stored_letters.reach(1)
    (letter,) = await letters(api)
    await repositories.make_local_repository(api, "team", api.data / "team", "write")
    path = LETTERS + path.format(name=letter["metadata"]["name"])

    async def lose_transaction() -> None:
        """Terminate the database session in which the replay is recorded."""
        assert await api.sql(_TERMINATE_SESSION_OF_REPLAY)

    async with watching(api, JOBS) as jobs:
        broker.after_submission = lose_transaction  # type: ignore[method-assign]
        assert (await api("POST", path))[0] == 503
        assert (await jobs.next_type_and_name())[0] == "ADDED"
    assert [letter["status"]["state"] for letter in await letters(api)] == ["dead"]
    del broker.after_submission  # The method of the class, which does nothing, is used again.
    assert (await api("POST", path))[0] == 200
    # Three submissions are handled: the first one, that of the replay whose transaction was lost, and that of the later replay.
    await handled_submissions.reach(3)
    assert [letter["status"]["state"] for letter in await letters(api)] == ["replayed"]
    assert (broker.submissions, await api.sql("select count(*) from job")) == (3, 1)
    assert await api.sql("select count(*) from audit_event where action = 'deadletter.replay' and outcome = 'ok'") == 1


@pytest.mark.parametrize("path", ["/{name}/replay", "/replay"], ids=["by name", "by selection"])
async def test_a_message_refused_before_its_replay_is_recorded_is_another_letter(
    api: Api, broker: CountingBroker, stored_letters: HandledDeliveries, path: str
) -> None:
    """The gateway may refuse the replayed message before the replay is committed. The refused message becomes a second letter."""
    await submit(broker, message_id="m-1")
    await stored_letters.reach(1)
    (letter,) = await letters(api)

    async def wait_for_second_letter() -> None:
        """Give the second delivery time to be handled too early."""
        # The second letter must wait for the commit. Otherwise it would be handled within this time as a copy of the first one.
        with suppress(TimeoutError):
            await asyncio.wait_for(stored_letters.reach(2), 0.5)

    broker.after_submission = wait_for_second_letter  # type: ignore[method-assign]
    assert (await api("POST", LETTERS + path.format(name=letter["metadata"]["name"])))[0] == 200
    await stored_letters.reach(2)
    assert sorted(letter["status"]["state"] for letter in await letters(api)) == ["dead", "replayed"]


async def test_two_gateways_replay_each_letter_once(start_api: StartApi, broker: CountingBroker, stored_letters: HandledDeliveries) -> None:
    """Concurrent replays of one selection by two gateways publish each selected letter once."""
    count = 150
    first, second = await start_api(), await start_api()
    for _ in range(count):
        await submit(broker)
    await stored_letters.reach(count)
    await repositories.make_local_repository(first, "team", first.data / "team", "write")
    results: list[tuple[int, Any]] = await asyncio.gather(*(api("POST", f"{LETTERS}/replay") for api in (first, second, first)))
    assert [status for status, _ in results] == [200] * 3
    assert sum(result["replayed"] for _, result in results) == count
    # Each letter was submitted once by the test, and once by a replay.
    assert broker.submissions == 2 * count
    assert await letters(first, f"?labelSelector={STATE}=dead") == []
