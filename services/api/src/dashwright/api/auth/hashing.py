"""Work that costs milliseconds of a core, off the event loop: in threads of its own, and only so much of it at a time."""

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
    """At most ``waiting`` pieces of work are under way or wait; the next one is refused.

    Work for a suspect gets at most a quarter of the places, so that a flood of wrong credentials leaves room for everybody else.
    ``what`` says in a refusal of what there is too much.
    """

    def __init__(self, what: str, *, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=what.partition(" ")[0])
        self._what = what
        self._waiting = waiting
        self._under_way = 0
        self._of_suspects = 0

    async def run(self, work: Callable[[], Result], *, is_suspect: bool = False) -> Result:
        """Raises TooManyRequests."""
        if self._under_way >= self._waiting or (is_suspect and self._of_suspects >= max(1, self._waiting // 4)):
            raise TooManyRequests(f"Too many {self._what} are being checked at once; try again in a moment", retry_after=1)
        self._under_way += 1
        self._of_suspects += is_suspect
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._under_way -= 1
            self._of_suspects -= is_suspect

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


class KeyHashes:
    """What a database keeps of keys and tokens, computed apart from passwords, so that neither waits for the other."""

    def __init__(self, threads: int = 2, waiting: int = 128) -> None:
        self._threads = BoundedThreads("keys and tokens", threads=threads, waiting=waiting)

    async def stored(self, secret: str, salt: str, *, is_suspect: bool = False) -> str:
        """``key_material.stored``. Raises TooManyRequests."""
        return await self._threads.run(lambda: key_material.stored(secret, salt), is_suspect=is_suspect)

    def close(self) -> None:
        self._threads.close()


class Digests:
    """Digests of texts under a key that only this process knows: what is remembered by them tells no secret, and fits nowhere else."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogateescape"), key=self._key, digest_size=16).digest()
