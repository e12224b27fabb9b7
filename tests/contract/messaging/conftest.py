"""Every test of messaging runs with both brokers: the memory broker, in virtual time, and RabbitMQ."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import pytest
from tests.contract.messaging.calls import CallFactory
from tests.contract.messaging.handlers import LoopClock

from dashwright.common.clock import Clock
from dashwright.common.messaging.amqp import AmqpBroker
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.topology import Topology
from dashwright.common.messaging.topology import topology as build_topology


@pytest.fixture(autouse=True)
def no_logged_errors(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail the test if an exception in a callback was only logged by the event loop or the client library."""
    yield
    records = [*caplog.get_records("setup"), *caplog.get_records("call")]
    assert [
        record.getMessage() for record in records if record.levelno >= logging.ERROR and record.name in ("asyncio", "aiormq.channel")
    ] == []


@pytest.fixture
def topology() -> Topology:
    """Return a topology with short retry delays, because RabbitMQ's time is real."""
    return build_topology("test", delays=(0.1, 0.2))


@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.looptime(noop_cycles=1000)), "rabbitmq"])
def connect(request: pytest.FixtureRequest) -> Callable[[Topology], Broker]:
    """Return a function that creates a broker of one of the two kinds. The test starts and closes it."""
    if request.param == "memory":
        return MemoryBroker
    url: str = request.getfixturevalue("amqp_url")
    return lambda topology: AmqpBroker(url, topology=topology)


@pytest.fixture
async def broker(connect: Callable[[Topology], Broker], topology: Topology) -> AsyncIterator[Broker]:
    """Yield a started broker of one of the two kinds."""
    broker = connect(topology)
    await broker.start()
    yield broker
    await broker.close()


@pytest.fixture
def clock() -> Clock:
    """Return the clock of clients and servers, whose time is virtual if the broker's is."""
    return LoopClock()


@pytest.fixture
async def calls(broker: Broker, clock: Clock) -> AsyncIterator[CallFactory]:
    """Yield a factory of the clients and servers of calls over the broker."""
    async with AsyncExitStack() as stack:
        yield CallFactory(broker, clock, stack)
