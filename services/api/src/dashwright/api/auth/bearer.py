"""Bearer authentication: service-account tokens, and legacy API keys in the format of Grafana."""

import hmac
from typing import Final, Protocol

import structlog
from cachetools import TTLCache

from dashwright.api.auth import key_material
from dashwright.api.auth.hashing import KeyHashes
from dashwright.api.auth.identity_cache import Digests, IdentityCache
from dashwright.api.auth.key_material import LegacyKeyMaterial, Material
from dashwright.api.auth.login_throttle import LoginThrottle
from dashwright.api.http.authentication import ORGANIZATION_MISMATCH, Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import TooManyRequests, Unauthorized
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight

log = structlog.get_logger()

_HASH_TTL_SECONDS: Final = 300.0
"""Seconds for which the hash of a known credential is cached after its last use."""

_UNKNOWN_TTL_SECONDS: Final = 60.0
"""Seconds for which an unknown credential is refused without a query."""

_MAX_CACHED_CREDENTIALS: Final = 4096
"""Limit on the known credentials in the cache, and on the unknown ones."""


class Key(Protocol):
    """A stored key or token."""

    @property
    def secret_hash(self) -> str:
        """The stored hash of the secret, as ``key_material.hash_secret`` returns it."""
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

    async def by_hash(self, secret_hash: str) -> Key | None:
        """Return the token with a stored hash, or None for an unknown one."""
        ...

    async def by_name(self, org_id: int, name: str) -> Key | None:
        """Return the legacy key with a name in an organization, even if the key was migrated to a service account."""
        ...


class BearerAuthenticator:
    """Authenticator for tokens and legacy keys.

    The hash of a known credential is cached for 5 minutes after its last use, so that later requests only read its row.
    An unknown credential is refused without a query for a minute, or until any right changes.

    Hashing is slow, so an address that sent too many unknown tokens receives 429 instead of another hash. Credentials
    with a cached hash are still accepted from that address.
    """

    def __init__(self, keys: Keys, key_hashes: KeyHashes, throttle: LoginThrottle, identity_cache: IdentityCache, clock: Clock) -> None:
        self._keys = keys
        self._key_hashes = key_hashes
        self._throttle = throttle
        self._identity_cache = identity_cache
        self._clock = clock
        self._digests = Digests()
        #: Hashes of credentials with a stored key, by digest of the credential.
        self._known_hashes: TTLCache[bytes, str] = TTLCache(_MAX_CACHED_CREDENTIALS, _HASH_TTL_SECONDS)
        #: Epochs of the identity cache in which a lookup found no key, by digest of the credential.
        self._unknown_at_epoch: TTLCache[bytes, int] = TTLCache(_MAX_CACHED_CREDENTIALS, _UNKNOWN_TTL_SECONDS)
        self._running_hashes: SingleFlight[bytes, str] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the holder of the token in the ``Authorization`` header. Raises the errors of ``identify_holder``."""
        return await self.identify_holder(credentials.authorization.partition(" ")[2].strip(), credentials.address, org_id)

    async def identify_holder(self, credential: str, address: str, org_id: int | None) -> Identity:
        """Return the holder of a key or token. Raises Unauthorized with the reason as message id, and TooManyRequests."""
        material = key_material.parse(credential)
        digest = self._digests.digest(credential)
        # Read before the query: a key that is created while the query runs increases the epoch, so it is not cached as unknown.
        epoch = self._identity_cache.epoch
        if material is None or (self._identity_cache.is_listening and self._unknown_at_epoch.get(digest) == epoch):
            raise _invalid_key_error()
        secret_hash = self._known_hashes.get(digest) or await self._hash(material, digest, address)
        key = await self._find(material, secret_hash)
        if key is None:
            self._unknown_at_epoch[digest] = epoch
            self._throttle.record_address_failure(address)
            log.info("token_unknown", address=address)
            raise _invalid_key_error()
        self._known_hashes[digest] = secret_hash  # Stored again at each use, which extends its time in the cache.
        return self._usable_holder(key, org_id)

    async def _hash(self, material: Material, digest: bytes, address: str) -> str:
        """Return the hash of a credential, which concurrent requests compute only once. Raises TooManyRequests."""
        if self._throttle.is_address_blocked(address):
            raise TooManyRequests("Too many unknown tokens came from this address; try again in some minutes", retry_after=60)
        is_suspect = self._throttle.is_suspect(address)
        return await self._running_hashes.run(
            digest, lambda: self._key_hashes.hash_secret(material.secret, material.salt, is_suspect=is_suspect)
        )

    async def _find(self, material: Material, secret_hash: str) -> Key | None:
        """Return the stored key with this hash, or None."""
        if isinstance(material, LegacyKeyMaterial):
            key = await self._keys.by_name(material.org_id, material.name)
        else:
            key = await self._keys.by_hash(secret_hash)
        # Legacy keys are found by name, so only this comparison, in constant time, verifies their secret.
        return key if key is not None and hmac.compare_digest(key.secret_hash.encode(), secret_hash.encode()) else None

    def _usable_holder(self, key: Key, org_id: int | None) -> Identity:
        """Return the holder of a verified key. Raises Unauthorized for an expired, revoked or disabled key, or another organization."""
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


def _invalid_key_error() -> Unauthorized:
    return Unauthorized("Invalid API key", message_id="api-key.invalid")
