"""Secrets at rest: sealed under SECRET_KEY, each bound to its owner (docs/decisions/0006-secrets-at-rest.md).

A sealed secret is ``version (1 byte) · key id (4) · nonce (12) · AES-256-GCM ciphertext with its tag``. The version
says how the rest is read and how the key is derived from SECRET_KEY. The key id distinguishes SECRET_KEYs and reveals
nothing about them.
"""

import os
from collections.abc import Mapping, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dashwright.common.errors import DashwrightError
from dashwright.common.key_derivation import derive, key_id

_VERSION = b"\x01"
_NONCE_BYTES, _TAG_BYTES = 12, 16


class SecretUnreadable(DashwrightError):
    """Sealed secret that no key opens. The message says why and what to do, without the secret or its name."""


class SecretBox:
    """Box that seals texts under one key, and opens those sealed under that key or another accepted one."""

    def __init__(self, header: bytes, ciphers: Mapping[bytes, AESGCM]) -> None:
        #: The beginning of everything that this box seals: the version and the key id.
        self.header = header
        self._ciphers = ciphers

    @staticmethod
    def of(*secret_keys: str) -> "SecretBox":
        """Return the box that seals under the first SECRET_KEY and opens under each."""
        ciphers = {_VERSION + key_id(key): AESGCM(derive(key, b"dashwright sealed secrets")) for key in secret_keys}
        return SecretBox(_VERSION + key_id(secret_keys[0]), ciphers)

    @property
    def headers(self) -> Sequence[bytes]:
        """Beginnings of everything that this box opens."""
        return [*self._ciphers]

    def seal(self, text: str, owner: str) -> bytes:
        """Return a sealed text. Opening it requires the same ``owner``; equal texts are sealed differently each time."""
        nonce = os.urandom(_NONCE_BYTES)
        return self.header + nonce + self._ciphers[self.header].encrypt(nonce, text.encode(), self.header + owner.encode())

    def open(self, sealed: bytes, owner: str) -> str:
        """Return the text. Raises SecretUnreadable if it was sealed under another key or for another owner, or was changed."""
        header, rest = sealed[: len(self.header)], sealed[len(self.header) :]
        if sealed[:1] != _VERSION or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            raise SecretUnreadable("A stored secret has a form that this version does not know; update the program, or enter it again")
        cipher = self._ciphers.get(header)
        if cipher is None:
            raise SecretUnreadable(
                "A stored secret was sealed under another DASHWRIGHT_SECRET_KEY; "
                "put that key into DASHWRIGHT_SECRET_KEYS_ACCEPTED, or enter the secret again"
            )
        try:
            return cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], header + owner.encode()).decode()
        except InvalidTag as error:
            raise SecretUnreadable("A stored secret was changed, or belongs to something else; enter it again") from error
