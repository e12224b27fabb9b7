"""Hashes of credentials: the expensive ones in bounded thread pools off the event loop, and keyed digests for cache keys."""

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from typing import TypeVar

from dashwright.api.auth import key_material
from dashwright.common.errors import TooManyRequests

Result = TypeVar("Result")


class BoundedThreads:
    """A thread pool that refuses work when too much of it is running or queued.

    Work for suspect addresses gets at most a quarter of the places: a flood of wrong credentials leaves room for other callers.
    """

    def __init__(self, what: str, *, threads: int, waiting: int) -> None:
        """Create the pool. ``waiting`` limits running and queued work; ``what`` names that work in refusals."""
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=what.partition(" ")[0])
        self._what = what
        self._waiting = waiting
        self._under_way = 0
        self._of_suspects = 0

    async def run(self, work: Callable[[], Result], *, is_suspect: bool = False) -> Result:
        """Return the result of ``work``, run in a thread. Raises TooManyRequests if the pool is full."""
        if self._under_way >= self._waiting or (is_suspect and self._of_suspects >= max(1, self._waiting // 4)):
            raise TooManyRequests(f"Too many {self._what} are being checked concurrently; try again in a moment", retry_after=1)
        self._under_way += 1
        self._of_suspects += is_suspect
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._under_way -= 1
            self._of_suspects -= is_suspect

    def close(self) -> None:
        """Stop the threads after their current work; drop queued work."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class KeyHashes:
    """Hashes of keys and tokens, computed in a pool of their own so that they do not wait for passwords, nor passwords for them."""

    def __init__(self, threads: int = 2, waiting: int = 128) -> None:
        self._threads = BoundedThreads("keys and tokens", threads=threads, waiting=waiting)

    async def stored(self, secret: str, salt: str, *, is_suspect: bool = False) -> str:
        """Return ``key_material.stored`` of a secret. Raises TooManyRequests."""
        return await self._threads.run(lambda: key_material.stored(secret, salt), is_suspect=is_suspect)

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()


class Digests:
    """Digests of texts under a random key of this process, so that cache keys reveal no credential and are useless elsewhere."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, text: str) -> bytes:
        """Return the 16-byte digest of a text."""
        return blake2b(text.encode("utf-8", "surrogateescape"), key=self._key, digest_size=16).digest()
