"""The laws of fair shares, for any order of arrivals, ends and cancellations of requests."""

import asyncio
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import TooManyRequests
from dashwright.common.fair_limiter import FairLimiter

ORGANIZATIONS = range(5)


class LimiterUnderTest:
    """A limiter under test, with its waiting and working requests.

    Each method returns when the limiter has handled the change. The ``number`` of a request counts from 0 and wraps around.
    """

    def __init__(self, limiter: FairLimiter) -> None:
        self.limiter = limiter
        #: Organization and task of each request that waits.
        self.waiting: list[tuple[int, asyncio.Task[None]]] = []
        #: Organization and task of each request that has a slot, and the event that ends it.
        self.working: list[tuple[int, asyncio.Task[None], asyncio.Event]] = []
        self.refused = 0

    async def arrive(self, organization: int) -> None:
        """Start a request of an organization."""
        task = asyncio.create_task(self._request(organization))
        self.waiting.append((organization, task))
        await self.settle()

    async def end(self, number: int) -> None:
        """End a request that works."""
        if self.working:
            _, _, has_ended = self.working[number % len(self.working)]
            has_ended.set()
            await self.settle()

    async def leave(self, number: int) -> None:
        """Cancel a request that waits."""
        if self.waiting:
            _, task = self.waiting[number % len(self.waiting)]
            task.cancel()
            await self.settle()

    async def leave_as_another_ends(self, number: int) -> None:
        """Cancel a request while it may be receiving the slot of another one."""
        if self.waiting and self.working:
            _, waiting_task = self.waiting[0]
            _, _, has_ended = self.working[number % len(self.working)]
            has_ended.set()
            # For odd numbers, the cancellation comes one round of the event loop later.
            if number % 2:
                await asyncio.sleep(0)
            waiting_task.cancel()
            await self.settle()

    async def close(self) -> None:
        """Cancel all requests."""
        for task in [*(task for _, task in self.waiting), *(task for _, task, _ in self.working)]:
            task.cancel()
        await self.settle()

    async def settle(self) -> None:
        """Let the limiter handle all changes, and remove ended requests from those that wait."""
        # A slot is passed on in several rounds of the event loop.
        for _ in range(6):
            await asyncio.sleep(0)
        self.waiting = [(organization, task) for organization, task in self.waiting if not task.done()]

    def slots_by_organization(self) -> Counter[int]:
        """Return the number of working requests of each organization."""
        return Counter(organization for organization, *_ in self.working)

    async def _request(self, organization: int) -> None:
        """Wait for a slot of an organization, and hold it until the request is ended or cancelled."""
        task = asyncio.current_task()
        assert task is not None
        with suppress(asyncio.CancelledError):
            try:
                async with self.limiter.slot(organization):
                    has_ended = asyncio.Event()
                    self.waiting = [entry for entry in self.waiting if entry[1] is not task]
                    self.working.append((organization, task, has_ended))
                    try:
                        await has_ended.wait()
                    finally:
                        self.working = [entry for entry in self.working if entry[1] is not task]
            except TooManyRequests:
                self.refused += 1


def check_laws(under_test: LimiterUnderTest) -> None:
    """Raise AssertionError if a slot is free that a waiting request may use, or if too many requests work or wait."""
    limiter = under_test.limiter
    slots_by_organization = under_test.slots_by_organization()
    free_slots = limiter.slots - slots_by_organization.total()
    waiting = Counter(organization for organization, _ in under_test.waiting)
    assert free_slots >= 0
    # The capacity includes working and waiting requests.
    assert waiting.total() <= limiter.capacity - limiter.slots
    for organization in waiting:
        if slots_by_organization[organization]:
            assert free_slots <= limiter.reserve, "a slot beyond the reserve is free while a request waits"
        else:
            assert free_slots == 0, "a slot is free while an organization without one waits"
            assert len(slots_by_organization) > limiter.reserve, "organizations hold what is reserved for others"


#: Steps with their numbers. Arrivals are most frequent, so that requests wait.
STEPS = st.lists(
    st.tuples(st.sampled_from(["arrive"] * 4 + ["end"] * 2 + ["leave", "leave_as_another_ends"]), st.integers(0, 50)),
    min_size=20,
    max_size=80,
)


@given(slots=st.integers(1, 8), waiting=st.integers(0, 6), steps=STEPS)
def test_no_organization_waits_for_the_backlog_of_another(slots: int, waiting: int, steps: list[tuple[str, int]]) -> None:
    """A request waits only while other organizations need the free slots. No slot is lost, whenever requests are cancelled."""

    async def run() -> None:
        under_test = LimiterUnderTest(FairLimiter(slots, waiting=waiting))
        for step, number in steps:
            if step == "arrive":
                await under_test.arrive(number % len(ORGANIZATIONS))
            else:
                await getattr(under_test, step)(number)
            check_laws(under_test)
        await under_test.close()
        assert not under_test.working
        # No slot was lost: requests of different organizations can still use all of them.
        for organization in range(slots):
            await under_test.arrive(organization)
        assert under_test.slots_by_organization().total() == slots
        await under_test.close()

    asyncio.run(run())


async def test_waiting_organizations_take_turns() -> None:
    """Waiting requests of two organizations are served alternately, those of each organization in the order of arrival."""
    limiter, served = FairLimiter(1, waiting=20), []

    async def run_request(organization: str, number: int) -> None:
        async with limiter.slot(organization):
            served.append(f"{organization}{number}")
            await asyncio.sleep(0)

    arrivals = [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2)]
    await asyncio.gather(*(run_request(*arrival) for arrival in arrivals))
    assert served == ["a1", "b1", "a2", "b2", "a3", "a4"]


async def test_an_organization_cannot_fill_the_queue() -> None:
    """An organization may use half of the eight places in the queue. Its further requests are refused.

    Requests of another organization are not refused. One of the two slots is reserved for another organization.
    """
    under_test = LimiterUnderTest(FairLimiter(2, waiting=8))
    for _ in range(20):
        await under_test.arrive(1)
    assert len(under_test.working) == 1
    assert len(under_test.waiting) == 4
    assert under_test.refused == 15
    for organization in (2, 3, 4):
        await under_test.arrive(organization)
    assert under_test.refused == 15
    await under_test.close()


async def test_a_request_waits_for_a_limited_time() -> None:
    """A request that waits too long is refused with the subject, the time and the advice of the limiter."""
    limiter = FairLimiter(1, waiting=3, seconds=0.001, subject="queries", advice="retry later")
    async with limiter.slot("a"):
        with pytest.raises(TooManyRequests, match=r"no slot became free for queries of your organization in 0.001 s; retry later"):
            async with limiter.slot("a"):
                pass
    async with limiter.slot("b"):
        pass
