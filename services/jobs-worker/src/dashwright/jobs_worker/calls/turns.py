"""Who is answered next: a git host that is slow to answer keeps only the organization waiting that asks for it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from dashwright.common.errors import TooManyRequests


class Turns:
    """``at_once`` are at work, ``of_one`` organization at most; of that ``in_hand`` are at work or wait."""

    def __init__(self, *, at_once: int, of_one: int, in_hand: int) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_one = of_one
        self._most = in_hand
        self._in_hand: Counter[str] = Counter()
        self._organizations: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def taken(self, namespace: str) -> AsyncIterator[None]:
        """One turn, as long as the block runs. Raises TooManyRequests where too many of the organization wait already."""
        if self._in_hand[namespace] >= self._most:
            raise TooManyRequests(f"{self._most} requests like this are under way already; try again in a moment", retry_after=1)
        own = self._organizations.setdefault(namespace, asyncio.Semaphore(self._of_one))
        self._in_hand[namespace] += 1
        try:
            async with own, self._all:
                yield
        finally:
            self._in_hand[namespace] -= 1
            if not self._in_hand[namespace]:
                del self._in_hand[namespace]
