"""Hashes of credentials for verification, which are slow by design, computed in bounded thread pools."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from dashwright.api.auth import key_material
from dashwright.common.errors import TooManyRequests

Result = TypeVar("Result")

_SUSPECT_DIVISOR: Final = 4
"""Divisor of the limit of tasks, for the tasks of all addresses with recent failures."""


class BoundedThreads:
    """A thread pool that refuses tasks when too many are running or queued.

    Suspect addresses are those with recent failures. Their tasks are limited to a quarter of ``max_pending``. Many wrong credentials
    then do not block other callers.
    """

    def __init__(self, items: str, *, threads: int, max_pending: int) -> None:
        """Create the pool. ``max_pending`` limits running and queued tasks. ``items`` says in errors what they check: ``passwords``."""
        first_word = items.partition(" ")[0]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=first_word)
        self._items = items
        self._max_pending = max_pending
        self._max_pending_of_suspects = max(1, max_pending // _SUSPECT_DIVISOR)
        self._pending = 0
        self._pending_of_suspects = 0

    async def run(self, task: Callable[[], Result], *, is_suspect: bool = False) -> Result:
        """Run ``task`` in a thread and return its result. Raises TooManyRequests if the pool is full."""
        if self._pending >= self._max_pending or (is_suspect and self._pending_of_suspects >= self._max_pending_of_suspects):
            raise TooManyRequests(f"Too many {self._items} are being checked concurrently; try again in a moment", retry_after=1)
        self._pending += 1
        self._pending_of_suspects += is_suspect  # True counts as 1.
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, task)
        finally:
            self._pending -= 1
            self._pending_of_suspects -= is_suspect

    def close(self) -> None:
        """Stop the threads after their current tasks, and discard queued tasks."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class KeyHashes:
    """Hashes of keys and tokens, computed in a thread pool apart from that of passwords, so that neither waits for the other."""

    def __init__(self, threads: int = 2, max_pending: int = 128) -> None:
        self._threads = BoundedThreads("keys and tokens", threads=threads, max_pending=max_pending)

    async def hash_secret(self, secret: str, salt: str, *, is_suspect: bool = False) -> str:
        """Return the stored hash of a secret, as ``key_material.hash_secret`` does. Raises TooManyRequests."""
        return await self._threads.run(lambda: key_material.hash_secret(secret, salt), is_suspect=is_suspect)

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()
