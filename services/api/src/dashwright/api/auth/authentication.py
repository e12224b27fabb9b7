"""The gate, composed: everything that turns credentials into callers, and forgets them in time."""

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
_PATIENCE = 5.0
"""Seconds that a start waits until changed rights are heard: whoever watches from before that has to come again when they are."""


class Authentication:
    """Passwords, keys and tokens over one database.

    ``identities`` is what use cases tell of changed rights, ``passwords``, ``throttle`` and ``key_hashes`` are for those that take or make
    credentials themselves, ``last_used`` is to be flushed now and then.
    """

    def __init__(self, settings: Settings, database: Database, clock: Clock, failed: FailedLoginObserver = ignore_failed_login) -> None:
        self._database = database
        self._listening = AsyncExitStack()
        self.identities = IdentityCache(clock)
        self.passwords = Passwords()
        self.key_hashes = KeyHashes()
        self.throttle = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        self.last_used = LastUseTimes(database, clock)
        accounts = UserAccounts(database)
        unknown_tokens = LoginThrottle(settings.login_attempts, settings.login_window_seconds)
        bearer = BearerAuthenticator(KeyLookup(database), self.key_hashes, unknown_tokens, self.identities, clock)
        is_weak = settings.is_weak_password if settings.is_exposed else _is_never_weak
        basic = BasicAuthenticator(
            accounts, self.passwords, self.throttle, tokens=bearer, is_open=settings.basic_auth, is_weak=is_weak, failed=failed
        )
        self.authenticator = Schemes({"basic": basic, "bearer": bearer}, accounts, self.identities, self.last_used)

    async def start(self) -> None:
        """Begins to hear of changed rights, and waits a little for the connection for that; until it stands, nobody is remembered."""
        begun = asyncio.Event()

        def begin() -> None:
            self.identities.begin()
            begun.set()

        heard = self._database.listen(_CHANNEL, self.identities.forget, begin, self.identities.suspend)
        await self._listening.enter_async_context(heard)
        with suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await begun.wait()

    async def stop(self) -> None:
        await self._listening.aclose()
        self.passwords.close()
        self.key_hashes.close()


def _is_never_weak(_password: str, _login: str) -> bool:
    return False
