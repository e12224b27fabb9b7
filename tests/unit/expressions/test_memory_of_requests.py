"""All requests of a worker hold no more memory than is allowed, and each gives back what it held."""

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import TooLarge, TooManyRequests
from dashwright.common.messaging.rpc import Reply
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import MemoryBudget
from dashwright.expressions.queries import QuerySettings, respond

MEGABYTE = 2**20
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.sampled_from(["take", "give", "held", "close"])), max_size=60)


@given(STEPS)
def test_a_budget_is_never_exceeded_and_leaves_room_for_others(steps: list[tuple[int, int, str]]) -> None:
    """An organization holds at most three times what is left free, and what is given up can be taken again."""
    budget = MemoryBudget(100)
    with ExitStack() as opened:
        held = {name: opened.enter_context(budget.reservation(name)) for name in range(4)}
        for name, size, step in steps:
            if step == "give":
                held[name].give(min(size, held[name].size))
            elif step == "close":
                with budget.reservation(name) as brief:
                    _try_to_take(brief, size)
            elif _try_to_take(held[name], size):
                assert held[name].size <= 3 * (100 - budget.held)
            assert budget.held == sum(each.size for each in held.values()) <= 100
    assert budget.held == 0


def _try_to_take(reservation: Any, size: int) -> bool:
    try:
        reservation.take(size)
    except (TooLarge, TooManyRequests):
        return False
    return True


def test_what_is_closed_counts_no_more() -> None:
    """A thread that works on after its caller is gone changes nothing."""
    budget = MemoryBudget(100)
    with budget.reservation("a") as reservation:
        reservation.take(10)
    reservation.take(50)
    reservation.give(20)
    assert budget.held == 0


def chained(series: int, sums: int) -> bytes:
    """Sums that each read the one before, all shown."""
    walk = {"refId": "S0", "datasource": {"type": "grafana-testdata-datasource"}, "seriesCount": series, "labels": "n=$seriesIndex"}
    queries = [{"refId": f"S{n}", "type": "math", "expression": f"$S{n - 1} + 1"} for n in range(1, sums + 1)]
    return orjson.dumps({"from": "now-100s", "to": "now", "queries": [walk, *queries]})


async def read(answered: Reply) -> dict[str, Any]:
    pieces = [answered.body] if isinstance(answered.body, bytes) else [piece async for piece in answered.body]
    body: dict[str, Any] = orjson.loads(b"".join(pieces))
    return body


@pytest.fixture
def settings() -> QuerySettings:
    return QuerySettings(memory=MemoryBudget(40 * MEGABYTE))


async def test_a_request_that_can_never_fit_is_refused_by_size(settings: QuerySettings) -> None:
    """The error names the setting; nothing is held afterwards."""
    with settings.memory.reservation(1) as memory:
        refused = await respond(chained(200, 90), QueryContext(org_id=1), settings, memory=memory)
        assert memory.most <= 30 * MEGABYTE
    assert int(refused.headers["status"]) >= 400
    assert "DASHWRIGHT_QUERY_BYTES); ask for less" in (await read(refused))["message"]
    assert settings.memory.held == 0


async def test_a_request_beside_others_is_put_off_while_they_hold_the_memory(settings: QuerySettings) -> None:
    """A small request of another organization is served at the same time."""
    with settings.memory.reservation(1) as held, settings.memory.reservation(1) as memory:
        held.take(29 * MEGABYTE)
        with pytest.raises(TooManyRequests, match=r"others at work leave too few of the 41943040 allowed.*DASHWRIGHT_QUERY_BYTES"):
            await respond(chained(50, 20), QueryContext(org_id=1), settings, memory=memory)
        with settings.memory.reservation(2) as other:
            assert (await respond(chained(1, 1), QueryContext(org_id=2), settings, memory=other)).headers["status"] == 200


async def test_a_response_has_a_bound(settings: QuerySettings) -> None:
    """It is refused before anything is encoded; hidden results do not count."""
    bounded = replace(settings, limits=Limits(query_response_bytes=100_000))
    refused = await respond(chained(10, 5), settings=bounded)
    assert refused.headers["status"] == 413
    assert "DASHWRIGHT_QUERY_RESPONSE_BYTES" in (await read(refused))["message"]
    hidden = orjson.loads(chained(10, 5))
    for query in hidden["queries"][1:]:
        query["hide"] = True
    assert (await respond(orjson.dumps(hidden), settings=bounded)).headers["status"] == 200


async def test_concurrent_requests_stay_within_the_budget(settings: QuerySettings) -> None:
    """Some are refused, none is lost, and all that was held is given back."""
    most = 0

    async def ask(org_id: int) -> bool:
        nonlocal most
        try:
            with settings.memory.reservation(org_id) as memory:
                await respond(chained(100, 10), QueryContext(org_id=org_id), settings, memory=memory)
                most = max(most, settings.memory.held)
                await asyncio.sleep(0)
        except TooManyRequests:
            return False
        return True

    served = await asyncio.gather(*(ask(number % 2) for number in range(12)))
    assert any(served)
    assert 0 < most <= 40 * MEGABYTE
    assert settings.memory.held == 0
