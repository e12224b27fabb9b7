"""Password hashes, computed off the event loop with bounded concurrency: each takes about 25 ms of a core and 19 MiB."""

import hmac
from functools import cache
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import BoundedThreads

# One of the settings of argon2id that OWASP's cheat sheet lists as equally strong. With 19 MiB, two concurrent verifications fit the
# memory goal of the gateway.
_HASHER: Final = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)


class Passwords:
    """Hashes of passwords. New hashes are argon2id; accounts imported from Grafana have PBKDF2 hashes and a separate salt.

    Every verification computes a hash by each algorithm. The duration then reveals neither whether the account exists nor whether it was
    imported.
    """

    def __init__(self, threads: int = 2, max_pending: int = 32) -> None:
        """Create the thread pool; ``max_pending`` limits running and queued verifications."""
        self._threads = BoundedThreads("passwords", threads=threads, max_pending=max_pending)
        self._dummy_hash = _dummy_hash()

    async def hash(self, password: str) -> str:
        """Return the hash to store, which includes its salt. Raises TooManyRequests."""
        return await self._threads.run(lambda: _HASHER.hash(password))

    async def verify(self, stored_hash: str | None, password: str, *, salt: str | None = None, is_suspect: bool = False) -> bool:
        """Return whether ``password`` matches the stored hash. Without a hash, the call takes the same time. Raises TooManyRequests.

        ``salt`` is the salt of an imported hash; argon2id hashes include their salt. ``is_suspect`` is set for a client address with
        recent failures: all such addresses share a quarter of the queue.
        """
        return await self._threads.run(lambda: _verify(stored_hash, salt, password, self._dummy_hash), is_suspect=is_suspect)

    @staticmethod
    def is_outdated(stored_hash: str) -> bool:
        """Return whether a verified hash should be replaced by a new one of the same password."""
        # Of passwords, only imported ones have this hash, which is weaker than argon2id.
        if key_material.is_secret_hash(stored_hash):
            return True
        try:
            return _HASHER.check_needs_rehash(stored_hash)
        except InvalidHashError:
            return False

    def close(self) -> None:
        """Stop the threads."""
        self._threads.close()


@cache
def _dummy_hash() -> str:
    """Return the hash that a password is compared with if the account has no argon2id hash, or does not exist."""
    return _HASHER.hash("no account has this password")


def _verify(stored_hash: str | None, salt: str | None, password: str, dummy_hash: str) -> bool:
    """Return whether a password matches a stored hash, in the same time for every stored hash, and for None."""
    is_imported = stored_hash is not None and salt is not None and key_material.is_secret_hash(stored_hash)
    is_argon2 = stored_hash is not None and stored_hash.startswith("$argon2")
    # Both hashes are computed before one is chosen: the time must not depend on the algorithm of the stored hash.
    pbkdf2_hash = key_material.hash_secret(password, salt or "no salt")
    matches_argon2 = _matches_argon2(stored_hash if stored_hash is not None and is_argon2 else dummy_hash, password)
    if stored_hash is not None and is_imported:
        return hmac.compare_digest(pbkdf2_hash, stored_hash)
    return matches_argon2 and is_argon2


def _matches_argon2(stored_hash: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored_hash, password)
    except (Argon2Error, InvalidHashError):
        return False
