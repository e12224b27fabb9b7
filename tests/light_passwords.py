"""Cheap password hashing, for tests that do not test the hashing itself."""

import pytest
from argon2 import PasswordHasher

from dashwright.api.auth import key_material, passwords

HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
#: A hash like the product's own one, which is verified for unknown accounts so that a login takes the same time.
_DUMMY_HASH = HASHER.hash("no account has this password")


def make_light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace both hash functions of passwords, and the hash that is verified for unknown accounts.

    Passwords of an imported database no longer match their hashes.
    """
    monkeypatch.setattr(passwords, "_HASHER", HASHER)
    monkeypatch.setattr(passwords, "_dummy_hash", lambda: _DUMMY_HASH)
    monkeypatch.setattr(key_material, "_PBKDF2_ROUNDS", 1)
