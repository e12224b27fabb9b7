"""What the tests of messaging handle deliveries with, and the time they go by."""

import asyncio
from collections.abc import Callable

from dashwright.common.clock import Clock
from dashwright.common.messaging.message import Delivery
from dashwright.common.messaging.verdict import Done, Verdict


class LoopClock(Clock):
    """The event loop's time, which is virtual for the broker in memory, as a date of these years."""

    def seconds(self) -> float:
        return 1_790_000_000.5 + asyncio.get_running_loop().time()


class Received:
    """A handler that keeps what it gets, and answers as it is told."""

    def __init__(self, verdict: Callable[[Delivery], Verdict] = lambda _: Done()) -> None:
        self._verdict = verdict
        self._deliveries: asyncio.Queue[Delivery] = asyncio.Queue()

    async def __call__(self, delivery: Delivery) -> Verdict:
        self._deliveries.put_nowait(delivery)
        return self._verdict(delivery)

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

    async def __call__(self, delivery: Delivery) -> Verdict:
        self.begun.put_nowait(delivery)
        await self.let_go.wait()
        self.finished.append(delivery.routing_key)
        return Done()

    async def next(self) -> Delivery:
        return await asyncio.wait_for(self.begun.get(), 20)
