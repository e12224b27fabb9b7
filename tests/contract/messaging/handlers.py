"""Handlers and a clock for the tests of messaging."""

import asyncio
from collections.abc import Callable

from dashwright.common.clock import Clock
from dashwright.common.messaging.delivery_result import Ack, DeliveryResult
from dashwright.common.messaging.message import Delivery

_TIMEOUT_SECONDS = 20
#: The time at the start of the event loop's clock, a time in 2026 in Unix seconds.
_EPOCH = 1_790_000_000.5


class LoopClock(Clock):
    """Clock that follows the time of the event loop, which is virtual with the memory broker."""

    def seconds(self) -> float:
        return _EPOCH + asyncio.get_running_loop().time()


class RecordingHandler:
    """Handler that records its deliveries. ``result`` is a function from a delivery to the handler's result."""

    def __init__(self, result: Callable[[Delivery], DeliveryResult] = lambda _: Ack()) -> None:
        self._result = result
        self._deliveries: asyncio.Queue[Delivery] = asyncio.Queue()

    async def __call__(self, delivery: Delivery) -> DeliveryResult:
        self._deliveries.put_nowait(delivery)
        return self._result(delivery)

    async def next(self) -> Delivery:
        """Wait for the next recorded delivery and return it."""
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await self._deliveries.get()

    @property
    def is_empty(self) -> bool:
        """True if ``next`` has returned every recorded delivery."""
        return self._deliveries.empty()


class BlockingHandler:
    """Handler whose deliveries all wait until the test sets ``released``."""

    def __init__(self) -> None:
        #: Deliveries that ``next`` has not returned yet.
        self.started: asyncio.Queue[Delivery] = asyncio.Queue()
        self.released = asyncio.Event()
        #: Routing keys of the deliveries whose handling has ended, in this order.
        self.finished: list[str] = []

    async def __call__(self, delivery: Delivery) -> DeliveryResult:
        self.started.put_nowait(delivery)
        await self.released.wait()
        self.finished.append(delivery.routing_key)
        return Ack()

    async def next(self) -> Delivery:
        """Wait for the next started delivery and return it."""
        return await asyncio.wait_for(self.started.get(), _TIMEOUT_SECONDS)
