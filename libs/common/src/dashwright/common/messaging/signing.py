"""Signatures of messages between services. A program that has access to the broker, but not the SECRET_KEY, cannot imitate a service.

A signature covers the purpose, the queue, the correlation id, the headers and the body of a message. It does not encrypt them.
"""

import heapq
import hmac
from dataclasses import replace
from enum import StrEnum

import orjson

from dashwright.common.key_derivation import derive, key_id
from dashwright.common.messaging.message import Message
from dashwright.common.observability import tracing

#: Header with the id of the key and the HMAC-SHA256 of the message, both in hexadecimal.
SIGNATURE = "dashwright-signature"

#: Headers that the signature does not cover: itself, and the trace, which is added later, when the message is sent.
_UNSIGNED = frozenset({SIGNATURE, tracing.HEADER})


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

    def signed(self, message: Message, purpose: Purpose, queue: str = "") -> Message:
        """Return the message with a signature. ``queue`` is the queue that it is sent to; empty for an inbox."""
        signature = self._current_key_id + self._digest(self._current_key_id, message, purpose, queue)
        return replace(message, headers={**message.headers, SIGNATURE: signature})

    def is_genuine(self, message: Message, purpose: Purpose, queue: str = "") -> bool:
        """Return whether a service signed the message with an accepted key, and nothing was changed since.

        The ``reply_to`` of a message is not signed, since the broker writes it.
        """
        signature = message.headers.get(SIGNATURE)
        # compare_digest raises an error for text that is not ASCII.
        if not isinstance(signature, str) or not signature.isascii():
            return False
        id_length = len(self._current_key_id)
        signing_key_id, digest = signature[:id_length], signature[id_length:]
        return signing_key_id in self._hmacs and hmac.compare_digest(digest, self._digest(signing_key_id, message, purpose, queue))

    def _digest(self, signing_key_id: str, message: Message, purpose: Purpose, queue: str) -> str:
        """Return the HMAC of everything that a signature covers, in hexadecimal."""
        headers = sorted([item for item in message.headers.items() if item[0] not in _UNSIGNED])
        digest = self._hmacs[signing_key_id].copy()
        # The JSON of a list is self-delimiting, so no part of the body can be taken for a signed field.
        digest.update(orjson.dumps([purpose.value, [queue, message.correlation_id, headers]]))
        digest.update(message.body)
        return digest.hexdigest()


#: Maximum number of nonces in a cache, which use about 20 MB.
MAX_NONCES = 100_000


class NonceCache:
    """Cache of at most ``limit`` nonces. Each is kept until its message expires, and identifies copies of the message until then."""

    def __init__(self, limit: int = MAX_NONCES) -> None:
        self._limit = limit
        self._nonces: set[str] = set()
        self._expirations: list[tuple[float, str]] = []

    def add(self, nonce: str, *, now: float, expires_at: float) -> bool:
        """Add a nonce, kept until ``expires_at``, and return whether it is new. All times are Unix seconds.

        While the cache is full every nonce is rejected: evicting one would let a copied message pass.
        """
        while self._expirations and self._expirations[0][0] < now:
            self._nonces.discard(heapq.heappop(self._expirations)[1])
        if nonce in self._nonces or len(self._nonces) >= self._limit:
            return False
        self._nonces.add(nonce)
        heapq.heappush(self._expirations, (expires_at, nonce))
        return True
