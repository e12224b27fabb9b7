"""The gateway's authenticator. It chooses the scheme for a credential and caches the caller for a few seconds."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from dashwright.api.auth.identity_cache import Digests, IdentityCache
from dashwright.api.http.authentication import Credentials, OrganizationIdentities, Scheme
from dashwright.common.errors import Unauthorized, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight


class LookupObserver(Protocol):
    """An observer of successful lookups."""

    def record(self, identity: Identity) -> None:
        """Record that a caller was looked up."""


class SchemeAuthenticator:
    """Authenticator over several schemes, with a cache.

    Concurrent requests with one credential from one address share one lookup. Requests after a revocation do not share a lookup that
    began before it.
    """

    def __init__(
        self,
        schemes: Mapping[str, Scheme],
        organization_identities: OrganizationIdentities,
        identity_cache: IdentityCache,
        observer: LookupObserver | None = None,
    ) -> None:
        """Create the authenticator.

        ``schemes`` maps the first word of the ``Authorization`` header, in lower case, to its scheme; other words are refused.
        ``observer`` is notified of every successful lookup by a scheme, but not of callers from the cache.
        """
        self._schemes = dict(schemes)
        self._organization_identities = organization_identities
        self._identity_cache = identity_cache
        self._observer = observer
        self._digests = Digests()
        #: Running lookups, by digest of the credentials and by epoch of the cache.
        self._lookups: SingleFlight[tuple[bytes, int], Identity] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller.

        Raises Unauthorized for wrong credentials or an unknown scheme, Forbidden for a weak password that must be changed,
        TooManyRequests and Unavailable.
        """
        # The address is part of the key: a throttled client at another address must not use the cached login of the owner.
        key_parts = (str(org_id), credentials.address, str(credentials.accepts_weak_password), credentials.authorization)
        digest = self._digests.digest(" ".join(key_parts))
        identity = self._identity_cache.get(digest)
        if identity is not None:
            return identity
        scheme = self._schemes.get(credentials.authorization.partition(" ")[0].lower())
        if scheme is None:
            raise Unauthorized("Unauthorized")
        # While no notifications arrive, a revocation by another gateway begins no epoch, so no lookup is shared.
        if not self._identity_cache.is_listening:
            return await self._identify(scheme, digest, credentials, org_id)
        # The epoch is part of the key, so that a request after a revocation starts a lookup of its own.
        key = (digest, self._identity_cache.epoch)
        return await self._lookups.run(key, lambda: self._identify(scheme, digest, credentials, org_id))

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller's identity in another organization, which is cached like other identities. Raises Unavailable."""
        if org_id == identity.org_id:
            return identity
        digest = self._digests.digest(f"organization identity {identity.uid} {identity.key_id} {org_id}")
        cached = self._identity_cache.get(digest)
        return cached or await self._look_up(digest, lambda: self._organization_identities.identity_in(identity, org_id))

    async def _identify(self, scheme: Scheme, digest: bytes, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller that a scheme identifies, and notify the observer."""
        identity = await self._look_up(digest, lambda: scheme.identify(credentials, org_id))
        if self._observer is not None:
            self._observer.record(identity)
        return identity

    async def _look_up(self, digest: bytes, lookup: Callable[[], Awaitable[Identity]]) -> Identity:
        """Return and cache the result of a lookup. If it raises Unavailable, return the last cached identity if there is one."""
        epoch = self._identity_cache.epoch
        try:
            identity = await lookup()
        except Unauthorized:
            # A stale entry would be accepted again during an outage of the database.
            self._identity_cache.discard(digest)
            raise
        except Unavailable:
            last_identity = self._identity_cache.last_known(digest)
            if last_identity is None:
                raise
            return last_identity
        self._identity_cache.put(digest, identity, epoch=epoch)
        return identity
