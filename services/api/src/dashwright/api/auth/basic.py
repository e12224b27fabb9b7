"""The Basic scheme: a login or e-mail and its password, or the word ``api_key`` and a token."""

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
_MUST_CHANGE: Final = (
    "This password is too weak for a server that strangers can reach; set another by PUT /api/user/password "
    '{"oldPassword": …, "newPassword": …}, and log in with that'
)
_LONGEST_LOGIN: Final = 190
"""Characters of a login that are logged; none on record is longer."""


class Account(Protocol):
    """What is on record of a login. ``identity`` is None where the account is no member of the wanted organization."""

    @property
    def user_id(self) -> int: ...

    @property
    def login(self) -> str: ...

    @property
    def password_hash(self) -> str | None: ...

    @property
    def salt(self) -> str | None: ...

    @property
    def is_disabled(self) -> bool: ...

    @property
    def identity(self) -> Identity | None: ...


class Accounts(Protocol):
    """The accounts on record."""

    async def find(self, login: str, org_id: int | None) -> Account | None:
        """By login or e-mail, in any case of letters, as member of one organization or of its current one."""

    async def replace_password(self, user_id: int, *, old: str, new: str) -> bool:
        """Stores a new hash, without salt, where ``old`` is still the stored one."""


class FailedLoginObserver(Protocol):
    """Hears of failed logins: the first of a login from an address within the window, and the one after which it is refused."""

    def __call__(self, user_id: int | None, login: str, address: str, failures: int) -> None: ...


def ignore_failed_login(user_id: int | None, login: str, address: str, failures: int) -> None:
    """Keep no record."""


class BasicAuthenticator:
    """Checks passwords. ``tokens`` takes tokens sent in place of passwords; without ``is_open`` nothing else is taken.

    That a password fits a hash is remembered for minutes after its last use, and counts only while the account still has that hash;
    no password is kept. Such a credential costs no hash, and no throttle holds it up where it was used lately; elsewhere it does, or a
    login that is in use could be guessed at without end. Whoever is refused by the throttle reads and waits the same as for a wrong
    password. A hash of an imported database is replaced once its password is known. A password that ``is_weak`` (with the login) lets its
    user change it, and nothing else.
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
        # Failures are counted for whom they are about, by whatever name.
        whom = login if account is None else account.login
        if account is None or not self._knows(account, digest) or not self._may_try(whom, credentials.address, place):
            stored = None if account is None else account.password_hash
            guess = partial(self._guess, account, whom, password, credentials.address, digest)
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
        """Whether the password fits an account that may log in. Raises TooManyRequests.

        Counted as failed before it is checked, so that of guesses made at once no more are checked than one after the other.
        """
        is_suspect = self._throttle.suspects(address)
        is_refused = self._throttle.refuses(login, address)
        failures = None if is_refused else self._throttle.failed(login, address)
        possible = None if account is None or account.is_disabled or is_refused else account
        try:
            fits = await self._check(possible, password, digest, is_suspect=is_suspect)
        except (TooManyRequests, Unavailable):
            if not is_refused:
                self._throttle.unmade(login, address)
            raise
        if fits:
            self._throttle.succeeded(login, address)
        else:
            if failures in (1, self._throttle.attempts):
                self._failed(None if account is None else account.user_id, login if account is None else account.login, address, failures)
            log.warning("login_failed", login=login[:_LONGEST_LOGIN], address=address, failures=failures)
        return fits

    async def _check(self, account: Account | None, password: str, digest: bytes, *, is_suspect: bool) -> bool:
        """Costs the same for every account, and for none."""
        stored, salt = (None, None) if account is None else (account.password_hash, account.salt)
        fits = await self._passwords.verify(stored, password, salt=salt, is_suspect=is_suspect)
        if not fits or account is None or stored is None:
            return False
        self._verified.put(digest, await self._renewed(account, stored, password))
        return True

    async def _renewed(self, account: Account, stored: str, password: str) -> str:
        """The hash that is stored from now on: a new one where the old one was made elsewhere or by weaker settings."""
        if not self._passwords.is_outdated(stored):
            return stored
        try:
            hashed = await self._passwords.hash(password)
            is_replaced = await self._accounts.replace_password(account.user_id, old=stored, new=hashed)
        except (TooManyRequests, Unavailable) as error:
            log.info("password_kept_its_old_hash", user_id=account.user_id, error=error.message)
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
