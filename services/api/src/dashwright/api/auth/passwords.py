"""Password hashes, computed off the event loop and a few at a time: each costs some 25 ms of a core and 19 MiB."""

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
    """argon2id, and the PBKDF2 hashes of imported databases, which have a salt beside them.

    Every verification computes both, so that its time tells neither whether there is an account nor where it came from. It runs over a
    bounded pool of threads; ``waiting`` is how many may be under way or wait, and the next one is refused.
    """

    def __init__(self, threads: int = 2, waiting: int = 32) -> None:
        self._threads = BoundedThreads("passwords", threads=threads, waiting=waiting)
        self._nobody = _nobody()

    async def hash(self, password: str) -> str:
        """The hash to store; it needs no salt beside it. Raises TooManyRequests."""
        return await self._threads.run(lambda: _HASHER.hash(password))

    async def verify(self, stored: str | None, password: str, *, salt: str | None = None, is_suspect: bool = False) -> bool:
        """Whether ``password`` belongs to the stored hash; None (no such account) costs the same time. Raises TooManyRequests."""
        return await self._threads.run(lambda: _verify(stored, salt, password, self._nobody), is_suspect=is_suspect)

    @staticmethod
    def is_outdated(stored: str) -> bool:
        """Whether a hash that was verified should be replaced by a new one of the same password."""
        if key_material.is_stored(stored):
            return True
        try:
            return _HASHER.check_needs_rehash(stored)
        except InvalidHashError:
            return False

    def close(self) -> None:
        self._threads.close()


@cache
def _nobody() -> str:
    """What a password is compared with where there is no account."""
    return _HASHER.hash("no account has this password")


def _verify(stored: str | None, salt: str | None, password: str, nobody: str) -> bool:
    imported = stored if stored is not None and salt is not None and key_material.is_stored(stored) else None
    own = stored if stored is not None and stored.startswith("$argon2") else None
    computed = key_material.stored(password, salt or "no salt")
    fits = _fits_argon2(own or nobody, password)
    return hmac.compare_digest(computed, imported) if imported is not None else fits and own is not None


def _fits_argon2(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (Argon2Error, InvalidHashError):
        return False
