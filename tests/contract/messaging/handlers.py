"""Handlers and a clock for the tests of messaging."""

import asyncio
from collections.abc import Callable

from dashwright.common.clock import Clock
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery


class LoopClock(Clock):
    """Clock of the event loop, whose time is virtual for the memory broker, moved to a date of this decade."""

    def seconds(self) -> float:
        return 1_790_000_000.5 + asyncio.get_running_loop().time()


class RecordingHandler:
    """Handler that records deliveries and returns the given result."""

    def __init__(self, result: Callable[[Delivery], DeliveryResult] = lambda _: Ack()) -> None:
        self._result = result
        self._deliveries: asyncio.Queue[Delivery] = asyncio.Queue()

    async def __call__(self, delivery: Delivery) -> DeliveryResult:
        self._deliveries.put_nowait(delivery)
        return self._result(delivery)

    async def next(self) -> Delivery:
        async with asyncio.timeout(20):
            return await self._deliveries.get()

    @property
    def is_empty(self) -> bool:
        return self._deliveries.empty()


class BlockingHandler:
    """Handler that holds every delivery until it is released, and records which have started and finished."""

    def __init__(self) -> None:
        self.started: asyncio.Queue[Delivery] = asyncio.Queue()
        self.released = asyncio.Event()
        self.finished: list[str] = []

    async def __call__(self, delivery: Delivery) -> DeliveryResult:
        self.started.put_nowait(delivery)
        await self.released.wait()
        self.finished.append(delivery.routing_key)
        return Ack()

    async def next(self) -> Delivery:
        return await asyncio.wait_for(self.started.get(), 20)
