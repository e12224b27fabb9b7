"""Basic authentication: a login or e-mail with its password, or the word ``api_key`` with a token."""

import base64
import binascii
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import structlog

from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.hashing import Digests
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.auth.ttl_cache import TtlCache
from dashwright.api.http.addresses import client_network
from dashwright.api.http.authentication import Credentials, not_a_member
from dashwright.common.errors import Forbidden, TooManyRequests, Unauthorized, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight

log = structlog.get_logger()

_TOKEN_LOGIN: Final = "api_key"  # noqa: S105
_VERIFIED_SECONDS: Final = 300.0
"""Seconds after its last use for which a verified password needs no new hash."""
_MUST_CHANGE: Final = (
    "This password is too weak for a server that other hosts can reach; set another by PUT /api/user/password "
    '{"oldPassword": …, "newPassword": …}, and log in with that'
)
_LONGEST_LOGIN: Final = 190
"""Characters of a login that are logged; stored logins are not longer."""


class Account(Protocol):
    """A stored account, as the Basic scheme needs it."""

    @property
    def user_id(self) -> int:
        """The user's id."""
        ...

    @property
    def login(self) -> str:
        """The user's login."""
        ...

    @property
    def password_hash(self) -> str | None:
        """The stored hash; None for an account without password."""
        ...

    @property
    def salt(self) -> str | None:
        """The salt of a hash from an imported database; None if the hash includes its salt."""
        ...

    @property
    def is_disabled(self) -> bool:
        """True if the account may not log in."""
        ...

    @property
    def identity(self) -> Identity | None:
        """The caller in the requested organization; None if the account is not a member of it."""
        ...


class Accounts(Protocol):
    """The store of accounts."""

    async def find(self, login: str, org_id: int | None) -> Account | None:
        """Return the account with a login or e-mail, compared case-insensitively, in an organization (None: its current one)."""
        ...

    async def replace_password(self, user_id: int, *, old: str, new: str) -> bool:
        """Replace the hash ``old`` by ``new`` and clear the salt. Return False if ``old`` is not the stored hash any more."""
        ...


class FailedLoginObserver(Protocol):
    """A callback for failed logins of one login from one address.

    It is called for the first failure within the window, and for the failure after which further attempts are refused.
    """

    def __call__(self, user_id: int | None, login: str, address: str, failures: int) -> None:
        """Record the ``failures``-th failed login of a window; an unknown login has no ``user_id``."""


def ignore_failed_login(user_id: int | None, login: str, address: str, failures: int) -> None:
    """Ignore a failed login."""


class BasicAuthenticator:
    """Authenticator for logins with passwords.

    A verified password is cached by digest for 5 minutes after its last use, and only as long as the account keeps that hash. No
    password is stored. A cached credential needs no hash. The throttle does not apply to it at addresses where it was used lately.
    A caller refused by the throttle gets the same response, in the same time, as for a wrong password.
    """

    def __init__(
        self,
        accounts: Accounts,
        passwords: Passwords,
        throttle: LoginThrottle,
        *,
        tokens: BearerAuthenticator | None = None,
        is_open: bool = True,
        is_weak: Callable[[str, str], bool] = lambda _password, _login: False,
        failed: FailedLoginObserver = ignore_failed_login,
    ) -> None:
        """Create the authenticator.

        ``tokens`` checks tokens that are sent in place of passwords; without ``is_open`` only these are accepted. A password for
        which ``is_weak(password, login)`` is true permits only its own change. ``failed`` is called for failed logins.
        """
        self._is_weak = is_weak
        self._failed = failed
        self._accounts = accounts
        self._passwords = passwords
        self._throttle = throttle
        self._tokens = tokens
        self._is_open = is_open
        self._digests = Digests()
        self._verified: TtlCache[bytes, str] = TtlCache(4096, _VERIFIED_SECONDS)
        self._used_at: TtlCache[bytes, bool] = TtlCache(4096, _VERIFIED_SECONDS)
        self._checks: SingleFlight[tuple[bytes, str | None], bool] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller with these credentials.

        Raises Unauthorized for wrong ones, Forbidden for a weak password that must be changed, TooManyRequests and Unavailable.
        """
        decoded = _decode(credentials.authorization)
        if decoded is not None and decoded[0] == _TOKEN_LOGIN and self._tokens is not None:
            return await self._tokens.check(decoded[1], credentials.address, org_id)
        if not self._is_open:
            raise Unauthorized("Unauthorized")
        if decoded is None:
            raise _refused()
        login, password = decoded
        account = await self._accounts.find(login, org_id)
        digest = self._digests.of(f"{login}:{password}")
        place = self._digests.of(f"{client_network(credentials.address)} {login}:{password}")
        # Login and e-mail of one account share their failures, or guessing by both would double the attempts.
        counted_login = login if account is None else account.login
        # The throttle applies at other addresses even to a verified password, or a login in use could be guessed without limit.
        if account is None or not self._knows(account, digest) or not self._may_try(counted_login, credentials.address, place):
            stored = None if account is None else account.password_hash
            guess = partial(self._guess, account, counted_login, password, credentials.address, digest)
            if not await self._checks.once((place, stored), guess):
                raise _refused()
        assert account is not None
        self._used_at.put(place, True)
        if self._is_weak(password, account.login) and not credentials.may_be_weak:
            raise Forbidden(_MUST_CHANGE, message_id="password-auth.must-change")
        if account.identity is None:
            raise not_a_member()
        return account.identity

    def _knows(self, account: Account, digest: bytes) -> bool:
        stored = account.password_hash
        if stored is None or account.is_disabled or self._verified.get(digest) != stored:
            return False
        self._verified.put(digest, stored)
        return True

    def _may_try(self, login: str, address: str, place: bytes) -> bool:
        return not self._throttle.refuses(login, address) or self._used_at.get(place) is not None

    async def _guess(self, account: Account | None, login: str, password: str, address: str, digest: bytes) -> bool:
        """Return whether the password fits an account that may log in. Raises TooManyRequests."""
        is_suspect = self._throttle.suspects(address)
        is_refused = self._throttle.refuses(login, address)
        # Counted as failed before the check: otherwise concurrent guesses would all pass the throttle.
        failures = None if is_refused else self._throttle.failed(login, address)
        possible = None if account is None or account.is_disabled or is_refused else account
        try:
            fits = await self._check(possible, password, digest, is_suspect=is_suspect)
        except (TooManyRequests, Unavailable):
            if not is_refused:
                self._throttle.take_back(login, address)
            raise
        if fits:
            self._throttle.succeeded(login, address)
        else:
            if failures in (1, self._throttle.attempts):
                self._failed(None if account is None else account.user_id, login if account is None else account.login, address, failures)
            log.warning("login_failed", login=login[:_LONGEST_LOGIN], address=address, failures=failures)
        return fits

    async def _check(self, account: Account | None, password: str, digest: bytes, *, is_suspect: bool) -> bool:
        """Return whether the password fits, in the same time for every account and without one."""
        stored, salt = (None, None) if account is None else (account.password_hash, account.salt)
        fits = await self._passwords.verify(stored, password, salt=salt, is_suspect=is_suspect)
        if not fits or account is None or stored is None:
            return False
        self._verified.put(digest, await self._current_hash(account, stored, password))
        return True

    async def _current_hash(self, account: Account, stored: str, password: str) -> str:
        """Return the hash stored from now on: a new one if the old one was imported or made with weaker settings."""
        if not self._passwords.is_outdated(stored):
            return stored
        try:
            hashed = await self._passwords.hash(password)
            is_replaced = await self._accounts.replace_password(account.user_id, old=stored, new=hashed)
        except (TooManyRequests, Unavailable) as error:
            log.info("password_hash_not_renewed", user_id=account.user_id, error=error.message)
            return stored
        log.info("password_hash_renewed", user_id=account.user_id)
        return hashed if is_replaced else stored


def _decode(authorization: str) -> tuple[str, str] | None:
    encoded = authorization.partition(" ")[2].strip()
    try:
        login, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return None
    return (login, password) if colon and "\0" not in login else None


def _refused() -> Unauthorized:
    return Unauthorized("Invalid username or password", message_id="password-auth.failed")
