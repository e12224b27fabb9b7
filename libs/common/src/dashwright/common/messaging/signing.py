"""Signatures on messages between services: a program that reaches the broker without SECRET_KEY cannot speak for a service.

A signature covers its purpose, the place and headers that give a message its meaning, and the body. It hides nothing.
"""

import heapq
import hmac
from collections.abc import Sequence
from enum import StrEnum

import orjson

from dashwright.common.key_derivation import derive, key_id
from dashwright.common.messaging.message import Header

#: Header with the id of the key and the HMAC-SHA256, both in hexadecimal.
SIGNATURE = "dashwright-signature"

Meaning = Sequence[Header | Sequence[Sequence[Header]] | None]


class Purpose(StrEnum):
    """The kind of a signed message, so that none passes for one of another kind."""

    REQUEST = "request"
    RESPONSE = "answer"
    CONTROL = "control"
    WAKE_UP = "wake-up"


class Signer:
    """Signer that signs with the first key and accepts every key. Stateless and safe to share."""

    def __init__(self, *secret_keys: str) -> None:
        keys = {key_id(key).hex(): hmac.new(derive(key, b"dashwright message signatures"), digestmod="sha256") for key in secret_keys}
        self._current = key_id(secret_keys[0]).hex()
        self._keys = keys

    def sign(self, purpose: Purpose, meaning: Meaning, body: bytes) -> str:
        """Return the value of the header ``SIGNATURE``."""
        return self._current + self._digest(self._current, purpose, meaning, body)

    def is_genuine(self, signature: Header | None, purpose: Purpose, meaning: Meaning, body: bytes) -> bool:
        """Return whether a holder of an accepted key signed exactly this."""
        if not isinstance(signature, str) or not signature.isascii():
            return False
        key, digest = signature[: len(self._current)], signature[len(self._current) :]
        return key in self._keys and hmac.compare_digest(digest, self._digest(key, purpose, meaning, body))

    def _digest(self, key: str, purpose: Purpose, meaning: Meaning, body: bytes) -> str:
        digest = self._keys[key].copy()
        # JSON of a list ends where it ends: no body continues the meaning.
        digest.update(orjson.dumps([purpose.value, meaning]))
        digest.update(body)
        return digest.hexdigest()


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
