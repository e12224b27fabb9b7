"""Every resource of a request is limited, and each error has the limit and its setting's name."""

import asyncio
import json
import re
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import orjson
import pytest

from dashwright.common.errors import DeadlineExceeded
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import Settings as Environment
from dashwright.common.settings import load
from dashwright.expressions import fetching
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.engine.axis import Axis
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.expression import Expression
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.labels import NO_LABELS
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.evaluate import Math
from dashwright.expressions.engine.memory import MemoryBudget
from dashwright.expressions.engine.reduce import Reduce
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.engine.values import Block, Cells, Series
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.requests.request import Request
from dashwright.expressions.sources import registry
from dashwright.expressions.sources.query_cache import QueryCache
from dashwright.expressions.sources.registry import SourceResolver
from dashwright.expressions.sources.source import Source


def series_query(ref_id: str, *labels: dict[str, str], points: int = 2) -> dict[str, Any]:
    """Return a query with a series for each of the labels."""
    frames = [
        {
            "schema": {"fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number", "labels": item}]},
            "data": {"values": [list(range(points)), [1] * points]},
        }
        for item in labels
    ]
    content = {"scenarioId": "raw_frame", "rawFrameContent": json.dumps(frames)}
    return {"refId": ref_id, "datasource": {"type": "grafana-testdata-datasource"}, **content}


def math_query(ref_id: str, expression: str) -> dict[str, Any]:
    """Return a math expression."""
    return {"refId": ref_id, "type": "math", "expression": expression}


async def send_queries(limits: Limits, *queries: Any, seconds: float = 60) -> tuple[int, Any]:
    """Return the status and body of the response to queries under these limits."""
    response = await respond(orjson.dumps({"queries": queries}), settings=QuerySettings(limits, seconds))
    assert isinstance(response.body, bytes)
    return int(response.headers["status"]), orjson.loads(response.body)


@pytest.mark.parametrize(
    ("limits", "queries", "setting"),
    [
        (Limits(query_series=1), [series_query("A", {"h": "a"}, {"h": "b"}), math_query("B", "$A")], "QUERY_SERIES"),
        (Limits(query_points=3), [series_query("A", {"h": "a"}, {"h": "b"}), math_query("B", "$A")], "QUERY_POINTS"),
        (Limits(query_points=3), [series_query("A", {"h": "a"}, points=4)], "QUERY_POINTS"),
        (Limits(query_labels=1), [series_query("A", {"h": "a", "i": "b"}), math_query("B", "$A")], "QUERY_LABELS"),
        (Limits(expression_length=4), [math_query("A", "1 + 1")], "EXPRESSION_LENGTH"),
        (Limits(expression_depth=2), [math_query("A", "((1))")], "EXPRESSION_DEPTH"),
        (Limits(query_depth=2), [math_query("A", "1"), math_query("B", "$A"), math_query("C", "$B")], "QUERY_DEPTH"),
        (Limits(math_bytes=1), [series_query("A", {"h": "a"}), math_query("B", "$A + $A")], "MATH_BYTES"),
    ],
)
async def test_a_limit_is_an_error_of_its_ref_id(limits: Limits, queries: list[Any], setting: str) -> None:
    """The error of an exceeded limit names the setting, has the status 400, and does not affect other refIds."""
    status, body = await send_queries(limits, *queries, math_query("Z", "1"))
    assert body["results"]["Z"]["status"] == 200
    assert status == 400
    error_statuses = {result["status"] for result in body["results"].values() if "error" in result}
    assert error_statuses == {400}
    assert f"DASHWRIGHT_{setting}" in body["message"]


async def test_series_without_common_keys_do_not_exceed_the_limit() -> None:
    """The limit of series does not count pairs of series without common keys, because these are not paired."""
    sides = [series_query("A", *({"h": h} for h in "ab")), series_query("B", *({"i": i} for i in "abc"))]
    status, _ = await send_queries(Limits(query_series=3), *sides, math_query("C", "$A + $B"))
    assert status == 200


async def test_the_number_of_series_of_a_result_is_limited() -> None:
    """The number of series of a result is limited, because a union may have more series than either side."""
    sides = [
        series_query("A", *({"h": str(h)} for h in range(3))),
        series_query("B", {"h": "1", "i": "1"}, {"h": "1", "i": "2"}, {"h": "1", "i": "3"}),
    ]
    limits = Limits(query_series=3)
    # Only the label h=1 has pairs, with three series of the other side.
    assert (await send_queries(limits, *sides, math_query("C", "$A + $B")))[0] == 200
    unlabelled = [series_query("A", *({"h": str(h)} for h in range(3))), series_query("B", {}, {})]
    status, body = await send_queries(limits, *unlabelled, math_query("C", "$A + $B"))
    assert status == 400
    assert (
        "3 series from $A and 2 series from $B make 6 series pairs, more than the 3 allowed (setting DASHWRIGHT_QUERY_SERIES)"
        in body["results"]["C"]["error"]
    )
    assert "error" not in body["results"]["A"]


@pytest.mark.parametrize("operator", ["||", "%", ">"])
async def test_a_short_expression_that_multiplies_series_is_rejected(operator: str) -> None:
    """An expression whose unions multiply the number of series is rejected, with both factors, before the pairs are created."""
    expression_text = f" {operator} ".join(["($A % $A > $A)"] * 20)
    budget = MemoryBudget(100 * 2**20)
    queries = [series_query("A", {"h": "a"}, {"z": "x"}, {"h": "a", "z": "x"}), math_query("B", expression_text)]
    body = orjson.dumps({"queries": queries})
    assert len(body) < 1_500
    tracemalloc.start()
    try:
        with budget.reservation(1) as memory:
            response = await respond(body, settings=QuerySettings(memory=budget), memory=memory)
        _, allocated = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(response.body, bytes)
    message = orjson.loads(response.body)["results"]["B"]["error"]
    # In each parenthesis, the three series make 7 pairs, which make 19 pairs with the three series.
    assert re.search(r"\d+ series from .* and 19 series from \$A % \$A > \$A make \d+ series pairs, more than the 100000 allowed", message)
    # A fifth of the budget is enough, because the pairs are not created.
    assert max(memory.peak, allocated) < 20 * 2**20


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL, QueryEndpoint.VALIDATION])
async def test_the_number_of_queries_is_limited(endpoint: QueryEndpoint) -> None:
    """Each endpoint rejects too many queries before it parses them."""
    queries = [{"no": "query"}] * 3
    body = orjson.dumps({"type": "x", "targets": [], "queries": queries})
    response = await respond(body, QueryContext(endpoint), QuerySettings(Limits(query_targets=2)))
    assert isinstance(response.body, bytes)
    error = orjson.loads(response.body)
    # A validation succeeds, and its document has the faults.
    assert response.headers["status"] == (200 if endpoint is QueryEndpoint.VALIDATION else 400)
    assert [fault["pointer"] for fault in error["faults"]] == ["/queries/2"]
    assert "3 queries and targets, more than the 2 allowed (setting DASHWRIGHT_QUERY_TARGETS)" in error["faults"][0]["message"]


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL, QueryEndpoint.VALIDATION])
async def test_the_size_of_all_expressions_is_limited(endpoint: QueryEndpoint) -> None:
    """The size of all expressions together is limited. The error is reported once, at the first expression above the limit."""
    body = orjson.dumps({"type": "x", "targets": [], "queries": [math_query(ref_id, "1 + 1") for ref_id in "ABCD"]})
    response = await respond(body, QueryContext(endpoint), QuerySettings(Limits(request_expressions=12)))
    assert isinstance(response.body, bytes)
    error = orjson.loads(response.body)
    # A validation succeeds, and its document has the faults.
    assert response.headers["status"] == (200 if endpoint is QueryEndpoint.VALIDATION else 400)
    assert [fault["pointer"] for fault in error["faults"]] == ["/queries/2/expression"]
    assert "15 characters together, more than the 12 allowed (setting DASHWRIGHT_REQUEST_EXPRESSIONS)" in error["faults"][0]["message"]


def test_every_limit_is_a_setting_with_the_same_default() -> None:
    """The limits of the engine are settings, whose defaults are those of the engine."""
    assert query_settings(load()).limits.query_series == Limits().query_series
    defaults = query_settings(Environment())
    for name in Limits.__dataclass_fields__.keys() - {"deadline", "memory"}:
        assert getattr(defaults.limits, name) == getattr(Limits(), name), name
    assert defaults.seconds == QuerySettings().seconds
    custom_settings = query_settings(load(query_depth=7, evaluation_seconds=3))
    assert custom_settings.limits.query_depth == 7
    assert custom_settings.seconds == 3


class SlowSource(Source):
    """A data source whose queries seem to take time: each calls a function that lets the time pass."""

    def __init__(self, pass_time: Callable[[], None]) -> None:
        self._pass_time = pass_time

    async def health(self) -> str:
        """Return an empty message."""
        return ""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Let the time pass, and return no frames."""
        self._pass_time()
        return []


async def test_no_node_begins_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the deadline, results that are complete are kept. Each other refId has the status 504 and an error that names the setting."""
    received: list[Limits] = []

    async def fetch(
        request: Request, context: QueryContext, limits: Limits, sources: SourceResolver, results: QueryCache
    ) -> fetching.FetchedResults:
        received.append(limits)
        return await fetching.fetch(request, context, limits, sources, results)

    monkeypatch.setattr("dashwright.expressions.queries.fetch", fetch)
    monkeypatch.setitem(registry.BUILT_IN, "slow", SlowSource(lambda: received[0].deadline.expire()))
    query = {"refId": "A", "datasource": {"type": "slow", "uid": "x"}}
    status, body = await send_queries(Limits(), query, math_query("B", "1"), seconds=7)
    assert status == 400
    assert {ref_id: result["status"] for ref_id, result in body["results"].items()} == {"A": 200, "B": 504}
    assert "longer than the 7 s allowed (setting DASHWRIGHT_EVALUATION_SECONDS)" in body["results"]["B"]["error"]


def test_a_deadline_expires_on_time() -> None:
    """A deadline expires at its time, or immediately when ``expire`` is called."""
    now = [100.0]
    deadline = Deadline(5, lambda: now[0])
    now[0] = 104.9
    deadline.check()
    now[0] = 105.0
    with pytest.raises(DeadlineExceeded):
        deadline.check()
    deadline_without_time = Deadline(clock=lambda: now[0])
    deadline_without_time.check()
    deadline_without_time.expire()
    with pytest.raises(DeadlineExceeded):
        deadline_without_time.check()


@pytest.mark.parametrize("expression", [Math.parse("1 + 1"), Reduce.of("A", "sum")], ids=["math", "reduce"])
def test_a_node_checks_its_deadline_between_steps(expression: Expression) -> None:
    """A node checks its deadline during its evaluation, so that a long evaluation ends too."""
    limits = Limits(deadline=Deadline())
    series = Series.stacked([NO_LABELS], [Block(Axis(np.array([1, 2])), Cells(np.ones((1, 2))))])
    expression.evaluate({"A": series}, limits)
    limits.deadline.expire()
    with pytest.raises(DeadlineExceeded):
        expression.evaluate({"A": series}, limits)


async def test_a_cancelled_request_ends_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline of a cancelled request expires, because its thread cannot be stopped but checks the deadline."""
    has_begun, may_continue, received_limits = asyncio.Event(), threading.Event(), list[Limits]()
    loop = asyncio.get_running_loop()

    def wait(*arguments: Any) -> Any:
        """Record the limits, and wait in the thread instead of parsing."""
        received_limits.extend(argument for argument in arguments if isinstance(argument, Limits))
        loop.call_soon_threadsafe(has_begun.set)
        may_continue.wait()

    monkeypatch.setattr("dashwright.expressions.queries.parse_request", wait)
    # Without this, a small request would be parsed in the event loop.
    monkeypatch.setattr("dashwright.expressions.queries._MAX_BODY_BYTES_ON_LOOP", 0)
    query_task = asyncio.create_task(send_queries(Limits(), series_query("A", {"h": "a"})))
    await has_begun.wait()
    received_limits[0].deadline.check()
    query_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await query_task
    may_continue.set()
    with pytest.raises(DeadlineExceeded):
        received_limits[0].deadline.check()
