"""Derivation of keys from a SECRET_KEY, one for each purpose. A key reveals nothing about SECRET_KEY and other keys."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_ID_BYTES = 4


def derive(secret_key: str, purpose: bytes, length: int = 32) -> bytes:
    """Return the key for ``purpose``, which has ``length`` bytes."""
    return HKDF(SHA256(), length, salt=None, info=purpose).derive(secret_key.encode())


def key_id(secret_key: str) -> bytes:
    """Return the identifier of a SECRET_KEY, which accompanies what was encrypted or signed with it."""
    return derive(secret_key, b"dashwright key id", KEY_ID_BYTES)
