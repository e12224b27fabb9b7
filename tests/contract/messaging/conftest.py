"""Every law of messaging holds for both brokers: the one in memory, in virtual time, and RabbitMQ."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import pytest
from tests.contract.messaging.calls import Calls
from tests.contract.messaging.handlers import LoopClock

from dashwright.common.clock import Clock
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.topology import Topology, topology


@pytest.fixture(autouse=True)
def no_errors_behind_the_scenes(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """An exception in a callback is only logged, by the event loop or the client library: here it fails the test."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    assert [
        record.getMessage() for record in records if record.levelno >= logging.ERROR and record.name in ("asyncio", "aiormq.channel")
    ] == []


@pytest.fixture
def wiring() -> Topology:
    """Short retry delays: RabbitMQ's time is real."""
    return topology("test", delays=(0.1, 0.2))


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.looptime(noop_cycles=1000)), "rabbitmq"])
def connect(request: pytest.FixtureRequest) -> Callable[[Topology], Broker]:
    if request.param == "memory":
        return MemoryBroker
    url: str = request.getfixturevalue("amqp_url")
    return lambda wiring: AmqpBroker(url, topology=wiring)


@pytest.fixture
async def broker(connect: Callable[[Topology], Broker], wiring: Topology) -> AsyncIterator[Broker]:
    broker = connect(wiring)
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture
def clock() -> Clock:
    return LoopClock()


@pytest.fixture
async def calls(broker: Broker, clock: Clock) -> AsyncIterator[Calls]:
    async with AsyncExitStack() as stack:
        yield Calls(broker, clock, stack)
