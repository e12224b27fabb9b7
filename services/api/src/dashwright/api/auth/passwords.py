"""Password hashes, computed off the event loop with bounded concurrency: each takes about 25 ms of a core and 19 MiB."""

import hmac
from functools import cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import BoundedThreads

# The smallest of the OWASP cheat sheet's equivalent argon2id settings that keeps two verifications within the gateway's memory goal.
_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


class Passwords:
    """Hashes of passwords: argon2id, and PBKDF2 with a separate salt from imported databases.

    Every verification computes both, so that its duration reveals neither if the account exists nor where its hash came from.
    """

    def __init__(self, threads: int = 2, waiting: int = 32) -> None:
        """Create the thread pool; ``waiting`` limits running and queued verifications."""
        self._threads = BoundedThreads("passwords", threads=threads, waiting=waiting)
        self._dummy_hash = _dummy_hash()

    async def hash(self, password: str) -> str:
        """Return the hash to store, which includes its salt. Raises TooManyRequests."""
        return await self._threads.run(lambda: _HASHER.hash(password))

    async def verify(self, stored: str | None, password: str, *, salt: str | None = None, is_suspect: bool = False) -> bool:
        """Return whether ``password`` matches the stored hash. None (no such account) takes the same time. Raises TooManyRequests."""
        return await self._threads.run(lambda: _verify(stored, salt, password, self._dummy_hash), is_suspect=is_suspect)

    @staticmethod
    def is_outdated(stored: str) -> bool:
        """Return whether a verified hash should be replaced by a new one of the same password."""
        if key_material.is_stored(stored):
            return True
        try:
            return _HASHER.check_needs_rehash(stored)
        except InvalidHashError:
            return False

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()


@cache
def _dummy_hash() -> str:
    """Return the hash that a password is compared with if the account does not exist."""
    return _HASHER.hash("no account has this password")


def _verify(stored: str | None, salt: str | None, password: str, dummy_hash: str) -> bool:
    imported = stored if stored is not None and salt is not None and key_material.is_stored(stored) else None
    own = stored if stored is not None and stored.startswith("$argon2") else None
    # Both hashes are computed before one is chosen: the time must not depend on the kind of the stored hash.
    computed = key_material.stored(password, salt or "no salt")
    fits = _fits_argon2(own or dummy_hash, password)
    return hmac.compare_digest(computed, imported) if imported is not None else fits and own is not None


def _fits_argon2(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (Argon2Error, InvalidHashError):
        return False
