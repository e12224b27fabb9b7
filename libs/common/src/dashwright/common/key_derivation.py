"""Keys for one purpose each, derived from a SECRET_KEY. None reveals anything about another or about SECRET_KEY."""

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_ID_BYTES = 4


def derive(secret_key: str, purpose: bytes, length: int = 32) -> bytes:
    """Return ``length`` bytes for ``purpose``."""
    return HKDF(SHA256(), length, salt=None, info=purpose).derive(secret_key.encode())


def key_id(secret_key: str) -> bytes:
    """Return the identifier of a SECRET_KEY, which is stored and sent next to what was made with it."""
    return derive(secret_key, b"dashwright key id", KEY_ID_BYTES)
