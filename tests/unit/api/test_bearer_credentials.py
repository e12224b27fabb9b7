"""Keys and tokens: which credentials are accepted, how refusals are reported, and how floods of unknown tokens are limited."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
from structlog.testing import capture_logs

from dashwright.api.auth import key_material
from dashwright.api.auth.bearer import BearerAuthenticator
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.http.authentication import Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import TooManyRequests, Unauthorized
from dashwright.common.identity import CallerType, Identity, Role

# A token ends with the checksum of its secret. A legacy key is JSON of its secret (k), name (n) and organization id (id).
TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248"
LEGACY_KEY = base64.b64encode(b'{"k":"secret","n":"ci key","id":7}').decode()


class ManualClock(Clock):
    """A clock that a test moves, in Unix seconds."""

    def __init__(self) -> None:
        self.time = 1000.0

    def seconds(self) -> float:
        return self.time


@dataclass(frozen=True)
class Key:
    """A stored key or token."""

    secret_hash: str
    identity: Identity
    is_revoked: bool = False
    is_disabled: bool = False


@dataclass
class Keys:
    """The stored keys of a test, and the look-ups."""

    #: Tokens by the hash of their secret.
    hashes: dict[str, Key] = field(default_factory=dict)
    #: Legacy keys by organization id and name.
    names: dict[tuple[int, str], Key] = field(default_factory=dict)
    #: The argument of each look-up by hash, or the arguments of each look-up by name.
    lookups: list[object] = field(default_factory=list)

    async def by_hash(self, secret_hash: str) -> Key | None:
        """Record the look-up, and return the key with a hash."""
        self.lookups.append(secret_hash)
        return self.hashes.get(secret_hash)

    async def by_name(self, org_id: int, name: str) -> Key | None:
        """Record the look-up, and return the key of an organization with a name."""
        self.lookups.append((org_id, name))
        return self.names.get((org_id, name))


class CountingHashes(KeyHashes):
    """Key hashes that count their computations."""

    def __init__(self) -> None:
        super().__init__()
        #: The number of computed hashes.
        self.computed = 0

    async def hash_secret(self, secret: str, salt: str, *, is_suspect: bool = False) -> str:
        """Count the hash, and return it."""
        self.computed += 1
        return await super().hash_secret(secret, salt, is_suspect=is_suspect)


@dataclass
class Setup:
    """An authenticator and the parts it uses."""

    keys: Keys
    hashes: CountingHashes
    throttle: LoginThrottle
    identities: IdentityCache
    clock: ManualClock
    bearer: BearerAuthenticator

    def store(self, text: str, **changes: object) -> None:
        """Store a token of service account 9 or a legacy key, with changed fields of Key. A stored one is replaced."""
        material = key_material.parse(text)
        assert material is not None
        stored = key_material.hash_secret(material.secret, material.salt)
        if isinstance(material, key_material.LegacyKeyMaterial):
            identity = Identity(
                uid="api-key:3", login=material.name, org_id=material.org_id, role=Role.VIEWER, kind=CallerType.API_KEY, key_id=3
            )
            self.keys.names[(material.org_id, material.name)] = replace(Key(stored, identity), **changes)  # type: ignore[arg-type]
        else:
            identity = Identity(
                uid="service-account:9", login="sa-1-x", org_id=1, role=Role.ADMIN, user_id=9, kind=CallerType.SERVICE_ACCOUNT, key_id=4
            )
            self.keys.hashes[stored] = replace(Key(stored, identity), **changes)  # type: ignore[arg-type]

    def expire(self, expires_at: int) -> None:
        """Set the expiry of all stored tokens, in Unix seconds."""
        for stored, key in self.keys.hashes.items():
            self.keys.hashes[stored] = replace(key, identity=replace(key.identity, expires_at=expires_at))

    async def authenticate(self, text: str, org_id: int | None = None, address: str = "192.0.2.1") -> Identity:
        """Return the identity of a bearer token. Raises Unauthorized if it is refused."""
        return await self.bearer.identify(Credentials(f"Bearer {text}", address), org_id)

    async def refusal(self, text: str, org_id: int | None = None, address: str = "192.0.2.1") -> tuple[str, str]:
        """Return the message id and the message of a refused credential."""
        with pytest.raises(Unauthorized) as refused:
            await self.authenticate(text, org_id, address)
        return refused.value.message_id, refused.value.message


@pytest.fixture
async def setup() -> AsyncIterator[Setup]:
    """Yield an authenticator without keys, whose caches are active and whose throttle blocks a login after one failure."""
    clock = ManualClock()
    identities = IdentityCache(clock)
    identities.resume()
    keys, hashes, throttle = Keys(), CountingHashes(), LoginThrottle(max_failures=1)
    yield Setup(keys, hashes, throttle, identities, clock, BearerAuthenticator(keys, hashes, throttle, identities, clock))
    hashes.close()


INVALID = ("api-key.invalid", "Invalid API key")


async def test_a_token_is_found_by_its_hash_and_a_legacy_key_by_its_name(setup: Setup) -> None:
    """Each credential identifies its holder; blanks around it are ignored."""
    setup.store(TOKEN)
    setup.store(LEGACY_KEY)
    assert (await setup.authenticate(TOKEN)).uid == "service-account:9"
    assert (await setup.authenticate(f" {LEGACY_KEY} ", 7)).uid == "api-key:3"


async def test_an_invalid_credential_costs_nothing(setup: Setup) -> None:
    """A malformed credential causes neither a hash nor a query, and no failure is counted for its address."""
    for text in ("", "invalid", "glsa_x_00000000", "***"):
        assert await setup.refusal(text) == INVALID
    assert setup.hashes.computed == 0
    assert setup.keys.lookups == []
    assert not setup.throttle.is_suspect("192.0.2.1")


async def test_unknown_and_wrong_credentials_are_refused_alike(setup: Setup) -> None:
    """An unknown token, an unknown legacy key and a wrong secret are refused with the same message, after one hash each."""
    setup.store(LEGACY_KEY)
    wrong_secret = base64.b64encode(b'{"k":"guess","n":"ci key","id":7}').decode()
    unknown_name = base64.b64encode(b'{"k":"secret","n":"other","id":7}').decode()
    for index, text in enumerate((TOKEN, wrong_secret, unknown_name), start=1):
        assert await setup.refusal(text) == INVALID
        assert setup.hashes.computed == index


async def test_the_first_reason_that_applies_is_reported(setup: Setup) -> None:
    """Only the first of several reasons for a refusal is reported.

    Their order: expired, revoked, of another organization, disabled.
    """
    setup.store(TOKEN, is_revoked=True, is_disabled=True)
    # The time is 1000 and the organization of the token is 1, so each step removes the reason that was reported before.
    setup.expire(expires_at=1000)
    assert await setup.refusal(TOKEN, 2) == ("api-key.expired", "Expired API key")
    setup.expire(expires_at=1001)
    assert await setup.refusal(TOKEN, 2) == ("api-key.revoked", "Revoked API key")
    setup.store(TOKEN, is_disabled=True)
    mismatch = ("api-key.organization-mismatch", "API key does not belong to the requested organization")
    assert await setup.refusal(TOKEN, 2) == mismatch
    disabled = ("service-account.disabled", "The service account of this token is disabled")
    assert await setup.refusal(TOKEN, 1) == disabled
    assert await setup.refusal(TOKEN) == disabled
    setup.store(TOKEN)
    assert (await setup.authenticate(TOKEN, 1)).key_id == 4


async def test_a_known_token_is_hashed_once(setup: Setup) -> None:
    """A token is hashed once, because its hash cannot change. Its row is read for each request, so that changes apply."""
    setup.store(TOKEN)
    for _ in range(3):
        await setup.authenticate(TOKEN)
    assert setup.hashes.computed == 1
    assert len(setup.keys.lookups) == 3
    setup.store(TOKEN, is_revoked=True)
    assert (await setup.refusal(TOKEN))[0] == "api-key.revoked"


async def test_an_unknown_token_is_looked_up_once_until_keys_change(setup: Setup) -> None:
    """Repeated requests with an unknown token cause a single query. After a notification of a new key, the token is looked up again."""
    for _ in range(3):
        assert await setup.refusal(TOKEN) == INVALID
    assert setup.hashes.computed == 1
    assert len(setup.keys.lookups) == 1
    setup.store(TOKEN)
    setup.identities.invalidate("key:4")
    assert (await setup.authenticate(TOKEN)).key_id == 4


async def test_unknown_credentials_are_not_cached_without_notifications(setup: Setup) -> None:
    """While the cache receives no notifications, unknown tokens are not cached: a token created at another gateway is accepted."""
    setup.identities.suspend()
    assert await setup.refusal(TOKEN) == INVALID
    setup.store(TOKEN)
    assert (await setup.authenticate(TOKEN)).key_id == 4


async def test_a_flood_of_unknown_tokens_is_stopped_before_it_is_hashed(setup: Setup) -> None:
    """An address may send ten times as many unknown tokens as wrong passwords. Further unknown tokens are refused without a hash.

    Other addresses and recently used tokens are not affected.
    """
    setup.store(TOKEN)
    await setup.authenticate(TOKEN)
    before = setup.hashes.computed
    # The throttle blocks a login after one failure, so the limit of an address is ten.
    for _ in range(10):
        await setup.refusal(key_material.new_token())
    with pytest.raises(TooManyRequests) as refused:
        await setup.authenticate(key_material.new_token())
    assert refused.value.retry_after == 60
    assert setup.hashes.computed == before + 10
    assert (await setup.authenticate(TOKEN)).key_id == 4
    assert await setup.refusal(key_material.new_token(), address="192.0.2.2") == INVALID


async def test_expired_tokens_are_not_throttled(setup: Setup) -> None:
    """An expired token is not a guess, so its owner receives the reason each time."""
    setup.store(TOKEN)
    setup.expire(expires_at=1)
    # More than the ten failures after which an address is refused.
    for _ in range(20):
        assert (await setup.refusal(TOKEN))[0] == "api-key.expired"
    assert not setup.throttle.is_suspect("192.0.2.1")


async def test_no_secret_is_logged(setup: Setup) -> None:
    """The log contains neither unknown nor refused credentials, nor their secrets."""
    setup.store(LEGACY_KEY, is_revoked=True)
    with capture_logs() as lines:
        await setup.refusal(TOKEN)
        await setup.refusal(LEGACY_KEY)
    assert [line["event"] for line in lines] == ["token_unknown", "token_refused"]
    for secret in (TOKEN, TOKEN.split("_")[1], LEGACY_KEY, "secret"):
        assert secret not in str(lines)
