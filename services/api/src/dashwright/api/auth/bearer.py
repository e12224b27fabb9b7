"""Bearer authentication: service-account tokens, and legacy API keys in the format of existing clients."""

import hmac
from typing import Final, Protocol

import structlog

from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import Digests, KeyHashes
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.key_material import LegacyKeyMaterial, Material
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.auth.ttl_cache import TtlCache
from dashwright.api.http.authentication import ORGANIZATION_MISMATCH, Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import TooManyRequests, Unauthorized
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight

log = structlog.get_logger()

_HASH_SECONDS: Final = 300.0
"""Seconds for which the hash of a known credential is cached."""

_UNKNOWN_SECONDS: Final = 60.0
"""Seconds for which an unknown credential is refused without a query."""


class Key(Protocol):
    """A stored key or token."""

    @property
    def stored(self) -> str:
        """The stored hash."""
        ...

    @property
    def is_revoked(self) -> bool:
        """True for a revoked key."""
        ...

    @property
    def is_disabled(self) -> bool:
        """True if the service account of the key is disabled."""
        ...

    @property
    def identity(self) -> Identity:
        """The holder of the key, in the key's own organization."""
        ...


class Keys(Protocol):
    """The store of keys and tokens."""

    async def by_hash(self, stored: str) -> Key | None:
        """Return the token with a stored hash."""
        ...

    async def by_name(self, org_id: int, name: str) -> Key | None:
        """Return the legacy key with a name in an organization, also if it was migrated to a service account."""
        ...


class BearerAuthenticator:
    """Authenticator for tokens and legacy keys.

    The hash of a known credential is cached for 5 minutes after its last use, so that only its row is read again. An unknown one is
    refused without a query until some right changes, for a minute at most. Hashing is the cost of an unknown token. An address that
    has sent too many of them gets 429 before the hash is computed, except for credentials whose hash is cached.
    """

    def __init__(self, keys: Keys, hashes: KeyHashes, throttle: LoginThrottle, identities: IdentityCache, clock: Clock) -> None:
        self._keys = keys
        self._hashes = hashes
        self._throttle = throttle
        self._identities = identities
        self._clock = clock
        self._digests = Digests()
        self._found: TtlCache[bytes, str] = TtlCache(4096, _HASH_SECONDS)
        self._unknown: TtlCache[bytes, int] = TtlCache(4096, _UNKNOWN_SECONDS)
        self._hashing: SingleFlight[bytes, str] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the holder of the token in the ``Authorization`` header. Raises what ``check`` raises."""
        return await self.check(credentials.authorization.partition(" ")[2].strip(), credentials.address, org_id)

    async def check(self, text: str, address: str, org_id: int | None) -> Identity:
        """Return the holder of a key or token. Raises Unauthorized, whose message id gives the reason, or TooManyRequests."""
        material = key_material.read(text)
        digest = self._digests.of(text)
        # Read before the query: a key created while it runs moves the epoch, and is then not taken for unknown.
        epoch = self._identities.epoch
        if material is None or (self._identities.is_listening and self._unknown.get(digest) == epoch):
            raise _invalid()
        stored = self._found.get(digest) or await self._hash(material, digest, address)
        key = await self._find(material, stored)
        if key is None:
            self._unknown.put(digest, epoch)
            self._throttle.failed_at(address)
            log.info("token_unknown", address=address)
            raise _invalid()
        self._found.put(digest, stored)
        return self._admit(key, org_id)

    async def _hash(self, material: Material, digest: bytes, address: str) -> str:
        if self._throttle.refuses_address(address):
            raise TooManyRequests("Too many unknown tokens came from this address; try again in some minutes", retry_after=60)
        is_suspect = self._throttle.suspects(address)
        return await self._hashing.once(digest, lambda: self._hashes.stored(material.secret, material.salt, is_suspect=is_suspect))

    async def _find(self, material: Material, stored: str) -> Key | None:
        if isinstance(material, LegacyKeyMaterial):
            key = await self._keys.by_name(material.org_id, material.name)
        else:
            key = await self._keys.by_hash(stored)
        # Legacy keys are found by name, so only this comparison, in constant time, verifies their secret.
        return key if key is not None and hmac.compare_digest(key.stored.encode(), stored.encode()) else None

    def _admit(self, key: Key, org_id: int | None) -> Identity:
        identity = key.identity
        refusal = None
        if identity.expires_at is not None and identity.expires_at <= self._clock.seconds():
            refusal = Unauthorized("Expired API key", message_id="api-key.expired")
        elif key.is_revoked:
            refusal = Unauthorized("Revoked API key", message_id="api-key.revoked")
        elif org_id is not None and org_id != identity.org_id:
            refusal = Unauthorized("API key does not belong to the requested organization", message_id=ORGANIZATION_MISMATCH)
        elif key.is_disabled:
            refusal = Unauthorized("The service account of this token is disabled", message_id="service-account.disabled")
        if refusal is not None:
            log.info("token_refused", key_id=identity.key_id, why=refusal.message_id)
            raise refusal
        return identity


def _invalid() -> Unauthorized:
    return Unauthorized("Invalid API key", message_id="api-key.invalid")
