"""Secrets at rest: sealed under SECRET_KEY, each bound to whom it belongs to (docs/decisions/0006-secrets-at-rest.md).

A sealed secret is ``version (1 byte) · key id (4) · nonce (12) · AES-256-GCM ciphertext with its tag``. The version says how the rest
is read and how the key comes from SECRET_KEY; the key id tells one SECRET_KEY from another, and nothing about either.
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
    """A sealed secret that this key does not open. The text says why and what to do, and neither the secret nor its name."""


class SecretBox:
    """Seals texts under one key, and opens those sealed under that one or another that is accepted."""

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
        """The beginnings of everything that this box opens."""
        return [*self._ciphers]

    def seal(self, text: str, owner: str) -> bytes:
        """``owner`` names the place the secret is for, and has to be given to open it; equal texts never look alike."""
        nonce = os.urandom(_NONCE_BYTES)
        return self.header + nonce + self._ciphers[self.header].encrypt(nonce, text.encode(), self.header + owner.encode())

    def open(self, sealed: bytes, owner: str) -> str:
        """Raises SecretUnreadable for what was sealed under another key or for another owner, or was changed since."""
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
