"""Names for credentials that give nothing away."""

import secrets
from hashlib import blake2b


class Digests:
    """Digests of texts under a key that only this process knows: what is remembered by them tells no secret, and fits nowhere else."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, text: str) -> bytes:
        return blake2b(text.encode("utf-8", "surrogateescape"), key=self._key, digest_size=16).digest()
