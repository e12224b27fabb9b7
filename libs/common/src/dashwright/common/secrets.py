"""Encryption of stored secrets under SECRET_KEY, each bound to its owner (docs/decisions/0006-secrets-at-rest.md).

A sealed secret is ``version (1 byte) · key id (4) · nonce (12) · AES-256-GCM ciphertext with its tag``. The version
determines the format and how the key is derived from SECRET_KEY. The key id distinguishes SECRET_KEYs and reveals
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
    """Sealed secret that cannot be decrypted. The message says why and what to do, without the secret or its name."""


class SecretCipher:
    """Cipher that encrypts under the current SECRET_KEY and decrypts under each accepted one.

    An ``owner`` is a string that identifies the stored field of a secret, such as ``org/1/data-source/abc/password``.
    """

    def __init__(self, header: bytes, ciphers: Mapping[bytes, AESGCM]) -> None:
        #: Version and key id, with which all secrets begin that this cipher encrypts.
        self.header = header
        self._ciphers = ciphers

    @staticmethod
    def from_keys(*secret_keys: str) -> "SecretCipher":
        """Return the cipher that encrypts under the first SECRET_KEY and decrypts under all of them."""
        ciphers = {_VERSION + key_id(key): AESGCM(derive(key, b"dashwright sealed secrets")) for key in secret_keys}
        return SecretCipher(_VERSION + key_id(secret_keys[0]), ciphers)

    @property
    def headers(self) -> Sequence[bytes]:
        """Version and key id of each key under which this cipher decrypts."""
        return [*self._ciphers]

    def encrypt(self, plaintext: str, owner: str) -> bytes:
        """Return the sealed secret. Decryption requires the same ``owner``. Equal secrets have different ciphertexts."""
        nonce = os.urandom(_NONCE_BYTES)
        # Header and owner are authenticated data: with another owner, the ciphertext cannot be decrypted.
        return self.header + nonce + self._ciphers[self.header].encrypt(nonce, plaintext.encode(), self.header + owner.encode())

    def decrypt(self, sealed: bytes, owner: str) -> str:
        """Return the secret. Raises SecretUnreadable if its key or owner differs, or if it was changed."""
        header, encrypted = sealed[: len(self.header)], sealed[len(self.header) :]
        if sealed[:1] != _VERSION or len(encrypted) < _NONCE_BYTES + _TAG_BYTES:
            raise SecretUnreadable("A stored secret has a form that this version does not know; update the program, or enter it again")
        cipher = self._ciphers.get(header)
        if cipher is None:
            raise SecretUnreadable(
                "A stored secret was sealed under another DASHWRIGHT_SECRET_KEY; "
                "put that key into DASHWRIGHT_SECRET_KEYS_ACCEPTED, or enter the secret again"
            )
        try:
            return cipher.decrypt(encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:], header + owner.encode()).decode()
        except InvalidTag as error:
            raise SecretUnreadable("A stored secret was changed, or belongs to something else; enter it again") from error
