"""Basic authentication: a login or e-mail with its password, or the word ``api_key`` with a token."""

import base64
import binascii
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

import structlog
from cachetools import TTLCache

from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.identity_cache import Digests
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.http.addresses import client_network
from dashwright.api.http.authentication import Credentials, not_a_member
from dashwright.common.errors import Forbidden, TooManyRequests, Unauthorized, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight

log = structlog.get_logger()

_TOKEN_LOGIN: Final = "api_key"  # noqa: S105
"""The login with which Grafana's clients send a token in place of a password."""
_VERIFIED_TTL_SECONDS: Final = 300.0
"""Seconds after the last use of a verified password during which it is not hashed again."""
_MAX_CACHED_PASSWORDS: Final = 4096
"""Limit on the entries of each cache."""
_MUST_CHANGE: Final = (
    "This password is too weak for a server that other hosts can reach; set another by PUT /api/user/password "
    '{"oldPassword": …, "newPassword": …}, and log in with that'
)
_MAX_LOGGED_LOGIN: Final = 190
"""Maximum number of characters of a login in the log. Stored logins are not longer."""


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

    async def replace_password_hash(self, user_id: int, *, old_hash: str, new_hash: str) -> bool:
        """Replace a hash by a new one, and clear the salt. Return False if ``old_hash`` is not the stored hash any more."""
        ...


class FailedLoginObserver(Protocol):
    """A callback for failed logins, counted by login and address.

    It is called for the first failure in a window, and for the failure after which further attempts are blocked.
    """

    def __call__(self, user_id: int | None, login: str, address: str, failures: int) -> None:
        """Handle a failed login, the ``failures``-th of its window. An unknown login has no ``user_id``."""


def ignore_failed_login(user_id: int | None, login: str, address: str, failures: int) -> None:
    """Ignore a failed login."""


class BasicAuthenticator:
    """Authenticator for logins with passwords.

    A verified password is cached by digest for 5 minutes after its last use, so that it needs no new hash. The cache entry is ignored
    once the account has another hash. The throttle does not apply to a cached password at addresses that used it within 5 minutes.
    A throttled caller receives the same response as for a wrong password, after the same time.
    """

    def __init__(
        self,
        accounts: Accounts,
        passwords: Passwords,
        throttle: LoginThrottle,
        *,
        bearer: BearerAuthenticator | None = None,
        accepts_passwords: bool = True,
        is_weak: Callable[[str, str], bool] = lambda _password, _login: False,
        on_failed_login: FailedLoginObserver = ignore_failed_login,
    ) -> None:
        """Create the authenticator.

        ``bearer`` identifies the holders of tokens that are sent in place of passwords; without ``accepts_passwords`` only tokens are
        accepted. A caller whose password is weak, by ``is_weak(password, login)``, may only change that password.
        """
        self._is_weak = is_weak
        self._on_failed_login = on_failed_login
        self._accounts = accounts
        self._passwords = passwords
        self._throttle = throttle
        self._bearer = bearer
        self._accepts_passwords = accepts_passwords
        self._digests = Digests()
        #: Stored hashes that matched a password, by digest of login and password.
        self._verified_hashes: TTLCache[bytes, str] = TTLCache(_MAX_CACHED_PASSWORDS, _VERIFIED_TTL_SECONDS)
        #: Digests of client network, login and password that were accepted recently.
        self._accepted_clients: TTLCache[bytes, bool] = TTLCache(_MAX_CACHED_PASSWORDS, _VERIFIED_TTL_SECONDS)
        #: Running verifications, by digest of client network, login and password, and by stored hash.
        self._verifications: SingleFlight[tuple[bytes, str | None], bool] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller with these credentials.

        Raises Unauthorized for wrong credentials, Forbidden for a weak password that must be changed, TooManyRequests and Unavailable.
        """
        login_and_password = _decode_login_and_password(credentials.authorization)
        if login_and_password is not None and login_and_password[0] == _TOKEN_LOGIN and self._bearer is not None:
            return await self._bearer.identify_holder(login_and_password[1], credentials.address, org_id)
        if not self._accepts_passwords:
            raise Unauthorized("Unauthorized")
        if login_and_password is None:
            raise _wrong_password_error()
        login, password = login_and_password
        account = await self._accounts.find(login, org_id)
        password_digest = self._digests.digest(f"{login}:{password}")
        client_digest = self._digests.digest(f"{client_network(credentials.address)} {login}:{password}")
        # Login and e-mail of one account share their failures: with a count for each, a client could guess twice as often.
        throttled_login = login if account is None else account.login
        # At an address that has not used the password, the throttle applies even if it is cached: the client may be guessing.
        is_cached = account is not None and self._use_cached_verification(account, password_digest)
        needs_no_hash = is_cached and self._may_log_in_from(throttled_login, credentials.address, client_digest)
        if not needs_no_hash:
            password_hash = None if account is None else account.password_hash
            verify = partial(self._verify_throttled, account, throttled_login, password, credentials.address, password_digest)
            if not await self._verifications.run((client_digest, password_hash), verify):
                raise _wrong_password_error()
        assert account is not None
        self._accepted_clients[client_digest] = True
        if self._is_weak(password, account.login) and not credentials.accepts_weak_password:
            raise Forbidden(_MUST_CHANGE, message_id="password-auth.must-change")
        if account.identity is None:
            raise not_a_member()
        return account.identity

    def _use_cached_verification(self, account: Account, password_digest: bytes) -> bool:
        """Return whether the password was verified against the account's current hash, and extend its time in the cache."""
        password_hash = account.password_hash
        if password_hash is None or account.is_disabled or self._verified_hashes.get(password_digest) != password_hash:
            return False
        self._verified_hashes[password_digest] = password_hash
        return True

    def _may_log_in_from(self, login: str, address: str, client_digest: bytes) -> bool:
        """Return whether a cached password is accepted at an address: it is not blocked, or it used this password recently."""
        return not self._throttle.is_blocked(login, address) or client_digest in self._accepted_clients

    async def _verify_throttled(self, account: Account | None, login: str, password: str, address: str, password_digest: bytes) -> bool:
        """Return whether a password is correct, and count a failure of the login and address. Raises TooManyRequests and Unavailable.

        A blocked login takes the same time as a wrong password.
        """
        is_suspect = self._throttle.is_suspect(address)
        is_blocked = self._throttle.is_blocked(login, address)
        # Counted as a failure before the check: if it were counted after it, concurrent guesses would all pass the throttle.
        failures = None if is_blocked else self._throttle.record_failure(login, address)
        # Without a usable account, a hash is computed, too, but no password is correct.
        usable_account = None if account is None or account.is_disabled or is_blocked else account
        try:
            is_correct = await self._verify(usable_account, password, password_digest, is_suspect=is_suspect)
        except (TooManyRequests, Unavailable):
            if not is_blocked:
                self._throttle.retract_failure(login, address)
            raise
        if is_correct:
            self._throttle.record_success(login, address)
            return True
        # Only the first failure and the one that blocks the login are reported, so that guesses do not fill the audit log.
        if failures in (1, self._throttle.max_failures):
            user_id, reported_login = (None, login) if account is None else (account.user_id, account.login)
            self._on_failed_login(user_id, reported_login, address, failures)
        log.warning("login_failed", login=login[:_MAX_LOGGED_LOGIN], address=address, failures=failures)
        return False

    async def _verify(self, account: Account | None, password: str, password_digest: bytes, *, is_suspect: bool) -> bool:
        """Return whether the password is correct, and cache a correct one. This takes equally long for all accounts, and for None."""
        password_hash, salt = (None, None) if account is None else (account.password_hash, account.salt)
        is_correct = await self._passwords.verify(password_hash, password, salt=salt, is_suspect=is_suspect)
        if not is_correct or account is None or password_hash is None:
            return False
        self._verified_hashes[password_digest] = await self._renewed_hash(account, password_hash, password)
        return True

    async def _renewed_hash(self, account: Account, password_hash: str, password: str) -> str:
        """Replace a hash that was imported or computed with weaker settings, and return the hash that is stored now."""
        if not self._passwords.is_outdated(password_hash):
            return password_hash
        try:
            new_hash = await self._passwords.hash(password)
            is_replaced = await self._accounts.replace_password_hash(account.user_id, old_hash=password_hash, new_hash=new_hash)
        except (TooManyRequests, Unavailable) as error:
            log.info("password_hash_not_renewed", user_id=account.user_id, error=error.message)
            return password_hash
        log.info("password_hash_renewed", user_id=account.user_id)
        return new_hash if is_replaced else password_hash


def _decode_login_and_password(authorization: str) -> tuple[str, str] | None:
    """Return the login and the password in an ``Authorization`` header, or None if it is invalid."""
    encoded = authorization.partition(" ")[2].strip()
    try:
        login, colon, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):  # ValueError also covers text that is not ASCII, and bytes that are not UTF-8.
        return None
    # PostgreSQL accepts no text with a NUL character, so it could not look up such a login.
    return (login, password) if colon and "\0" not in login else None


def _wrong_password_error() -> Unauthorized:
    return Unauthorized("Invalid username or password", message_id="password-auth.failed")
