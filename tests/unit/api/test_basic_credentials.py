"""Basic credentials: which logins are accepted, how long verified passwords are cached, and how guesses are limited."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import pytest
from cachetools import TTLCache
from structlog.testing import capture_logs

from dashwright.api.auth import basic as basic_authentication
from dashwright.api.auth import key_material
from dashwright.api.auth import passwords as password_hashes
from dashwright.api.auth.basic import BasicAuthenticator
from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.passwords import Passwords
from dashwright.api.http.authentication import NOT_A_MEMBER, Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import TooManyRequests, Unauthorized, Unavailable

from .conftest import Accounts, basic
from .test_bearer_credentials import TOKEN, Keys

FIRST_ADDRESS, SECOND_ADDRESS = "192.0.2.1", "192.0.2.2"


class ManualClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """Return the clock of the authenticator's cache."""
    clock = ManualClock()
    monkeypatch.setattr(basic_authentication, "TTLCache", lambda size, seconds: TTLCache(size, seconds, clock))
    return clock


class CountingPasswords(Passwords):
    """Passwords that count their verifications."""

    def __init__(self) -> None:
        super().__init__()
        #: The verified hashes; None if a dummy hash is verified, since the account has no usable one.
        self.verifications: list[str | None] = []
        self.suspect_verifications = 0

    async def verify(self, stored: str | None, password: str, *, salt: str | None = None, is_suspect: bool = False) -> bool:
        """Record the hash, count a suspect verification, and return whether the password is correct."""
        self.verifications.append(stored)
        self.suspect_verifications += is_suspect
        return await super().verify(stored, password, salt=salt, is_suspect=is_suspect)


@pytest.fixture
def counting_passwords() -> Iterator[CountingPasswords]:
    """Yield passwords whose verifications are recorded."""
    counting_passwords = CountingPasswords()
    yield counting_passwords
    counting_passwords.close()


@pytest.fixture
def throttle() -> LoginThrottle:
    """Return a throttle that blocks a login from an address after three failures."""
    return LoginThrottle(max_failures=3)


@pytest.fixture
def authenticator(
    accounts: Accounts, counting_passwords: CountingPasswords, throttle: LoginThrottle, clock: ManualClock
) -> BasicAuthenticator:
    """Return the authenticator of logins under test."""
    return BasicAuthenticator(accounts, counting_passwords, throttle)


async def authenticate(
    authenticator: BasicAuthenticator, login: str, password: str, org_id: int | None = None, address: str = FIRST_ADDRESS
) -> str:
    """Return the role of an accepted caller."""
    return (await authenticator.identify(Credentials(basic(login, password), address), org_id)).role


async def check_refusal(authenticator: BasicAuthenticator, login: str, password: str, address: str = FIRST_ADDRESS) -> None:
    """Raise AssertionError unless the login is refused."""
    with pytest.raises(Unauthorized, match=r"^Invalid username or password$") as refusal:
        await authenticate(authenticator, login, password, None, address)
    assert refusal.value.message_id == "password-auth.failed"


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(basic("ann", "wrong"), id="wrong password"),
        pytest.param(basic("ann", ""), id="empty password"),
        pytest.param(basic("unknown", "pw"), id="unknown login"),
        pytest.param(basic("disabled", "pw"), id="disabled account"),
        pytest.param(basic("without-password", "pw"), id="account without password"),
        pytest.param("Basic", id="no credential"),
        pytest.param("Basic %%%", id="not base64"),
        # The base64 of ``A``.
        pytest.param("Basic QQ==", id="no colon"),
        # The base64 of four bytes FF.
        pytest.param("Basic /////w==", id="not UTF-8"),
    ],
)
async def test_every_wrong_credential_is_refused_with_the_same_words(
    authenticator: BasicAuthenticator, accounts: Accounts, authorization: str
) -> None:
    """The response to a wrong credential does not reveal if a login exists, is disabled or has no password."""
    accounts.hashes |= {"disabled": accounts.hashes["ann"], "without-password": None}
    accounts.disabled.add("disabled")
    with pytest.raises(Unauthorized, match=r"^Invalid username or password$") as refusal:
        await authenticator.identify(Credentials(authorization), None)
    assert refusal.value.message_id == "password-auth.failed"


async def test_every_rejection_needs_one_verification(
    authenticator: BasicAuthenticator, accounts: Accounts, counting_passwords: CountingPasswords
) -> None:
    """Each rejection needs one verification.

    Its duration does not reveal whether a login is unknown, disabled, throttled or without a password.
    """
    accounts.hashes |= {"disabled": accounts.hashes["ann"], "without-password": None}
    accounts.disabled.add("disabled")
    verified_hash = accounts.hashes["ann"]
    # A dummy hash, which is None, is verified instead of that of an account.
    dummy_hash = None
    for attempt, (login, password, expected) in enumerate(
        [
            ("unknown", "pw", dummy_hash),
            ("disabled", "pw", dummy_hash),
            ("without-password", "pw", dummy_hash),
            ("ann", "a", verified_hash),
            ("ann", "b", verified_hash),
            ("ann", "c", verified_hash),
            # After three wrong passwords, the login is throttled despite its correct password.
            ("ann", "pw", dummy_hash),
        ]
    ):
        await check_refusal(authenticator, login, password)
        assert counting_passwords.verifications[attempt:] == [expected]


async def test_a_password_is_verified_once_while_it_is_used(
    authenticator: BasicAuthenticator, accounts: Accounts, counting_passwords: CountingPasswords, clock: ManualClock
) -> None:
    """The account is read each time; the password is verified again only when the credential was not used for 300 seconds."""
    # Each use extends the time by 300 seconds: only the last use is later than 300 seconds after the previous one.
    for seconds, verifications in ((0, 1), (299, 1), (598, 1), (899, 2)):
        clock.now = seconds
        assert await authenticate(authenticator, "ann", "pw") == "Admin"
        assert len(counting_passwords.verifications) == verifications
    assert len(accounts.lookups) == 4


async def test_a_changed_password_replaces_the_cached_one(
    authenticator: BasicAuthenticator, accounts: Accounts, counting_passwords: CountingPasswords
) -> None:
    """After a change of the password, the cached verification of the old one does not count: only the new password is accepted."""
    await authenticate(authenticator, "ann", "pw")
    accounts.hashes["ann"] = await counting_passwords.hash("new")
    await check_refusal(authenticator, "ann", "pw")
    assert await authenticate(authenticator, "ann", "new") == "Admin"


async def test_a_disabled_account_is_refused(authenticator: BasicAuthenticator, accounts: Accounts) -> None:
    """An account that is disabled after its password was verified is refused immediately."""
    await authenticate(authenticator, "ann", "pw")
    accounts.disabled.add("ann")
    await check_refusal(authenticator, "ann", "pw")


async def test_only_members_are_accepted_in_an_organization(authenticator: BasicAuthenticator) -> None:
    """A user has the role of the requested organization. If the user is not a member, only the correct password reveals it."""
    assert await authenticate(authenticator, "ann", "pw", org_id=None) == "Admin"
    assert await authenticate(authenticator, "ann", "pw", org_id=2) == "Editor"
    assert await authenticate(authenticator, "ann", "pw", org_id=1) == "Admin"
    for password, message_id in (("pw", NOT_A_MEMBER), ("wrong", "password-auth.failed")):
        with pytest.raises(Unauthorized) as refusal:
            await authenticate(authenticator, "ann", password, 3)
        assert refusal.value.message_id == message_id


async def test_callers_with_one_credential_share_one_verification(
    authenticator: BasicAuthenticator, counting_passwords: CountingPasswords
) -> None:
    """Concurrent requests with one credential are verified once. Neither the queue of hashes nor the throttle refuses them."""
    roles = await asyncio.gather(*(authenticate(authenticator, "ann", "pw") for _ in range(50)))
    assert set(roles) == {"Admin"}
    assert len(counting_passwords.verifications) == 1


async def test_guessing_locks_out_only_the_guessing_client(
    authenticator: BasicAuthenticator, counting_passwords: CountingPasswords
) -> None:
    """After three failures, even the correct password is refused at this address.

    The user can log in from another address, and other users can log in from this address.
    """
    for password in ("a", "b", "c", "pw"):
        await check_refusal(authenticator, "ann", password)
    assert await authenticate(authenticator, "ann", "pw", address=SECOND_ADDRESS) == "Admin"
    assert await authenticate(authenticator, "ed", "pw") == "Editor"
    await check_refusal(authenticator, "ann", "other")


async def test_a_recent_login_is_not_locked_out(authenticator: BasicAuthenticator, throttle: LoginThrottle) -> None:
    """The user can still log in at an address from which another client guesses at their login."""
    assert await authenticate(authenticator, "ann", "pw") == "Admin"
    for password in ("a", "b", "c", "d"):
        await check_refusal(authenticator, "ann", password)
    assert throttle.is_blocked("ann", FIRST_ADDRESS)
    # The throttle does not apply to a cached password at an address that recently logged in with it.
    assert await authenticate(authenticator, "ann", "pw") == "Admin"


async def test_a_cached_login_does_not_help_guessing(authenticator: BasicAuthenticator, throttle: LoginThrottle) -> None:
    """A throttled address is rejected even with the right password of a user who is logged in elsewhere."""
    assert await authenticate(authenticator, "ann", "pw", address=SECOND_ADDRESS) == "Admin"
    for password in ("a", "b", "c", "pw"):
        await check_refusal(authenticator, "ann", password)
    assert await authenticate(authenticator, "ann", "pw", address=SECOND_ADDRESS) == "Admin"


async def test_concurrent_guesses_are_counted_when_they_begin(authenticator: BasicAuthenticator) -> None:
    """Concurrent guesses are counted when they begin. As in sequence, only three of them are checked.

    The correct password is refused because it is the sixth guess.
    """
    guesses = [*(f"wrong {index}" for index in range(5)), "pw"]
    outcomes = await asyncio.gather(*(authenticate(authenticator, "ann", password) for password in guesses), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unauthorized] * len(guesses)


async def test_failures_by_login_and_by_mail_count_together(
    authenticator: BasicAuthenticator, accounts: Accounts, throttle: LoginThrottle
) -> None:
    """Failures with the login and with the mail address of an account are counted together."""
    accounts.aliases["ann@example.org"] = "ann"
    for name in ("ann", "ann@example.org", "ann"):
        await check_refusal(authenticator, name, "wrong")
    assert throttle.is_blocked("ann", FIRST_ADDRESS)
    await check_refusal(authenticator, "ann@example.org", "pw")


async def test_refused_attempts_are_not_counted(authenticator: BasicAuthenticator, throttle: LoginThrottle) -> None:
    """Attempts that the throttle refuses are not counted: a script with an old password does not block its whole address."""
    # An address is blocked after 30 failures, ten times the limit of a login.
    for index in range(40):
        await check_refusal(authenticator, "ann", f"old {index}")
    assert not throttle.is_address_blocked(FIRST_ADDRESS)
    assert await authenticate(authenticator, "ed", "pw") == "Editor"


async def test_an_address_with_failures_waits_behind_the_others(
    authenticator: BasicAuthenticator, counting_passwords: CountingPasswords
) -> None:
    """The verifications of an address with a failure have low priority. Other addresses are not affected."""
    await check_refusal(authenticator, "ann", "wrong")
    assert counting_passwords.suspect_verifications == 0
    await check_refusal(authenticator, "ed", "wrong")
    await authenticate(authenticator, "vic", "pw", address=SECOND_ADDRESS)
    assert counting_passwords.suspect_verifications == 1


async def test_an_imported_hash_is_replaced_at_the_first_login(
    authenticator: BasicAuthenticator, accounts: Accounts, counting_passwords: CountingPasswords
) -> None:
    """A login replaces the imported hash by one of argon2id, also if many logins are concurrent. A wrong password replaces nothing.

    The next login needs no further verification.
    """
    imported = key_material.hash_secret("old secret", "salt")
    accounts.hashes["ann"], accounts.salts["ann"] = imported, "salt"
    await check_refusal(authenticator, "ann", "pw")
    assert accounts.hashes["ann"] == imported
    await asyncio.gather(*(authenticate(authenticator, "ann", "old secret") for _ in range(10)))
    replaced = accounts.hashes["ann"]
    assert replaced is not None
    assert replaced.startswith("$argon2id$")
    assert "ann" not in accounts.salts
    before = len(counting_passwords.verifications)
    assert await authenticate(authenticator, "ann", "old secret") == "Admin"
    assert len(counting_passwords.verifications) == before
    assert accounts.hashes["ann"] == replaced


async def test_a_login_succeeds_if_its_hash_cannot_be_replaced(
    authenticator: BasicAuthenticator, accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login succeeds even if its imported hash cannot be replaced, and so does the next one."""

    async def fail(*_: object, **__: object) -> bool:
        raise Unavailable("away")

    accounts.hashes["ann"], accounts.salts["ann"] = key_material.hash_secret("pw", "salt"), "salt"
    monkeypatch.setattr(accounts, "replace_password_hash", fail)
    for _ in range(2):
        assert await authenticate(authenticator, "ann", "pw") == "Admin"


@pytest.fixture
async def tokens() -> AsyncIterator[BearerAuthenticator]:
    """Yield an authenticator of tokens without any stored token."""
    hashes, clock = KeyHashes(), Clock()
    yield BearerAuthenticator(Keys(), hashes, LoginThrottle(), IdentityCache(clock), clock)
    hashes.close()


async def test_a_token_may_replace_a_password(
    accounts: Accounts, counting_passwords: CountingPasswords, throttle: LoginThrottle, tokens: BearerAuthenticator
) -> None:
    """The login ``api_key`` has a token as its password, also if passwords are disabled.

    While passwords are disabled, none is verified, and every other credential is refused with the same error.
    """
    for accepts_passwords in (True, False):
        authenticator = BasicAuthenticator(accounts, counting_passwords, throttle, bearer=tokens, accepts_passwords=accepts_passwords)
        with pytest.raises(Unauthorized) as refusal:
            await authenticate(authenticator, "api_key", TOKEN)
        assert refusal.value.message_id == "api-key.invalid"
    # The last authenticator does not accept passwords.
    for authorization in (basic("ann", "pw"), basic("ann", "wrong"), "Basic %%%"):
        with pytest.raises(Unauthorized, match=r"^Unauthorized$"):
            await authenticator.identify(Credentials(authorization, FIRST_ADDRESS), None)
    assert not counting_passwords.verifications


async def test_failures_are_logged_without_the_password(authenticator: BasicAuthenticator) -> None:
    """The log has the address and the number of failures, or None for a throttled attempt, but never the password.

    Spellings of a login in lower and upper case are counted together.
    """
    with capture_logs() as lines:
        for login in ("ann", "ANN", "ann", "Ann"):
            await check_refusal(authenticator, login, "hunter2")
    result = [(line["event"], line["address"], line["failures"]) for line in lines]
    assert result == [("login_failed", FIRST_ADDRESS, count) for count in (1, 2, 3, None)]
    assert "hunter2" not in str(lines)


async def test_no_password_is_cached(authenticator: BasicAuthenticator) -> None:
    """The key of a cached login is a digest of 16 bytes, not the password."""
    await authenticate(authenticator, "ann", "pw")
    assert [len(key) for key in authenticator._verified_hashes] == [16]


async def test_concurrent_password_checks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit of pending checks, a caller has to retry. Finished checks free their slots."""
    release = threading.Event()
    # ``wait`` returns True, which the authenticator takes as a correct password.
    monkeypatch.setattr(password_hashes, "_verify", lambda *_: release.wait(5))
    bounded = Passwords(threads=1, max_pending=2)
    verifications = [asyncio.create_task(bounded.verify("hash", "x")) for _ in range(2)]
    # Both tasks start and become pending.
    await asyncio.sleep(0)
    with pytest.raises(TooManyRequests):
        await bounded.verify("hash", "x")
    release.set()
    assert await asyncio.gather(*verifications) == [True, True]
    assert await bounded.verify("hash", "x")
    bounded.close()
