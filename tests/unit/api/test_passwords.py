"""Password hashes: which passwords match, which hashes are outdated, and how many checks may be pending."""

import asyncio
import threading
from collections.abc import Callable

import argon2
import pytest

from dashwright.api.auth import key_material
from dashwright.api.auth import passwords as passwords_module
from dashwright.api.auth.hashing import BoundedThreads, KeyHashes
from dashwright.api.auth.passwords import Passwords
from dashwright.common.errors import TooManyRequests

SALT = "abcdefghij"
IMPORTED = key_material.hash_secret("admin", SALT)


async def test_a_hash_of_an_imported_database_verifies_with_its_salt(passwords: Passwords) -> None:
    """An imported hash verifies with its password and salt only."""
    assert await passwords.verify(IMPORTED, "admin", salt=SALT)
    assert not await passwords.verify(IMPORTED, "Admin", salt=SALT)
    assert not await passwords.verify(IMPORTED, "admin", salt="other")
    assert not await passwords.verify(IMPORTED, "admin")
    assert not await passwords.verify(IMPORTED.upper(), "admin", salt=SALT)


async def test_an_invalid_hash_matches_no_password(passwords: Passwords) -> None:
    """No password matches a missing, empty or broken hash, not even the password of the dummy hash."""
    for stored in (None, "", "admin", "$argon2id$broken", "a" * 100):
        for password in ("", "admin", "no account has this password"):
            assert not await passwords.verify(stored, password, salt=SALT)


async def test_an_old_hash_is_replaced_and_a_new_one_is_not(passwords: Passwords) -> None:
    """Imported hashes, and argon2 hashes with other settings, are outdated. Current and broken hashes are not."""
    weaker_hash = argon2.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("admin")
    assert passwords.is_outdated(IMPORTED)
    assert passwords.is_outdated(weaker_hash)
    assert not passwords.is_outdated(await passwords.hash("admin"))
    assert not passwords.is_outdated("broken")


async def test_every_verification_costs_the_same(passwords: Passwords, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verification runs both hash functions once, so its time does not reveal whether an account exists or is imported."""
    calls: list[str] = []

    def count_calls(name: str, function: Callable[..., object]) -> Callable[..., object]:
        """Return a function that records its name at each call."""

        def run(*arguments: object) -> object:
            calls.append(name)
            return function(*arguments)

        return run

    current_hash = await passwords.hash("admin")
    monkeypatch.setattr(passwords_module, "_matches_argon2", count_calls("argon2", passwords_module._matches_argon2))
    monkeypatch.setattr(key_material, "hash_secret", count_calls("pbkdf2", key_material.hash_secret))
    no_account, current_account, imported_account = (None, None), (current_hash, None), (IMPORTED, SALT)
    imported_without_salt, account_without_password = (IMPORTED, None), ("", None)
    for stored, salt in (no_account, current_account, imported_account, imported_without_salt, account_without_password):
        for password in ("admin", "wrong"):
            calls.clear()
            await passwords.verify(stored, password, salt=salt)
            assert sorted(calls) == ["argon2", "pbkdf2"]


async def test_concurrent_checks_are_bounded_and_leave_slots_for_clients_without_failures() -> None:
    """Checks for clients with failures use at most a quarter of the slots.

    Checks for other clients are refused only if all slots are used. A finished check frees its slot.
    """
    release = threading.Event()
    threads = BoundedThreads("passwords", threads=1, max_pending=8)

    async def start_checks(count: int, *, is_suspect: bool) -> list[asyncio.Task[bool]]:
        """Return running or waiting checks, which end after the release."""
        tasks = [asyncio.create_task(threads.run(lambda: release.wait(5), is_suspect=is_suspect)) for _ in range(count)]
        await asyncio.sleep(0)
        return tasks

    # Two of eight slots are a quarter.
    checks = await start_checks(2, is_suspect=True)
    with pytest.raises(TooManyRequests):
        await threads.run(lambda: True, is_suspect=True)
    checks += await start_checks(6, is_suspect=False)
    with pytest.raises(TooManyRequests) as refusal:
        await threads.run(lambda: True)
    assert refusal.value.retry_after == 1
    release.set()
    assert all(await asyncio.gather(*checks))
    assert await threads.run(lambda: True, is_suspect=True)
    threads.close()


async def test_key_hashes_are_those_of_key_material() -> None:
    """``KeyHashes``, which hashes outside of the event loop, has the result of ``key_material``."""
    hashes = KeyHashes()
    assert await hashes.hash_secret("admin", SALT) == IMPORTED
    hashes.close()
