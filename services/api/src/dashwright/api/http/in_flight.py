"""The requests under way, which a stop waits for."""

import asyncio


class InFlightRequests:
    """Counts requests from their head to the last byte of their answer. Once ``stopping``, each connection ends with its answer."""

    def __init__(self) -> None:
        self.stopping = False
        self._count = 0
        self._none = asyncio.Event()
        self._none.set()

    def begin(self) -> None:
        self._count += 1
        self._none.clear()

    def end(self) -> None:
        self._count -= 1
        if not self._count:
            self._none.set()

    async def ended(self, seconds: float) -> bool:
        """Waits until none is left; whether that was so in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._none.wait()
        except TimeoutError:
            return False
        return True
