"""The gateway's authenticator: lookups are shared and cached, unless a revocation arrives during a lookup."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.schemes import SchemeAuthenticator
from dashwright.api.http.authentication import Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import Unauthorized, Unavailable
from dashwright.common.identity import Identity, Role

CALLER = Identity(uid="user:1", login="ann", org_id=1, role=Role.ADMIN, user_id=1)
CREDENTIALS = Credentials("Test ann", "192.0.2.1")


@dataclass
class GatedRecords:
    """A record of a caller that a test changes. If it is gated, a lookup reads it and then waits for an event of ``gates``."""

    #: None if the caller is revoked.
    role: Role | None = Role.ADMIN
    gates: list[asyncio.Event] = field(default_factory=list)
    has_begun_lookup: asyncio.Event = field(default_factory=asyncio.Event)
    is_gated: bool = False
    is_unavailable: bool = False
    lookups: int = 0

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        """Return the identity in an organization, by default organization 1."""
        return await self._read(org_id or 1)

    async def identity_in(self, identity: Identity, org_id: int) -> Identity:
        """Return the identity in another organization."""
        return await self._read(org_id)

    async def _read(self, org_id: int) -> Identity:
        """Count a look-up, wait at a gate if the test has gates, and return the identity, or raise the error that the test has set."""
        self.lookups += 1
        role = self.role
        if self.is_unavailable:
            raise Unavailable("away")
        if self.is_gated:
            gate = asyncio.Event()
            self.gates.append(gate)
            self.has_begun_lookup.set()
            await gate.wait()
        if role is None:
            raise Unauthorized("revoked")
        return replace(CALLER, org_id=org_id, role=role)


@dataclass
class RecordedLookups:
    """An observer of lookups, which would record the use of tokens."""

    identities: list[Identity] = field(default_factory=list)

    def record(self, identity: Identity) -> None:
        self.identities.append(identity)


@dataclass
class Setup:
    """An authenticator with a single scheme, ``Test``, and its parts."""

    records: GatedRecords
    identities: IdentityCache
    observer: RecordedLookups
    schemes: SchemeAuthenticator

    async def start_lookup(self, lookup: Coroutine[Any, Any, Identity]) -> asyncio.Task[Identity]:
        """Return the task of a request once its lookup waits for its event."""
        self.records.has_begun_lookup.clear()
        task = asyncio.create_task(lookup)
        async with asyncio.timeout(5):
            await self.records.has_begun_lookup.wait()
        return task


@pytest.fixture
def setup() -> Setup:
    """Return an authenticator whose cache is active."""
    records, identities, observer = GatedRecords(), IdentityCache(Clock()), RecordedLookups()
    identities.resume()
    return Setup(records, identities, observer, SchemeAuthenticator({"test": records}, records, identities, observer))


async def test_a_scheme_is_chosen_by_its_word_in_any_case(setup: Setup) -> None:
    """The scheme is selected by its name in any case, and an unknown one is refused."""
    assert (await setup.schemes.identify(Credentials("tESt x"), None)).login == "ann"
    for unknown_header in ("Digest x", "", "Testing x"):
        with pytest.raises(Unauthorized, match=r"^Unauthorized$"):
            await setup.schemes.identify(Credentials(unknown_header), None)


async def test_identities_are_cached_per_organization(setup: Setup) -> None:
    """A cached identity is never used for another organization, credential or address."""
    requested_orgs = (None, 2, 1, 2, None)
    assert [(await setup.schemes.identify(CREDENTIALS, org)).org_id for org in requested_orgs] == [1, 2, 1, 2, 1]
    # Organization 1 is looked up twice: as the requested one, and as the default one.
    assert setup.records.lookups == 3
    await setup.schemes.identify(Credentials("Test bob", "192.0.2.1"), None)
    await setup.schemes.identify(Credentials("Test ann", "192.0.2.2"), None)
    assert setup.records.lookups == 5


async def test_a_cached_caller_is_not_looked_up(setup: Setup) -> None:
    """A cached caller causes no lookup until its user is invalidated. The observer receives the identity of each lookup."""
    for _ in range(3):
        await setup.schemes.identify(CREDENTIALS, None)
    assert setup.records.lookups == 1
    assert len(setup.observer.identities) == 1
    setup.identities.invalidate("user:1")
    await setup.schemes.identify(CREDENTIALS, None)
    assert setup.records.lookups == 2
    assert len(setup.observer.identities) == 2


# Both ways to obtain an identity: from credentials, and for a caller in another organization.
LOOKUPS: dict[str, Callable[[SchemeAuthenticator], Coroutine[Any, Any, Identity]]] = {
    "identify": lambda schemes: schemes.identify(CREDENTIALS, None),
    "identity in another organization": lambda schemes: schemes.identity_in(CALLER, 2),
}


@pytest.mark.parametrize("look_up", LOOKUPS.values(), ids=LOOKUPS)
async def test_a_lookup_that_a_revocation_overtook_is_not_cached(
    setup: Setup, look_up: Callable[[SchemeAuthenticator], Coroutine[Any, Any, Identity]]
) -> None:
    """If a revocation is notified after the read of a lookup and before its end, the next request is looked up again."""
    setup.records.is_gated = True
    first = await setup.start_lookup(look_up(setup.schemes))
    setup.records.role = Role.NONE
    setup.identities.invalidate("user:1")
    setup.records.gates[0].set()
    assert (await first).role is Role.ADMIN
    setup.records.is_gated = False
    assert (await look_up(setup.schemes)).role is Role.NONE


async def test_a_request_after_a_revocation_does_not_share_an_earlier_lookup(setup: Setup) -> None:
    """A request that begins after a revocation is refused, even if an earlier request with the credential is still looked up."""
    setup.records.is_gated = True
    before = await setup.start_lookup(setup.schemes.identify(CREDENTIALS, None))
    setup.records.role = None
    setup.identities.invalidate("user:1")
    after = await setup.start_lookup(setup.schemes.identify(CREDENTIALS, None))
    for gate in setup.records.gates:
        gate.set()
    assert (await before).role is Role.ADMIN
    with pytest.raises(Unauthorized):
        await after


async def test_callers_with_one_credential_share_one_lookup(setup: Setup) -> None:
    """Concurrent requests with one credential are one lookup. Cancelling one of them does not affect the others."""
    setup.records.is_gated = True
    callers = [asyncio.create_task(setup.schemes.identify(CREDENTIALS, None)) for _ in range(50)]
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    setup.records.gates[0].set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert all(isinstance(outcome, Identity) for outcome in outcomes[1:])
    assert setup.records.lookups == 1


async def test_without_notifications_every_request_is_looked_up(setup: Setup) -> None:
    """Without notifications, lookups are not cached, so each request uses the current role."""
    setup.identities.suspend()
    for role in (Role.ADMIN, Role.VIEWER):
        setup.records.role = role
        assert (await setup.schemes.identify(CREDENTIALS, None)).role is role
        assert (await setup.schemes.identity_in(CALLER, 2)).role is role


@pytest.mark.parametrize("look_up", LOOKUPS.values(), ids=LOOKUPS)
async def test_cached_callers_are_accepted_during_an_outage(
    setup: Setup, look_up: Callable[[SchemeAuthenticator], Coroutine[Any, Any, Identity]]
) -> None:
    """While neither notifications nor lookups are available, only cached callers are accepted.

    A later lookup replaces the cached identity: a caller that it refused is no longer accepted.
    """
    await look_up(setup.schemes)
    setup.identities.suspend()
    setup.records.is_unavailable = True
    assert (await look_up(setup.schemes)).role is Role.ADMIN
    with pytest.raises(Unavailable):
        await setup.schemes.identify(Credentials("Test bob"), None)
    setup.records.is_unavailable = False
    setup.records.role = None
    with pytest.raises(Unauthorized):
        await look_up(setup.schemes)
    setup.records.is_unavailable = True
    with pytest.raises(Unavailable):
        await look_up(setup.schemes)


async def test_views_of_other_organizations_are_cached(setup: Setup) -> None:
    """The identity of a caller in each other organization is cached. The one in the caller's own organization needs no lookup."""
    assert await setup.schemes.identity_in(CALLER, 1) is CALLER
    # The caller's organization is 1; organization 0 is the whole server. The second round is served by the cache.
    for _ in range(2):
        assert [(await setup.schemes.identity_in(CALLER, org)).org_id for org in (2, 0, 3)] == [2, 0, 3]
    assert setup.records.lookups == 3
    setup.identities.invalidate("org:2")
    await setup.schemes.identity_in(CALLER, 2)
    await setup.schemes.identity_in(CALLER, 3)
    assert setup.records.lookups == 4


async def test_a_failure_is_not_cached(setup: Setup) -> None:
    """A refused lookup is neither cached nor observed, so a caller is accepted as soon as the record permits it."""
    setup.records.role = None
    with pytest.raises(Unauthorized):
        await setup.schemes.identify(CREDENTIALS, None)
    assert not setup.observer.identities
    setup.records.role = Role.VIEWER
    assert (await setup.schemes.identify(CREDENTIALS, None)).role is Role.VIEWER


async def test_no_credential_is_cached(setup: Setup) -> None:
    """Cache keys are digests of 16 bytes, which differ between authenticators, so that only this process can compute them."""
    await setup.schemes.identify(CREDENTIALS, None)
    assert [len(digest) for digest in setup.identities._entries] == [16]
    assert SchemeAuthenticator({}, setup.records, setup.identities)._digests.digest("x") != setup.schemes._digests.digest("x")
