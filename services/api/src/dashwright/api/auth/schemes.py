"""The door of credentials: chooses who checks them, and remembers for seconds who came out."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

from dashwright.api.auth.hashing import Digests
from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.http.authentication import Credentials, IdentityViews, Scheme
from dashwright.common.errors import Unauthorized, Unavailable
from dashwright.common.identity import Identity
from dashwright.common.single_flight import SingleFlight


class LookupObserver(Protocol):
    """Hears of callers that were looked up."""

    def note(self, identity: Identity) -> None: ...


class Schemes:
    """The authenticator of a gateway. ``by_name`` has the schemes by the header's first word in lower case; others are refused.

    Requests with the same credential from the same address at the same time share one check, unless something was forgotten between
    them: whoever comes after a revocation is never answered by a look-up from before it. What is remembered counts for the address it
    was sent from: whoever is throttled at another guesses in vain, though the owner was let in a moment ago. ``noted`` hears of every
    look-up that let somebody in.
    """

    def __init__(
        self, by_name: Mapping[str, Scheme], views: IdentityViews, identities: IdentityCache, noted: LookupObserver | None = None
    ) -> None:
        self._by_name = dict(by_name)
        self._views = views
        self._identities = identities
        self._noted = noted
        self._digests = Digests()
        self._checks: SingleFlight[tuple[bytes, int], Identity] = SingleFlight()

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """The caller. Raises what the scheme raises, and Unauthorized for a scheme that is not known."""
        kept = (str(org_id), credentials.address, str(credentials.may_be_weak), credentials.authorization)
        digest = self._digests.of(" ".join(kept))
        identity = self._identities.get(digest)
        if identity is not None:
            return identity
        scheme = self._by_name.get(credentials.authorization.partition(" ")[0].lower())
        if scheme is None:
            raise Unauthorized("Unauthorized")
        if not self._identities.is_listening:
            return await self._identify(scheme, digest, credentials, org_id)
        key = (digest, self._identities.epoch)
        return await self._checks.once(key, lambda: self._identify(scheme, digest, credentials, org_id))

    async def seen_in(self, identity: Identity, org_id: int) -> Identity:
        """The same caller as another organization sees them, remembered as long and forgotten as soon."""
        if org_id == identity.org_id:
            return identity
        digest = self._digests.of(f"seen {identity.uid} {identity.key_id} {org_id}")
        seen = self._identities.get(digest)
        return seen or await self._looked_up(digest, lambda: self._views.seen_in(identity, org_id))

    async def _identify(self, scheme: Scheme, digest: bytes, credentials: Credentials, org_id: int | None) -> Identity:
        identity = await self._looked_up(digest, lambda: scheme.identify(credentials, org_id))
        if self._noted is not None:
            self._noted.note(identity)
        return identity

    async def _looked_up(self, digest: bytes, look: Callable[[], Awaitable[Identity]]) -> Identity:
        """Remembers what the look-up finds. Where it cannot look, whoever was known seconds ago is known still."""
        epoch = self._identities.epoch
        try:
            identity = await look()
        except Unauthorized:
            self._identities.drop(digest)
            raise
        except Unavailable:
            known = self._identities.last_known(digest)
            if known is None:
                raise
            return known
        self._identities.put(digest, identity, epoch=epoch)
        return identity
