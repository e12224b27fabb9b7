"""Signatures of messages between services. Without SECRET_KEY a program with access to the broker cannot imitate a service.

A signature covers the purpose, the destination, the headers and the body of a message. It does not encrypt them.
"""

import heapq
import hmac
from collections.abc import Sequence
from enum import StrEnum

import orjson

from dashwright.common.key_derivation import derive, key_id
from dashwright.common.messaging.message import Header

#: Header with the id of the key and the HMAC-SHA256 of the message, both in hexadecimal.
SIGNATURE = "dashwright-signature"

#: Destination and headers that a signature covers in addition to the body.
SignedFields = Sequence[Header | Sequence[Sequence[Header]] | None]


class Purpose(StrEnum):
    """Purpose of a signed message. A signature is valid for one purpose only."""

    REQUEST = "request"
    RESPONSE = "answer"
    CONTROL = "control"


class Signer:
    """Signer and verifier of messages. It signs with the first key and accepts signatures with all keys."""

    def __init__(self, *secret_keys: str) -> None:
        self._hmacs = {
            key_id(key).hex(): hmac.new(derive(key, b"dashwright message signatures"), digestmod="sha256") for key in secret_keys
        }
        self._current_key_id = key_id(secret_keys[0]).hex()

    def sign(self, purpose: Purpose, fields: SignedFields, body: bytes) -> str:
        """Return the value of the header ``SIGNATURE`` for a message."""
        return self._current_key_id + self._digest(self._current_key_id, purpose, fields, body)

    def is_genuine(self, signature: Header | None, purpose: Purpose, fields: SignedFields, body: bytes) -> bool:
        """Return whether a message was signed with an accepted key and not changed since."""
        if not isinstance(signature, str) or not signature.isascii():
            return False
        id_length = len(self._current_key_id)
        signing_key_id, digest = signature[:id_length], signature[id_length:]
        return signing_key_id in self._hmacs and hmac.compare_digest(digest, self._digest(signing_key_id, purpose, fields, body))

    def _digest(self, signing_key_id: str, purpose: Purpose, fields: SignedFields, body: bytes) -> str:
        digest = self._hmacs[signing_key_id].copy()
        # The JSON of a list is self-delimiting, so no part of the body can be taken for a signed field.
        digest.update(orjson.dumps([purpose.value, fields]))
        digest.update(body)
        return digest.hexdigest()


#: Maximum number of nonces in a cache, which use about 20 MB.
MAX_NONCES = 100_000


class NonceCache:
    """Cache of nonces, each kept until a copy of its message would have expired. It has at most ``limit`` nonces."""

    def __init__(self, limit: int = MAX_NONCES) -> None:
        self._limit = limit
        self._nonces: set[str] = set()
        self._expirations: list[tuple[float, str]] = []

    def add(self, nonce: str, *, now: float, until: float) -> bool:
        """Add a nonce, kept until ``until``, and return whether it is new. All times are Unix seconds.

        While the cache is full every nonce is rejected: evicting one would let a copied message pass.
        """
        while self._expirations and self._expirations[0][0] < now:
            self._nonces.discard(heapq.heappop(self._expirations)[1])
        if nonce in self._nonces or len(self._nonces) >= self._limit:
            return False
        self._nonces.add(nonce)
        heapq.heappush(self._expirations, (until, nonce))
        return True
