"""All requests of a worker together respect a memory budget, and each releases its share."""

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
# The organization, the size, and the step, which is most often a reservation. The step "close" makes a reservation and closes it.
STEPS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 60), st.sampled_from(["reserve", "reserve", "release", "close"])), max_size=60)


@given(STEPS)
def test_a_budget_is_never_exceeded_and_leaves_memory_for_others(steps: list[tuple[int, int, str]]) -> None:
    """An organization reserves at most three times the memory that is free afterwards. Released memory can be reserved again."""
    budget = MemoryBudget(100)
    with ExitStack() as stack:
        reservations = {name: stack.enter_context(budget.reservation(name)) for name in range(4)}
        for name, size, step in steps:
            if step == "release":
                reservations[name].release(min(size, reservations[name].size))
            elif step == "close":
                with budget.reservation(name) as short_reservation:
                    _try_to_reserve(short_reservation, size)
            elif _try_to_reserve(reservations[name], size):
                assert reservations[name].size <= 3 * (100 - budget.reserved)
            assert budget.reserved == sum(reservation.size for reservation in reservations.values()) <= 100
    assert budget.reserved == 0


def _try_to_reserve(reservation: Any, size: int) -> bool:
    """Reserve memory if the budget permits it, and return whether it did."""
    try:
        reservation.reserve(size)
    except (TooLarge, TooManyRequests):
        return False
    return True


def test_a_closed_reservation_does_not_count() -> None:
    """A closed reservation does not count, even if a thread that outlasts its request changes it."""
    budget = MemoryBudget(100)
    with budget.reservation("a") as reservation:
        reservation.reserve(10)
    reservation.reserve(50)
    reservation.release(20)
    assert budget.reserved == 0


def chain_of_sums(series: int, sums: int) -> bytes:
    """Return a request of series with a hundred points, and of a chain of visible sums: each adds 1 to the result before it."""
    walk = {"refId": "S0", "datasource": {"type": "grafana-testdata-datasource"}, "seriesCount": series, "labels": "n=$seriesIndex"}
    queries = [{"refId": f"S{n}", "type": "math", "expression": f"$S{n - 1} + 1"} for n in range(1, sums + 1)]
    return orjson.dumps({"from": "now-100s", "to": "now", "queries": [walk, *queries]})


async def read_body(response: Reply) -> dict[str, Any]:
    """Return the body of a response, whole or streamed."""
    pieces = [response.body] if isinstance(response.body, bytes) else [piece async for piece in response.body]
    body: dict[str, Any] = orjson.loads(b"".join(pieces))
    return body


@pytest.fixture
def settings() -> QuerySettings:
    """Return settings with a memory budget of 40 MiB, of which one organization may use 30."""
    return QuerySettings(memory=MemoryBudget(40 * MEGABYTE))


async def test_a_request_that_can_never_fit_is_rejected(settings: QuerySettings) -> None:
    """The error of a request that can never fit names the setting, and nothing remains reserved."""
    with settings.memory.reservation(1) as memory:
        response = await respond(chain_of_sums(200, 90), QueryContext(org_id=1), settings, memory=memory)
        assert memory.peak <= 30 * MEGABYTE
    assert int(response.headers["status"]) >= 400
    assert "DASHWRIGHT_QUERY_BYTES); request less" in (await read_body(response))["message"]
    assert settings.memory.reserved == 0


async def test_a_request_is_rejected_while_others_use_the_memory(settings: QuerySettings) -> None:
    """A request above the free memory is rejected, while a small request of another organization is served."""
    # Another request of the organization uses almost all of the 30 MiB that the organization may use. The error names all 40 MiB.
    with settings.memory.reservation(1) as reservation_of_others, settings.memory.reservation(1) as memory:
        reservation_of_others.reserve(29 * MEGABYTE)
        with pytest.raises(TooManyRequests, match=r"other running requests leave less of the 41943040 allowed.*DASHWRIGHT_QUERY_BYTES"):
            await respond(chain_of_sums(50, 20), QueryContext(org_id=1), settings, memory=memory)
        with settings.memory.reservation(2) as reservation_of_org_2:
            response = await respond(chain_of_sums(1, 1), QueryContext(org_id=2), settings, memory=reservation_of_org_2)
            assert response.headers["status"] == 200


async def test_the_size_of_a_response_is_limited(settings: QuerySettings) -> None:
    """A response above the limit is rejected before it is encoded. Hidden results do not count."""
    bounded = replace(settings, limits=Limits(query_response_bytes=100_000))
    response = await respond(chain_of_sums(10, 5), settings=bounded)
    assert response.headers["status"] == 413
    assert "DASHWRIGHT_QUERY_RESPONSE_BYTES" in (await read_body(response))["message"]
    request_with_hidden_sums = orjson.loads(chain_of_sums(10, 5))
    for query in request_with_hidden_sums["queries"][1:]:
        query["hide"] = True
    assert (await respond(orjson.dumps(request_with_hidden_sums), settings=bounded)).headers["status"] == 200


async def test_concurrent_requests_stay_within_the_budget(settings: QuerySettings) -> None:
    """Concurrent requests never reserve more than the budget, some are served, and all memory is released."""
    maximum = 0

    async def send_request(org_id: int) -> bool:
        nonlocal maximum
        try:
            with settings.memory.reservation(org_id) as memory:
                await respond(chain_of_sums(100, 10), QueryContext(org_id=org_id), settings, memory=memory)
                maximum = max(maximum, settings.memory.reserved)
                await asyncio.sleep(0)
        except TooManyRequests:
            return False
        return True

    # Six requests of each of two organizations, in turn.
    served = await asyncio.gather(*(send_request(org_id) for org_id in [0, 1] * 6))
    assert any(served)
    assert 0 < maximum <= 40 * MEGABYTE
    assert settings.memory.reserved == 0
