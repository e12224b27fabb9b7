"""The gateway's authenticator: chooses the scheme for a credential and caches the caller for a few seconds."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from dashwright.api.auth.hashing import Digests
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.http.authentication import Credentials, IdentityViews, Scheme
from dashwright.common.errors import Unauthorized, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight


class LookupObserver(Protocol):
    """An observer of successful lookups."""

    def note(self, identity: Identity) -> None:
        """Record that a caller was looked up."""


class Schemes:
    """Authenticator over several schemes, with a cache.

    Concurrent requests with one credential from one address share one lookup. Requests after a revocation do not share a lookup that
    began before it.
    """

    def __init__(
        self, by_name: Mapping[str, Scheme], views: IdentityViews, identities: IdentityCache, noted: LookupObserver | None = None
    ) -> None:
        """Create the authenticator.

        ``by_name`` maps the first word of the ``Authorization`` header, in lower case, to its scheme; other words are refused.
        ``noted`` is notified of every successful lookup.
        """
        self._by_name = dict(by_name)
        self._views = views
        self._identities = identities
        self._noted = noted
        self._digests = Digests()
        self._checks: SingleFlight[tuple[bytes, int], Identity] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the caller. Raises what the scheme raises, and Unauthorized for an unknown scheme."""
        # The address is part of the key: a client throttled elsewhere must not profit from the owner's cached login.
        key_parts = (str(org_id), credentials.address, str(credentials.may_be_weak), credentials.authorization)
        digest = self._digests.of(" ".join(key_parts))
        identity = self._identities.get(digest)
        if identity is not None:
            return identity
        scheme = self._by_name.get(credentials.authorization.partition(" ")[0].lower())
        if scheme is None:
            raise Unauthorized("Unauthorized")
        if not self._identities.is_listening:
            return await self._identify(scheme, digest, credentials, org_id)
        # The epoch is part of the key, so that a request after a revocation starts a lookup of its own.
        key = (digest, self._identities.epoch)
        return await self._checks.once(key, lambda: self._identify(scheme, digest, credentials, org_id))

    async def seen_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the caller as a member of another organization, cached like the caller. Raises Unavailable."""
        if org_id == identity.org_id:
            return identity
        digest = self._digests.of(f"seen {identity.uid} {identity.key_id} {org_id}")
        seen = self._identities.get(digest)
        return seen or await self._look_up(digest, lambda: self._views.seen_in(identity, org_id))

    async def _identify(self, scheme: Scheme, digest: bytes, credentials: Credentials, org_id: int | None) -> Identity:
        identity = await self._look_up(digest, lambda: scheme.identify(credentials, org_id))
        if self._noted is not None:
            self._noted.note(identity)
        return identity

    async def _look_up(self, digest: bytes, look: Callable[[], Awaitable[Identity]]) -> Identity:
        """Return and cache the result of a lookup; if that fails with Unavailable, return the entry cached last."""
        epoch = self._identities.epoch
        try:
            identity = await look()
        except Unauthorized:
            # Otherwise an outage could accept this caller again from the cache.
            self._identities.drop(digest)
            raise
        except Unavailable:
            known = self._identities.last_known(digest)
            if known is None:
                raise
            return known
        self._identities.put(digest, identity, epoch=epoch)
        return identity
