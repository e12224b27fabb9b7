"""Formats of legacy API keys and service-account tokens, as Grafana defines them.

``hash_secret`` hashes three kinds of secrets: that of a legacy key (the salt is the key's name), that of a token (the salt is its
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

MAX_CREDENTIAL_LENGTH: Final = 1024
"""Maximum number of characters. Longer credentials are refused without parsing; valid ones are much shorter."""

_TOKEN_PREFIX: Final = "glsa"  # noqa: S105
_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_SECRET_LENGTH: Final = 32
# Grafana's settings for stored hashes: keys and passwords of imported databases must remain valid.
_PBKDF2_ROUNDS: Final = 10_000
_HASH_BYTES: Final = 50
_HASH_PATTERN: Final = re.compile(r"[0-9a-f]{100}")
_ORG_ID_BOUND: Final = 2**63
"""The organization id of a key is a signed 64-bit integer, which is less than this number."""


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


def parse(credential: str) -> Material | None:
    """Return the token or key that a client sent after ``Bearer``, or None if it is neither. Computes no hash."""
    if len(credential) > MAX_CREDENTIAL_LENGTH or not credential.isascii():
        return None
    # Grafana distinguishes the two formats by these two letters.
    return _parse_token(credential) if credential.startswith("gl") else _parse_legacy_key(credential)


def new_token() -> str:
    """Return a new random service-account token."""
    secret = "".join(secrets.choice(_ALPHANUMERIC) for _ in range(_SECRET_LENGTH))
    return f"{_TOKEN_PREFIX}_{secret}_{checksum(secret)}"


def checksum(secret: str) -> str:
    """Return the CRC-32 of ``glsa_SECRET`` in hexadecimal, little-endian."""
    return binascii.crc32(f"{_TOKEN_PREFIX}_{secret}".encode()).to_bytes(4, "little").hex()


def hash_secret(secret: str, salt: str) -> str:
    """Return the stored hash of a secret: 100 hexadecimal digits. It takes about 4 ms of a core, so call it off the event loop."""
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), salt.encode(), _PBKDF2_ROUNDS, _HASH_BYTES).hex()


def is_secret_hash(value: str) -> bool:
    """Return whether a string has the format of a hash by ``hash_secret``."""
    return _HASH_PATTERN.fullmatch(value) is not None


def _parse_token(credential: str) -> TokenMaterial | None:
    """Return a token, or None if the format or the checksum is wrong."""
    parts = credential.split("_")
    if len(parts) != 3 or "\0" in credential:
        return None
    prefix, secret, sent_checksum = parts
    if prefix != _TOKEN_PREFIX or not secret or checksum(secret) != sent_checksum:
        return None
    return TokenMaterial(secret, sent_checksum)


def _parse_legacy_key(credential: str) -> LegacyKeyMaterial | None:
    """Return a legacy key, or None if the format is wrong."""
    try:
        members = orjson.loads(base64.b64decode(credential, validate=True))
    except ValueError:  # invalid Base64 or JSON
        return None
    if not isinstance(members, dict):
        return None
    secret, name, org_id = members.get("k"), members.get("n"), members.get("id")
    if (
        not _is_usable_string(secret)
        or not _is_usable_string(name)
        or type(org_id) is not int  # Excludes booleans, which are instances of int.
        or not -_ORG_ID_BOUND <= org_id < _ORG_ID_BOUND
    ):
        return None
    return LegacyKeyMaterial(secret, name, org_id)


def _is_usable_string(value: object) -> TypeGuard[str]:
    """Return whether a value is a string that is not empty and has no NUL character, which PostgreSQL refuses."""
    return isinstance(value, str) and value != "" and "\0" not in value
