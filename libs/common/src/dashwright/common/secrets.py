"""Secrets at rest: sealed under one key, each bound to whom it belongs to (docs/decisions/0006-secrets-at-rest.md).

A sealed secret is ``version (1 byte) · key id (4) · nonce (12) · AES-256-GCM ciphertext with its tag``. The version says how the rest
is read and how the key comes from SECRET_KEY; the key id tells one SECRET_KEY from another, and nothing about either.
"""

import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dashwright.common.errors import DashwrightError

_VERSION = b"\x01"
_KEY_ID_BYTES, _NONCE_BYTES, _TAG_BYTES = 4, 12, 16


class SecretUnreadable(DashwrightError):
    """A sealed secret that this key does not open. The text says why and what to do, and neither the secret nor its name."""


class SecretBox:
    """Seals texts and opens them again."""

    def __init__(self, key: bytes, key_id: bytes) -> None:
        self._cipher = AESGCM(key)
        self.header = _VERSION + key_id
        """How everything begins that this box seals."""

    @staticmethod
    def of(secret_key: str) -> "SecretBox":
        """The box of a SECRET_KEY."""
        return SecretBox(_derived(secret_key, b"dashwright sealed secrets", 32), _derived(secret_key, b"dashwright key id", _KEY_ID_BYTES))

    def seal(self, text: str, owner: str) -> bytes:
        """``owner`` names the place the secret is for, and has to be given to open it; equal texts never look alike."""
        nonce = os.urandom(_NONCE_BYTES)
        return self.header + nonce + self._cipher.encrypt(nonce, text.encode(), self.header + owner.encode())

    def open(self, sealed: bytes, owner: str) -> str:
        """Raises SecretUnreadable for what was sealed under another key or for another owner, or was changed since."""
        rest = sealed[len(self.header) :]
        if sealed[:1] != _VERSION or len(rest) < _NONCE_BYTES + _TAG_BYTES:
            raise SecretUnreadable("A stored secret has a form that this version does not know; update the program, or enter it again")
        if not sealed.startswith(self.header):
            raise SecretUnreadable(
                "A stored secret was sealed under another DASHWRIGHT_SECRET_KEY; restore that key, or enter the secret again"
            )
        try:
            return self._cipher.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], self.header + owner.encode()).decode()
        except InvalidTag as error:
            raise SecretUnreadable("A stored secret was changed, or belongs to something else; enter it again") from error


def _derived(secret_key: str, purpose: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=None, info=purpose).derive(secret_key.encode())
