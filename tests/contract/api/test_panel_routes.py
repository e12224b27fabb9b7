"""Queries and panels over HTTP, with a real gateway, the in-memory broker and a real expressions worker."""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from prometheus_client import REGISTRY
from tests.signer import SIGNER

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.errors import DashwrightError
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.models.expressions import TARGETS, SourceQuery
from dashwright.common.settings import load
from dashwright.expressions.consumer import QueryConsumer, query_settings
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources import registry
from dashwright.expressions.sources.source import Source

CREDENTIALS = {"Authorization": aiohttp.encode_basic_auth("admin", "admin")}
#: A frame with two points: 1 at one second and 3 at two seconds.
FRAME = {
    "schema": {"fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number", "labels": {"h": "a"}}]},
    "data": {"values": [[1000, 2000], [1, 3]]},
}
#: A query of data that returns the frame.
SOURCE = {
    "refId": "A",
    "datasource": {"type": "grafana-testdata-datasource"},
    "scenarioId": "raw_frame",
    "rawFrameContent": json.dumps([FRAME]),
}


def math(ref_id: str, expression: str, **fields: Any) -> dict[str, Any]:
    """Return a math expression."""
    return {"refId": ref_id, "type": "math", "expression": expression, **fields}


@pytest.fixture
async def session(tmp_path: Path, database: Database) -> AsyncIterator[aiohttp.ClientSession]:
    """Start a gateway and an expressions worker with a limit of five targets, and yield an HTTP client of the gateway."""
    settings = load(http_port=0, data_dir=tmp_path, permitted_paths=str(tmp_path), query_targets=5, secret_key="of tests only")
    broker = MemoryBroker()
    await broker.start()
    worker = QueryConsumer(broker, SIGNER, slots=2, settings=query_settings(settings))
    await worker.start()
    gateway = Gateway(settings, database, broker, Clock())
    address = await gateway.start()
    async with aiohttp.ClientSession(address) as client_session:
        yield client_session
    await gateway.stop()
    await worker.stop(drain=1)
    await broker.close()


async def post(session: aiohttp.ClientSession, path: str, body: Any) -> tuple[int, Any]:
    """Send a request as the server admin. Return the status and the body of the response."""
    async with session.post(path, json=body, headers=CREDENTIALS) as response:
        return response.status, await response.json()


async def test_a_saved_panel_can_be_queried(session: aiohttp.ClientSession) -> None:
    """Targets of a panel may be expressions or data source queries, and ``queries`` may have more. Other fields of a panel are ignored."""
    targets = [SOURCE, math("C", "$A + $B", hide=False, timeRange={"from": "now-1h"})]
    panel = {
        "type": "timeseries",
        "title": "T",
        "gridPos": {"x": 0},
        "targets": targets,
        "queries": [{**SOURCE, "refId": "B", "hide": True}],
    }
    status, body = await post(session, "/api/panels/query", {**panel, "from": "now-1h", "to": "now"})
    assert status == 200, body
    assert list(body["results"]) == ["A", "C"]
    assert body["results"]["C"]["frames"][0]["data"]["values"] == [[1000, 2000], [2, 6]]


@pytest.mark.parametrize(
    ("target", "pointer"),
    [
        (math("B", "1", intervalMs=1000), "/targets/1/intervalMs"),
        (math("B", "1", datasource={"type": "__expr__", "name": "x"}), "/targets/1/datasource/name"),
        (math("B", "1", datasource="__expr__"), "/targets/1/datasource"),
        (math("B", "1", hide="yes"), "/targets/1/hide"),
        (math("B", "1", timeRange={"from": 5}), "/targets/1/timeRange/from"),
        ({"refId": "B", "type": "reduce", "expression": "A", "reducer": "LAST"}, "/targets/1/reducer"),
        ({"refId": "B", "type": "reduce", "expression": "A", "reducer": "last", "settings": {"mode": "x"}}, "/targets/1/settings/mode"),
        ({"type": "math", "expression": "1"}, "/targets/1/refId"),
        (math("B", "1", **{"a/b~": 1}), "/targets/1/a~1b~0"),
        ({"refId": "B", "type": "maths", "expression": "1"}, "/targets/1/type"),
        ("B", "/targets/1"),
    ],
)
async def test_unlisted_panel_fields_are_rejected(session: aiohttp.ClientSession, target: Any, pointer: str) -> None:
    """A panel with a field that violates the schema, at any depth, is rejected with the field's JSON pointer, even with ``lenient``."""
    for path in ("/api/panels/query", "/api/panels/query?lenient=true"):
        status, body = await post(session, path, {"type": "graph", "targets": [SOURCE, target]})
        assert status == 400
        assert [fault["pointer"] for fault in body["faults"]] == [pointer]
        assert pointer in body["message"]
        assert "results" not in body


async def test_a_validation_returns_all_faults(session: aiohttp.ClientSession) -> None:
    """A validation returns all faults of fields, ranges, syntax and references, each with its pointer, and runs no query."""
    targets = [
        {**SOURCE, "scenarioId": "none such"},
        math("B", "$A +"),
        math("C", "$B + $X", colour="red"),
        math("D", "$E"),
        math("E", "$D", timeRange={"from": "now", "to": "then"}),
    ]
    status, body = await post(session, "/api/panels/validate", {"targets": targets, "from": "now", "to": "now-1h"})
    assert (status, body["valid"]) == (200, False)
    assert [(fault["pointer"], fault.get("position")) for fault in body["faults"]] == [
        ("/type", None),
        ("/to", None),
        ("/targets/2/colour", None),
        ("/targets/4/timeRange/to", None),
        ("/targets/1/expression", 5),
        ("/targets/3/expression", None),
        ("/targets/4/expression", None),
    ]
    assert body["faults"][4]["caret"] == "$A +\n    ^"
    status, body = await post(session, "/api/panels/validate", {"type": "graph", "targets": [SOURCE, math("A", "1")]})
    assert [fault["pointer"] for fault in body["faults"]] == ["/targets/1/refId"]


async def test_a_correct_panel_is_valid(session: aiohttp.ClientSession) -> None:
    """A correct panel with or without targets is valid; a body that is not JSON is 400."""
    for targets in ([], [SOURCE, math("B", "$A")]):
        assert await post(session, "/api/panels/validate", {"type": "graph", "targets": targets}) == (200, {"valid": True, "faults": []})
    async with session.post("/api/panels/validate", data=b"{", headers=CREDENTIALS) as response:
        assert response.status == 400


async def test_the_number_of_targets_is_limited(session: aiohttp.ClientSession) -> None:
    """More targets than the setting allows are rejected at every endpoint, with the limit and the setting's name."""
    queries = [math(f"M{index}", "1") for index in range(6)]
    for path, body in (("/api/ds/query", {"queries": queries}), ("/api/panels/query", {"type": "x", "targets": queries})):
        status, response = await post(session, path, body)
        assert status == 400
        assert "more than the 5 allowed (setting DASHWRIGHT_QUERY_TARGETS)" in response["message"]


async def test_lenient_ignores_unlisted_fields(session: aiohttp.ClientSession) -> None:
    """An unlisted field is 400 with its name. With ``lenient`` the first frame has a notice instead; an empty expression is still 400."""
    target = math("B", "$A", colour="red", timeRange={"from": "now-1h", "zone": "utc"})
    status, body = await post(session, "/api/ds/query", {"queries": [SOURCE, target]})
    assert status == 400
    assert [fault["pointer"] for fault in body["faults"]] == ["/queries/1/timeRange/zone", "/queries/1/colour"]
    status, body = await post(session, "/api/ds/query?lenient=true", {"queries": [SOURCE, target]})
    assert status == 200
    notices = body["results"]["B"]["frames"][0]["schema"]["meta"]["notices"]
    assert [notice["severity"] for notice in notices] == ["warning", "warning"]
    assert "/queries/1/colour" in notices[1]["text"]
    status, body = await post(session, "/api/ds/query?lenient=true", {"queries": [math("B", "", colour="red")]})
    assert [fault["pointer"] for fault in body["faults"]] == ["/queries/0/expression"]
    assert (await post(session, "/api/ds/query?lenient=maybe", {"queries": [target]}))[0] == 400


async def test_an_explanation_describes_all_nodes(session: aiohttp.ClientSession) -> None:
    """An explanation has the order, inputs and outputs of all nodes, the series that unions dropped, and the times."""
    # A second series with the label b.
    frames = [FRAME, json.loads(json.dumps(FRAME).replace('"a"', '"b"'))]
    queries = [
        math("C", "$A + $B"),
        {**SOURCE, "rawFrameContent": json.dumps(frames)},
        {**SOURCE, "refId": "B", "hide": True},
        math("D", "$X"),
    ]
    status, body = await post(session, "/api/ds/query?explain=true", {"queries": queries})
    explained = body["meta"]["explain"]
    assert status == 400
    assert explained["order"] == ["A", "B", "D", "C"]
    assert all(explained["nodes"][ref_id].pop("milliseconds") >= 0 for ref_id in "ABC")
    error_of_d = body["results"]["D"]["error"].removeprefix("[sse.dependencyNotFound] ")
    assert explained["nodes"] == {
        "A": {"kind": "grafana-testdata-datasource", "inputs": [], "output": {"type": "seriesSet", "items": 2, "points": 4}},
        "B": {"kind": "grafana-testdata-datasource", "inputs": [], "output": {"type": "seriesSet", "items": 1, "points": 2}},
        "C": {
            "kind": "math",
            "inputs": [
                {"refId": "A", "type": "seriesSet", "items": 2, "points": 4},
                {"refId": "B", "type": "seriesSet", "items": 1, "points": 2},
            ],
            "output": {"type": "seriesSet", "items": 1, "points": 2},
            "dropped": [{"operation": "$A + $B", "operand": "$A", "count": 1, "items": [{"h": "b"}]}],
        },
        "D": {"kind": "math", "inputs": [{"refId": "X"}], "milliseconds": None, "output": {"error": error_of_d}},
    }
    assert "meta" not in (await post(session, "/api/ds/query", {"queries": queries}))[1]


@pytest.mark.parametrize(
    ("path", "type_schema"),
    [
        ("/api/panels/schema", {"type": "string"}),
        *((f"/api/panels/schema/{kind}", {"type": "string", "enum": [kind]}) for kind in TARGETS),
    ],
)
async def test_schemas_are_published(session: aiohttp.ClientSession, path: str, type_schema: dict[str, Any]) -> None:
    """The JSON schemas of the panel and of each target type are published. The schema of a target type permits only this type."""
    async with session.get(path, headers=CREDENTIALS) as response:
        document = await response.json(content_type="application/schema+json")
    assert (response.status, document["$schema"]) == (200, "http://json-schema.org/draft-04/schema#")
    assert document["properties"]["type"] == type_schema


async def test_an_unknown_schema_is_404(session: aiohttp.ClientSession) -> None:
    """A request for the schema of an unknown type is 404, and the message names the known types."""
    async with session.get("/api/panels/schema/maths", headers=CREDENTIALS) as response:
        assert response.status == 404
        assert "classic_conditions" in (await response.json())["message"]


class FailingSource(Source):
    """Data source whose queries all raise an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def health(self) -> str:
        return ""

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        raise self._error


@pytest.mark.parametrize("path", ["/api/ds/query", "/api/panels/query"])
async def test_a_bug_is_a_500_with_a_trace_id(session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """An unexpected exception is a 500 with a trace id and without its message or stack."""
    monkeypatch.setitem(registry.BUILT_IN, "broken", FailingSource(RuntimeError("secret")))
    query = {"refId": "A", "datasource": {"type": "broken", "uid": "x"}}
    status, body = await post(session, path, {"type": "graph", "targets": [query], "queries": [{**query, "refId": "B"}]})
    assert status == 500
    assert len(body["traceID"]) == 32
    assert "secret" not in str(body)


async def test_a_bug_within_a_ref_id_has_only_a_trace_id(session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception of a refId is 500 with a trace id, for this refId and those that read it. Other refIds have results."""
    monkeypatch.setitem(registry.BUILT_IN, "broken", FailingSource(DashwrightError("secret")))
    query = {"refId": "A", "datasource": {"type": "broken", "uid": "x"}}
    status, body = await post(session, "/api/ds/query?explain=true", {"queries": [query, math("B", "1"), math("C", "$A")]})
    assert status == 400
    assert {ref_id: result["status"] for ref_id, result in body["results"].items()} == {"A": 500, "B": 200, "C": 500}
    assert "trace id" in body["results"]["A"]["error"]
    assert "secret" not in str(body)


async def test_a_query_is_counted_once(session: aiohttp.ClientSession) -> None:
    """A query increments the metric once although gateway and worker share it in one process."""

    def query_count() -> float:
        """Return how many successful queries were counted in this process."""
        return REGISTRY.get_sample_value("dashwright_queries_total", {"status": "200"}) or 0

    before = query_count()
    status, _ = await post(session, "/api/ds/query", {"queries": [math("A", "1 + 1")]})
    assert (status, query_count() - before) == (200, 1)


#: A table of one visible query and one hidden query.
TRANSFORMED_PANEL = {"type": "table", "targets": [SOURCE, {**SOURCE, "refId": "B", "hide": True}]}


async def test_a_panel_has_transformed_frames_on_request(session: aiohttp.ClientSession) -> None:
    """With ``transform=true``, the response has the transformed frames of visible queries next to the unchanged results."""
    steps = [{"id": "reduce", "options": {"reducers": ["max"]}}, {"id": "organize", "options": {"renameByName": {"Max": "Peak"}}}]
    panel = {**TRANSFORMED_PANEL, "transformations": steps}
    status, body = await post(session, "/api/panels/query?transform=true", panel)
    assert status == 200
    assert body["results"]["A"]["frames"][0]["data"]["values"] == [[1000, 2000], [1, 3]]
    (frame,) = body["transformed"]["frames"]
    assert [(field["name"], field["type"], field.get("config")) for field in frame["schema"]["fields"]] == [
        ("Field", "string", None),
        ("Max", "number", {"displayName": "Peak"}),
    ]
    assert frame["data"]["values"] == [["v a"], [3]]
    status, body = await post(session, "/api/panels/query", panel)
    assert status == 200
    assert "transformed" not in body


async def test_failed_and_unknown_transformations_are_reported(session: aiohttp.ClientSession) -> None:
    """An unknown transformation is a notice. One that fails is an error that names it, next to complete results."""
    status, body = await post(session, "/api/panels/query?transform=true", {**TRANSFORMED_PANEL, "transformations": [{"id": "spatial"}]})
    assert status == 200
    assert body["transformed"]["frames"] == [body["results"]["A"]["frames"][0]]
    text = "transformations that are not supported were left out: spatial: shapes on maps are not calculated"
    assert body["transformed"]["notices"] == [{"severity": "warning", "text": text}]
    failing = {"id": "renameByRegex", "options": {"regex": "/("}}
    status, body = await post(session, "/api/panels/query?transform=true", {**TRANSFORMED_PANEL, "transformations": [failing]})
    assert status == 400
    assert body["message"] == f"transformations: {body['transformed']['error']}"
    assert body["transformed"]["error"].startswith("transformation 1 (renameByRegex): '/(' is not a regular expression")
    assert body["transformed"]["frames"] == []
    assert len(body["results"]["A"]["frames"]) == 1


async def test_transformed_frames_are_json(session: aiohttp.ClientSession) -> None:
    """Transformed frames are JSON only: a request that accepts only Arrow streams is refused."""
    headers = {**CREDENTIALS, "Accept": "application/vnd.apache.arrow.stream"}
    async with session.post("/api/panels/query?transform=true", json=TRANSFORMED_PANEL, headers=headers) as response:
        assert response.status == 400
        assert "transformed frames are JSON only" in (await response.json())["message"]
