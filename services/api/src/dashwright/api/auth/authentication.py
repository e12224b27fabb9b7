"""Composition of authentication: schemes, password and key hashes, the login throttle and the identity cache."""

import asyncio
from contextlib import AsyncExitStack, suppress

from dashwright.api.auth.basic import BasicAuthenticator, FailedLoginObserver, ignore_failed_login
from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.auth.schemes import Schemes
from dashwright.api.housekeeping import LastUseTimes
from dashwright.api.stores.key_lookup import KeyLookup
from dashwright.api.stores.users import UserAccounts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.settings import Settings

_CHANNEL = "identity"
_TIMEOUT = 5.0
"""Seconds to wait at startup for notifications of changed rights. Watches opened earlier are closed once notifications arrive."""


class Authentication:
    """Authentication of callers against the accounts and keys of one database."""

    def __init__(self, settings: Settings, database: Database, clock: Clock, failed: FailedLoginObserver = ignore_failed_login) -> None:
        self._database = database
        self._listening = AsyncExitStack()
        self.identities = IdentityCache(clock)  #: Use cases that change rights invalidate its entries.
        self.passwords = Passwords()
        self.key_hashes = KeyHashes()
        self.throttle = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        self.last_used = LastUseTimes(database, clock)  #: Housekeeping writes these in batches.
        accounts = UserAccounts(database)
        # A throttle of its own: unknown tokens from an address do not refuse the password logins from there.
        unknown_tokens = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        bearer = BearerAuthenticator(KeyLookup(database), self.key_hashes, unknown_tokens, self.identities, clock)
        is_weak = settings.is_weak_password if settings.is_exposed else _is_never_weak
        basic = BasicAuthenticator(
            accounts, self.passwords, self.throttle, tokens=bearer, is_open=settings.basic_auth, is_weak=is_weak, failed=failed
        )
        self.authenticator = Schemes({"basic": basic, "bearer": bearer}, accounts, self.identities, self.last_used)

    async def start(self) -> None:
        """Start listening for changed rights, and wait up to 5 seconds for the connection. Nothing is cached until it is open."""
        begun = asyncio.Event()

        def begin() -> None:
            self.identities.begin()
            begun.set()

        listener = self._database.listen(_CHANNEL, self.identities.forget, begin, self.identities.suspend)
        await self._listening.enter_async_context(listener)
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIMEOUT):
                await begun.wait()

    async def stop(self) -> None:
        """Stop listening and close the thread pools."""
        await self._listening.aclose()
        self.passwords.close()
        self.key_hashes.close()


def _is_never_weak(_password: str, _login: str) -> bool:
    return False
