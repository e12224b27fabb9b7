"""The door of credentials: what is shared, what is remembered, and what a revocation overtakes."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dashwright.api.auth.identity_cache import IdentityCache
from dashwright.api.auth.schemes import Schemes
from dashwright.api.http.authentication import Credentials
from dashwright.common.clock import Clock
from dashwright.common.errors import Unauthorized, Unavailable
from dashwright.common.identity import Identity, Role

ANN = Identity("user:1", "ann", 1, Role.ADMIN, user_id=1)
ASKED = Credentials("Test ann", "192.0.2.1")


@dataclass
class Records:
    """A scheme and views over one record that a test changes; each look-up reads it at once and answers when its gate opens."""

    role: Role | None = Role.ADMIN
    gates: list[asyncio.Event] = field(default_factory=list)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    is_gated: bool = False
    is_away: bool = False
    lookups: int = 0

    async def identify(self, credentials: Credentials, org_id: int | None) -> Identity:
        return await self._read(org_id or 1)

    async def seen_in(self, identity: Identity, org_id: int) -> Identity:
        return await self._read(org_id)

    async def _read(self, org_id: int) -> Identity:
        self.lookups += 1
        role = self.role
        if self.is_away:
            raise Unavailable("away")
        if self.is_gated:
            gate = asyncio.Event()
            self.gates.append(gate)
            self.begun.set()
            await gate.wait()
        if role is None:
            raise Unauthorized("gone")
        return replace(ANN, org_id=org_id, role=role)


@dataclass
class Ear:
    noted: list[Identity] = field(default_factory=list)

    def note(self, identity: Identity) -> None:
        self.noted.append(identity)


@dataclass
class Door:
    records: Records
    identities: IdentityCache
    ear: Ear
    schemes: Schemes

    async def begun(self, work: Coroutine[Any, Any, Identity]) -> asyncio.Task[Identity]:
        """The task of a request, once its look-up stands before a gate of its own."""
        self.records.begun.clear()
        task = asyncio.create_task(work)
        async with asyncio.timeout(5):
            await self.records.begun.wait()
        return task


@pytest.fixture
def door() -> Door:
    records, identities, ear = Records(), IdentityCache(Clock()), Ear()
    identities.begin()
    return Door(records, identities, ear, Schemes({"test": records}, records, identities, ear))


async def test_a_scheme_is_chosen_by_its_word_in_any_case(door: Door) -> None:
    """What is not known is not guessed at."""
    assert (await door.schemes.identify(Credentials("tESt x"), None)).login == "ann"
    for strange in ("Digest x", "", "Testing x"):
        with pytest.raises(Unauthorized, match=r"^Unauthorized$"):
            await door.schemes.identify(Credentials(strange), None)


async def test_each_organization_is_an_identity_of_its_own(door: Door) -> None:
    """What is remembered never serves another organization, nor another credential or address."""
    wanted = (None, 2, 1, 2, None)
    assert [(await door.schemes.identify(ASKED, org)).org_id for org in wanted] == [1, 2, 1, 2, 1]
    assert door.records.lookups == 3
    await door.schemes.identify(Credentials("Test bob", "192.0.2.1"), None)
    await door.schemes.identify(Credentials("Test ann", "192.0.2.2"), None)
    assert door.records.lookups == 5


async def test_whoever_is_remembered_is_not_looked_up(door: Door) -> None:
    """And only a look-up is noted as use."""
    for _ in range(3):
        await door.schemes.identify(ASKED, None)
    assert (door.records.lookups, len(door.ear.noted)) == (1, 1)
    door.identities.forget("user:1")
    await door.schemes.identify(ASKED, None)
    assert (door.records.lookups, len(door.ear.noted)) == (2, 2)


LOOKS: dict[str, Callable[[Schemes], Coroutine[Any, Any, Identity]]] = {
    "identify": lambda schemes: schemes.identify(ASKED, None),
    "seen in": lambda schemes: schemes.seen_in(ANN, 2),
}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
async def test_a_look_up_that_a_revocation_overtook_is_not_remembered(
    door: Door, look: Callable[[Schemes], Coroutine[Any, Any, Identity]]
) -> None:
    """Read before, revoked, heard, answered: the next request is looked up anew."""
    door.records.is_gated = True
    first = await door.begun(look(door.schemes))
    door.records.role = Role.NONE
    door.identities.forget("user:1")
    door.records.gates[0].set()
    assert (await first).role is Role.ADMIN
    door.records.is_gated = False
    assert (await look(door.schemes)).role is Role.NONE


async def test_whoever_comes_after_a_revocation_does_not_share_a_look_up_from_before(door: Door) -> None:
    """Two requests with one credential: the one that came before may still be let in, the one after is refused."""
    door.records.is_gated = True
    before = await door.begun(door.schemes.identify(ASKED, None))
    door.records.role = None
    door.identities.forget("user:1")
    after = await door.begun(door.schemes.identify(ASKED, None))
    for gate in door.records.gates:
        gate.set()
    assert (await before).role is Role.ADMIN
    with pytest.raises(Unauthorized):
        await after


async def test_callers_with_one_credential_share_one_look_up(door: Door) -> None:
    """A burst is one look-up; a caller that goes takes nothing from the others."""
    door.records.is_gated = True
    callers = [asyncio.create_task(door.schemes.identify(ASKED, None)) for _ in range(50)]
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    door.records.gates[0].set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert isinstance(outcomes[0], asyncio.CancelledError)
    assert all(isinstance(outcome, Identity) for outcome in outcomes[1:])
    assert door.records.lookups == 1


async def test_while_changes_are_not_heard_every_request_is_looked_up(door: Door) -> None:
    """Neither remembered nor shared: each sees what is on record when it comes."""
    door.identities.suspend()
    for role in (Role.ADMIN, Role.VIEWER):
        door.records.role = role
        assert (await door.schemes.identify(ASKED, None)).role is role
        assert (await door.schemes.seen_in(ANN, 2)).role is role


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
async def test_whoever_was_known_a_moment_ago_outlives_a_blink_of_the_database(
    door: Door, look: Callable[[Schemes], Coroutine[Any, Any, Identity]]
) -> None:
    """Neither changes are heard nor can anybody be looked up: strangers wait, the known go on. What a look has told since counts more."""
    await look(door.schemes)
    door.identities.suspend()
    door.records.is_away = True
    assert (await look(door.schemes)).role is Role.ADMIN
    with pytest.raises(Unavailable):
        await door.schemes.identify(Credentials("Test bob"), None)
    door.records.is_away = False
    door.records.role = None
    with pytest.raises(Unauthorized):
        await look(door.schemes)
    door.records.is_away = True
    with pytest.raises(Unavailable):
        await look(door.schemes)


async def test_how_an_organization_sees_a_caller_is_remembered(door: Door) -> None:
    """For each of them; the caller's own needs no look."""
    assert await door.schemes.seen_in(ANN, 1) is ANN
    for _ in range(2):
        assert [(await door.schemes.seen_in(ANN, org)).org_id for org in (2, 0, 3)] == [2, 0, 3]
    assert door.records.lookups == 3
    door.identities.forget("org:2")
    await door.schemes.seen_in(ANN, 2)
    await door.schemes.seen_in(ANN, 3)
    assert door.records.lookups == 4


async def test_a_failure_is_not_remembered(door: Door) -> None:
    """Whoever was refused is let in as soon as they may."""
    door.records.role = None
    with pytest.raises(Unauthorized):
        await door.schemes.identify(ASKED, None)
    assert not door.ear.noted
    door.records.role = Role.VIEWER
    assert (await door.schemes.identify(ASKED, None)).role is Role.VIEWER


async def test_no_credential_is_kept(door: Door) -> None:
    """What is remembered is keyed by a digest that only this process can make."""
    await door.schemes.identify(ASKED, None)
    assert [len(digest) for digest in door.identities._entries] == [16]
    assert Schemes({}, door.records, door.identities)._digests.of("x") != door.schemes._digests.of("x")
