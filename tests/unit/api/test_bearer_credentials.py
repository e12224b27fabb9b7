"""Keys and tokens: who gets in, with which words others are refused, and what a flood of them costs."""

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
from dashwright.common.identity import Caller, Identity, Role

TOKEN = "glsa_0123456789abcdefghijABCDEFGHIJxy_61b8f248"
LEGACY = base64.b64encode(b'{"k":"secret","n":"ci key","id":7}').decode()


class Now(Clock):
    def __init__(self) -> None:
        self.at = 1000.0

    def seconds(self) -> float:
        return self.at


@dataclass(frozen=True)
class Key:
    stored: str
    identity: Identity
    is_revoked: bool = False
    is_disabled: bool = False


@dataclass
class Keys:
    """The keys of a test, and what was asked for."""

    hashes: dict[str, Key] = field(default_factory=dict)
    names: dict[tuple[int, str], Key] = field(default_factory=dict)
    lookups: list[object] = field(default_factory=list)

    async def by_hash(self, stored: str) -> Key | None:
        self.lookups.append(stored)
        return self.hashes.get(stored)

    async def by_name(self, org_id: int, name: str) -> Key | None:
        self.lookups.append((org_id, name))
        return self.names.get((org_id, name))


class Counted(KeyHashes):
    """Hashes that are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.computed = 0

    async def stored(self, secret: str, salt: str, *, is_suspect: bool = False) -> str:
        self.computed += 1
        return await super().stored(secret, salt, is_suspect=is_suspect)


@dataclass
class Door:
    """An authenticator and what it stands on."""

    keys: Keys
    hashes: Counted
    throttle: LoginThrottle
    identities: IdentityCache
    clock: Now
    bearer: BearerAuthenticator

    def put(self, text: str, **changes: object) -> None:
        """Records a key as it would be in a database."""
        material = key_material.read(text)
        assert material is not None
        stored = key_material.stored(material.secret, material.salt)
        if isinstance(material, key_material.LegacyKeyMaterial):
            identity = Identity("api-key:3", material.name, material.org_id, Role.VIEWER, kind=Caller.API_KEY, key_id=3)
            self.keys.names[(material.org_id, material.name)] = replace(Key(stored, identity), **changes)  # type: ignore[arg-type]
        else:
            identity = Identity("service-account:9", "sa-1-x", 1, Role.ADMIN, 9, kind=Caller.SERVICE_ACCOUNT, key_id=4)
            self.keys.hashes[stored] = replace(Key(stored, identity), **changes)  # type: ignore[arg-type]

    def expire(self, at: int) -> None:
        for stored, key in self.keys.hashes.items():
            self.keys.hashes[stored] = replace(key, identity=replace(key.identity, expires_at=at))

    async def ask(self, text: str, org_id: int | None = None, address: str = "192.0.2.1") -> Identity:
        return await self.bearer.identify(Credentials(f"Bearer {text}", address), org_id)

    async def refusal(self, text: str, org_id: int | None = None, address: str = "192.0.2.1") -> tuple[str, str]:
        with pytest.raises(Unauthorized) as refused:
            await self.ask(text, org_id, address)
        return refused.value.message_id, refused.value.message


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    clock = Now()
    identities = IdentityCache(clock)
    identities.begin()
    keys, hashes, throttle = Keys(), Counted(), LoginThrottle(1)
    yield Door(keys, hashes, throttle, identities, clock, BearerAuthenticator(keys, hashes, throttle, identities, clock))
    hashes.close()


INVALID = ("api-key.invalid", "Invalid API key")


async def test_a_token_is_found_by_its_hash_and_a_legacy_key_by_its_name(door: Door) -> None:
    """Each comes in as its holder; blanks around it are nobody's fault."""
    door.put(TOKEN)
    door.put(LEGACY)
    assert (await door.ask(TOKEN)).uid == "service-account:9"
    assert (await door.ask(f" {LEGACY} ", 7)).uid == "api-key:3"


async def test_what_is_no_credential_costs_nothing(door: Door) -> None:
    """Neither a hash nor a look at the database nor a failure of the address."""
    for text in ("", "invalid", "glsa_x_00000000", "***"):
        assert await door.refusal(text) == INVALID
    assert (door.hashes.computed, door.keys.lookups, door.throttle.suspects("192.0.2.1")) == (0, [], False)


async def test_unknown_and_wrong_credentials_are_refused_alike(door: Door) -> None:
    """Unknown token, unknown legacy key, right name with another secret: the same words after one hash each."""
    door.put(LEGACY)
    wrong = base64.b64encode(b'{"k":"guess","n":"ci key","id":7}').decode()
    unknown = base64.b64encode(b'{"k":"secret","n":"other","id":7}').decode()
    for number, text in enumerate((TOKEN, wrong, unknown), start=1):
        assert await door.refusal(text) == INVALID
        assert door.hashes.computed == number


async def test_refusals_come_in_their_order(door: Door) -> None:
    """Expired, revoked, of another organization, disabled: the first that holds is told, and only to who has the secret."""
    door.put(TOKEN, is_revoked=True, is_disabled=True)
    door.expire(at=1000)
    assert await door.refusal(TOKEN, 2) == ("api-key.expired", "Expired API key")
    door.expire(at=1001)
    assert await door.refusal(TOKEN, 2) == ("api-key.revoked", "Revoked API key")
    door.put(TOKEN, is_disabled=True)
    mismatch = ("api-key.organization-mismatch", "API key does not belong to the requested organization")
    assert await door.refusal(TOKEN, 2) == mismatch
    disabled = ("service-account.disabled", "The service account of this token is disabled")
    assert await door.refusal(TOKEN, 1) == disabled
    assert await door.refusal(TOKEN) == disabled
    door.put(TOKEN)
    assert (await door.ask(TOKEN, 1)).key_id == 4


async def test_a_token_that_was_found_is_hashed_once(door: Door) -> None:
    """Its row is read each time, so that a change shows; its hash cannot change."""
    door.put(TOKEN)
    for _ in range(3):
        await door.ask(TOKEN)
    assert (door.hashes.computed, len(door.keys.lookups)) == (1, 3)
    door.put(TOKEN, is_revoked=True)
    assert (await door.refusal(TOKEN))[0] == "api-key.revoked"


async def test_an_unknown_token_is_looked_for_once_until_something_changes(door: Door) -> None:
    """A client with an old token costs nothing; a token that is made meanwhile gets in at once."""
    for _ in range(3):
        assert await door.refusal(TOKEN) == INVALID
    assert (door.hashes.computed, len(door.keys.lookups)) == (1, 1)
    door.put(TOKEN)
    door.identities.forget("key:4")
    assert (await door.ask(TOKEN)).key_id == 4


async def test_nothing_is_held_unknown_while_changes_are_not_heard(door: Door) -> None:
    """Without notifications a token that is made elsewhere gets in all the same."""
    door.identities.suspend()
    assert await door.refusal(TOKEN) == INVALID
    door.put(TOKEN)
    assert (await door.ask(TOKEN)).key_id == 4


async def test_a_flood_of_unknown_tokens_is_stopped_before_it_is_hashed(door: Door) -> None:
    """Ten times the attempts; another address, and a token that was used lately, are not touched."""
    door.put(TOKEN)
    await door.ask(TOKEN)
    before = door.hashes.computed
    for _ in range(10):
        await door.refusal(key_material.new_token())
    with pytest.raises(TooManyRequests) as refused:
        await door.ask(key_material.new_token())
    assert (refused.value.retry_after, door.hashes.computed - before) == (60, 10)
    assert (await door.ask(TOKEN)).key_id == 4
    assert await door.refusal(key_material.new_token(), address="192.0.2.2") == INVALID


async def test_known_tokens_that_are_refused_are_no_flood(door: Door) -> None:
    """Nobody guesses an expired token: its holder is told so as often as they ask."""
    door.put(TOKEN)
    door.expire(at=1)
    for _ in range(20):
        assert (await door.refusal(TOKEN))[0] == "api-key.expired"
    assert not door.throttle.suspects("192.0.2.1")


async def test_no_secret_is_logged(door: Door) -> None:
    """Not of a token that is unknown, nor of one that is refused."""
    door.put(LEGACY, is_revoked=True)
    with capture_logs() as lines:
        await door.refusal(TOKEN)
        await door.refusal(LEGACY)
    assert [line["event"] for line in lines] == ["token_unknown", "token_refused"]
    for secret in (TOKEN, TOKEN.split("_")[1], LEGACY, "secret"):
        assert secret not in str(lines)
