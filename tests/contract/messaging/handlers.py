"""Handlers for the tests of messaging, and their clock."""

import asyncio
from collections.abc import Callable

from dashwright.common.clock import Clock
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery


class LoopClock(Clock):
    """The event loop's time, which is virtual for the broker in memory, as a date of these years."""

    def seconds(self) -> float:
        return 1_790_000_000.5 + asyncio.get_running_loop().time()


class Received:
    """A handler that records deliveries and returns a given result."""

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
    def empty(self) -> bool:
        return self._deliveries.empty()


class Holding:
    """A handler that holds every delivery until it is let go, and counts how many it holds."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Delivery] = asyncio.Queue()
        self.let_go = asyncio.Event()
        self.finished: list[str] = []

    async def __call__(self, delivery: Delivery) -> DeliveryResult:
        self.begun.put_nowait(delivery)
        await self.let_go.wait()
        self.finished.append(delivery.routing_key)
        return Ack()

    async def next(self) -> Delivery:
        return await asyncio.wait_for(self.begun.get(), 20)
