"""Formats of legacy API keys and service-account tokens, as existing clients and databases have them. Pure.

``stored`` hashes three kinds of secrets: that of a legacy key (the salt is the key's name), that of a token (the salt is its
checksum) and the password of a user from an imported database (the salt is in the user's row).
"""

import base64
import binascii
import hashlib
import re
import secrets
import string
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeGuard

import orjson

LONGEST: Final = 1024
"""Characters of a credential that is parsed; valid ones are far shorter."""

_PREFIX: Final = "glsa"
_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_SECRET_LENGTH: Final = 32
_ROUNDS: Final = 10_000
_BYTES: Final = 50
_STORED: Final = re.compile(r"[0-9a-f]{100}")
_LARGEST_ID: Final = 2**63


@dataclass(frozen=True, slots=True)
class TokenMaterial:
    """A service-account token, ``glsa_SECRET_CHECKSUM``, which is looked up by its stored hash."""

    secret: str
    checksum: str

    @property
    def salt(self) -> str:
        """The salt of the stored hash."""
        return self.checksum


@dataclass(frozen=True, slots=True)
class LegacyKeyMaterial:
    """A legacy key, Base64 of ``{"k": secret, "n": name, "id": organization}``, which is looked up by organization and name."""

    secret: str
    name: str
    org_id: int

    @property
    def salt(self) -> str:
        """The salt of the stored hash."""
        return self.name


Material: TypeAlias = TokenMaterial | LegacyKeyMaterial


def read(text: str) -> Material | None:
    """Return the token or key that a client sent after ``Bearer``, or None if the text is neither. Computes no hash."""
    if len(text) > LONGEST or not text.isascii():
        return None
    return _token(text) if text.startswith("gl") else _legacy(text)


def new_token() -> str:
    """Return a new random service-account token."""
    secret = "".join(secrets.choice(_ALPHANUMERIC) for _ in range(_SECRET_LENGTH))
    return f"{_PREFIX}_{secret}_{checksum(secret)}"


def checksum(secret: str) -> str:
    """Return the CRC-32 of ``glsa_SECRET`` in hexadecimal, little-endian."""
    return binascii.crc32(f"{_PREFIX}_{secret}".encode()).to_bytes(4, "little").hex()


def stored(secret: str, salt: str) -> str:
    """Return the stored hash of a secret: 100 hexadecimal digits. Takes about 4 ms of a core, so call it off the event loop."""
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), salt.encode(), _ROUNDS, _BYTES).hex()


def is_stored(text: str) -> bool:
    """Return whether a text has the format of a hash by ``stored``."""
    return _STORED.fullmatch(text) is not None


def _token(text: str) -> TokenMaterial | None:
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != _PREFIX or not parts[1] or "\0" in text or checksum(parts[1]) != parts[2]:
        return None
    return TokenMaterial(parts[1], parts[2])


def _legacy(text: str) -> LegacyKeyMaterial | None:
    try:
        value = orjson.loads(base64.b64decode(text, validate=True))
    except ValueError:  # invalid Base64 or JSON
        return None
    if not isinstance(value, dict):
        return None
    secret, name, org_id = value.get("k"), value.get("n"), value.get("id")
    if not _is_text(secret) or not _is_text(name) or type(org_id) is not int or not -_LARGEST_ID <= org_id < _LARGEST_ID:
        return None
    return LegacyKeyMaterial(secret, name, org_id)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != "" and "\0" not in value
