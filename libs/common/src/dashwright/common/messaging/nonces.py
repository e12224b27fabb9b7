"""Nonces of requests that were accepted, so that a copy of a request is not carried out again."""

import heapq

LIMIT = 100_000
"""About 20 MB. More requests than that would have to come within the patience of their callers."""


class NonceCache:
    """Nonces with the times until which a copy would still be in time; ``limit`` is how many it holds."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._known: set[str] = set()
        self._ends: list[tuple[float, str]] = []

    def add(self, nonce: str, *, now: float, until: float) -> bool:
        """Return whether the nonce is new. While the cache is full no nonce is: a forgotten one would let a copy pass."""
        while self._ends and self._ends[0][0] < now:
            self._known.discard(heapq.heappop(self._ends)[1])
        if nonce in self._known or len(self._known) >= self._limit:
            return False
        self._known.add(nonce)
        heapq.heappush(self._ends, (until, nonce))
        return True
