"""While one request is parsed and evaluated, the worker's event loop serves others."""

import asyncio
import gc
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any

import orjson
import pytest

from dashwright.common.errors import DeadlineExceeded
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.labels import NO_LABELS
from dashwright.expressions.engine.math.parser import parse
from dashwright.expressions.engine.union import Union
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.requests.request import parse_request

pytestmark = pytest.mark.exhaustive

#: Maximum time for which one turn of the event loop may use the processor.
MAX_GAP_SECONDS = 0.05


def numbers_query(ref_id: str, count: int) -> dict[str, Any]:
    """Return a query whose result is a number of single values, all without labels."""
    frame = {
        "schema": {"meta": {"type": "numeric-multi", "typeVersion": [0, 1]}, "fields": [{"name": "v", "type": "number"}]},
        "data": {"values": [[1]]},
    }
    source = {"type": "grafana-testdata-datasource"}
    return {"refId": ref_id, "datasource": source, "scenarioId": "raw_frame", "rawFrameContent": json.dumps([frame] * count)}


def math_query(ref_id: str, expression: str) -> dict[str, Any]:
    """Return a math expression."""
    return {"refId": ref_id, "type": "math", "expression": expression}


# A classic condition without its query. No value of the tests is below 0.
NEVER_FIRING = {
    "evaluator": {"type": "lt", "params": [0]},
    "operator": {"type": "and"},
    "reducer": {"type": "last"},
}
# Three unions of 200 * 200 pairs each.
CARTESIAN = [
    numbers_query("A", 200),
    numbers_query("B", 200),
    *({**math_query(f"C{number}", "$A + $B"), "hide": True} for number in range(3)),
    {
        "refId": "D",
        "type": "classic_conditions",
        "conditions": [{**NEVER_FIRING, "query": {"params": [f"C{number}"]}} for number in range(3)],
    },
]
# The unions multiply five values: to 25 pairs, 25 * 25 pairs and 25 * 25 * 25 pairs.
GROWING_UNIONS = [numbers_query("A", 5), math_query("B", "($A + $A) + ($A + $A) + ($A + $A)")]
# 15,000 operators.
LONG_EXPRESSIONS = [math_query(f"E{number}", "+".join(["1"] * 2_500)) for number in range(6)]


@asynccontextmanager
async def measure_gaps() -> AsyncIterator[list[float]]:
    """Yield a list that collects the processor seconds of each turn of the event loop. The time of other programs is not included."""
    gaps, has_ended = list[float](), asyncio.Event()

    async def tick() -> None:
        latest = time.thread_time()
        while not has_ended.is_set():
            await asyncio.sleep(0.001)
            now = time.thread_time()
            gaps.append(now - latest)
            latest = now

    # As in production, objects of other tests are excluded from garbage collection.
    gc.collect()
    gc.freeze()
    ticks = asyncio.create_task(tick())
    await asyncio.sleep(0)
    try:
        yield gaps
    finally:
        has_ended.set()
        await ticks
        gc.unfreeze()


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.VALIDATION])
@pytest.mark.parametrize("queries", [CARTESIAN, GROWING_UNIONS, LONG_EXPRESSIONS], ids=["cartesian", "growing", "long"])
async def test_costly_requests_do_not_block_the_event_loop(queries: list[Any], endpoint: QueryEndpoint) -> None:
    """Costly requests, which may be small, are parsed and evaluated in threads, so that the event loop is not blocked."""
    # Members of a panel, of which queries ignore ``type`` and ``targets``.
    body = orjson.dumps({"queries": queries, "type": "x", "targets": []})
    async with measure_gaps() as gaps:
        response = await respond(body, QueryContext(endpoint))
        if not isinstance(response.body, bytes):
            async for _ in response.body:
                pass
    assert max(gaps) < MAX_GAP_SECONDS


async def test_a_small_request_takes_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small request takes no thread, which would cost more than its evaluation."""

    async def fail(*_: Any) -> None:
        """Fail the test if a thread is used."""
        raise AssertionError

    monkeypatch.setattr("dashwright.expressions.queries.asyncio.to_thread", fail)
    response = await respond(orjson.dumps({"queries": [numbers_query("A", 1), numbers_query("B", 1), math_query("C", "$A + $B")]}))
    assert response.headers["status"] == 200


@pytest.mark.parametrize("type_text", [b'"sql"', b'"\\u0073ql"'], ids=["plain", "escaped"])
async def test_a_statement_is_read_in_a_thread(type_text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of any length are parsed in a thread, even if the type ``sql`` has escaped characters."""
    thread_names = list[str]()

    def record_and_parse(*arguments: Any) -> Any:
        thread_names.append(threading.current_thread().name)
        return parse_request(*arguments)

    monkeypatch.setattr("dashwright.expressions.queries.parse_request", record_and_parse)
    await respond(b'{"queries": [{"refId": "A", "type": ' + type_text + b', "expression": "SELECT 1"}]}')
    assert thread_names
    assert threading.main_thread().name not in thread_names


def deadline_after(checks: int) -> Deadline:
    """Return a deadline of 1 s, whose clock jumps from 0 s to 2 s after a number of checks."""
    # The deadline also reads the clock when it is created.
    times = chain(repeat(0.0, 1 + checks), repeat(2.0))
    return Deadline(1, lambda: next(times))


def test_parsing_ends_at_the_deadline() -> None:
    """Parsing of a long expression ends at the deadline, not only after the expression."""
    text = "+".join(["1"] * 2_000)
    # Complete parsing checks the deadline more than 3 times, but at most 20 times.
    parse(text, deadline=deadline_after(20))
    with pytest.raises(DeadlineExceeded):
        parse(text, deadline=deadline_after(3))


def test_a_union_ends_at_the_deadline() -> None:
    """A union ends at the deadline even while its pairs are created."""
    label_sets = (NO_LABELS,) * 400
    # A complete union checks the deadline more than 4 times, but at most 20 times.
    assert len(Union(label_sets, label_sets, deadline_after(20)).pairs().labels) == 400 * 400
    with pytest.raises(DeadlineExceeded):
        Union(label_sets, label_sets, deadline_after(4)).pairs()


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL, QueryEndpoint.VALIDATION])
async def test_an_expired_request_is_not_parsed(endpoint: QueryEndpoint) -> None:
    """An expired request has the status 504, also for the validation of a panel, which is not reported as invalid."""
    body = orjson.dumps({"queries": [math_query("A", "1")], "type": "x", "targets": []})
    response = await respond(body, QueryContext(endpoint), QuerySettings(seconds=1e-9))
    assert response.headers["status"] == 504
