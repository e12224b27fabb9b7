"""Composition of authentication: schemes, password and key hashes, the login throttle and the identity cache."""

import asyncio
from contextlib import AsyncExitStack, suppress

from dashwright.api.auth.basic import BasicAuthenticator, FailedLoginObserver, ignore_failed_login
from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.auth.schemes import SchemeAuthenticator
from dashwright.api.housekeeping import LastUseTimes
from dashwright.api.stores.key_lookup import KeyLookup
from dashwright.api.stores.users import UserAccounts
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.settings import Settings

_CHANNEL = "identity"
"""The channel of the notifications of changed rights."""
_LISTEN_TIMEOUT_SECONDS = 5.0
"""Limit on waiting at startup until notifications of changed rights arrive.

If they arrive later, the watches that were opened until then are closed.
"""


class Authentication:
    """Authentication of callers against the accounts and keys of one database."""

    def __init__(
        self, settings: Settings, database: Database, clock: Clock, on_failed_login: FailedLoginObserver = ignore_failed_login
    ) -> None:
        self._database = database
        self._listener_stack = AsyncExitStack()
        self.identity_cache = IdentityCache(clock)  #: Use cases that change rights invalidate its entries.
        self.passwords = Passwords()
        self.key_hashes = KeyHashes()
        self.throttle = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        self.last_use_times = LastUseTimes(database, clock)  #: Housekeeping writes these in batches.
        accounts = UserAccounts(database)
        # Tokens have a throttle of their own, so that unknown tokens from an address do not block password logins from there.
        token_throttle = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        bearer = BearerAuthenticator(KeyLookup(database), self.key_hashes, token_throttle, self.identity_cache, clock)
        is_weak = settings.is_weak_password if settings.refuses_weak_passwords else _is_never_weak
        basic = BasicAuthenticator(
            accounts,
            self.passwords,
            self.throttle,
            bearer=bearer,
            accepts_passwords=settings.basic_auth,
            is_weak=is_weak,
            on_failed_login=on_failed_login,
        )
        self.authenticator = SchemeAuthenticator({"basic": basic, "bearer": bearer}, accounts, self.identity_cache, self.last_use_times)

    async def start(self) -> None:
        """Start listening for changed rights, and wait up to 5 seconds for the connection. Identities are cached only from then on."""
        listening = asyncio.Event()

        def resume() -> None:
            self.identity_cache.resume()
            listening.set()

        listener = self._database.listen(_CHANNEL, self.identity_cache.invalidate, resume, self.identity_cache.suspend)
        await self._listener_stack.enter_async_context(listener)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LISTEN_TIMEOUT_SECONDS):
                await listening.wait()

    async def stop(self) -> None:
        """Stop listening for changed rights, and close the thread pools."""
        await self._listener_stack.aclose()
        self.passwords.close()
        self.key_hashes.close()


def _is_never_weak(_password: str, _login: str) -> bool:
    """Return False, for a server that no other machine can reach or that may have weak passwords."""
    return False
