"""Queries of a request are sent to the data sources that they name, if the caller may query them, once and within their time-outs."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest
from tests.unit.expressions.sources.records import MemoryRecords, source_record

from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.registry import SourceRegistry
from dashwright.expressions.sources.source import Source

# A frame with one point, whose value is a placeholder.
FRAME = '[{"schema":{"fields":[{"name":"t","type":"time"},{"name":"v","type":"number"}]},"data":{"values":[[1000],[%d]]}}]'


@dataclass
class CountedSources:
    """Data sources of the type ``counted``, whose results are the number of queries so far."""

    records: MemoryRecords
    #: Uid, query and limits of each query to a data source.
    sent_queries: list[tuple[str, SourceQuery, Limits]] = field(default_factory=list)
    #: Function of the uid, which may wait or raise an error before each response.
    before_response: Callable[[str], Any] | None = None
    #: Uids of cancelled queries.
    cancelled: list[str] = field(default_factory=list)
    settings: QuerySettings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = QuerySettings(sources=SourceRegistry({"counted": self._create_source}, self.records, seconds=30))

    def _create_source(self, record: SourceRecord) -> "CountedSource":
        return CountedSource(self, record)

    async def send_queries(
        self, *queries: dict[str, Any], endpoint: QueryEndpoint = QueryEndpoint.QUERY, **context: Any
    ) -> tuple[int, Any]:
        """Return the status and body of the response to queries, by default of a caller in organization 1."""
        body = orjson.dumps({"queries": list(queries), "from": "10000", "to": "20000"})
        response = await respond(body, QueryContext(endpoint, **{"org_id": 1, **context}), self.settings)
        assert isinstance(response.body, bytes)
        return int(response.headers["status"]), orjson.loads(response.body)


@dataclass
class CountedSource(Source):
    """One data source of the type ``counted``."""

    sources: CountedSources
    record: SourceRecord

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Record the query, and a cancellation of it, and return a frame with the number of queries."""
        self.sources.sent_queries.append((self.record.uid, query, limits))
        try:
            if self.sources.before_response is not None:
                await self.sources.before_response(self.record.uid)
        except asyncio.CancelledError:
            self.sources.cancelled.append(self.record.uid)
            raise
        return read_frames(FRAME % len(self.sources.sent_queries))

    async def health(self) -> str:
        """Return the message of a healthy data source, after ``before_response``."""
        if self.sources.before_response is not None:
            await self.sources.before_response(self.record.uid)
        return "it works"


@pytest.fixture
def sources() -> CountedSources:
    """Return data sources of two organizations, of a known, an unknown and the built-in type."""
    return CountedSources(
        MemoryRecords(
            [
                source_record("", "a", id=1, name="Alpha", type="counted"),
                source_record("", "b", id=2, name="Beta", type="counted"),
                source_record("", "odd", id=3, type="mystery"),
                source_record("", "test", id=4, type="grafana-testdata-datasource"),
                source_record("", "a", id=5, org_id=2, type="counted"),
                source_record("", "other-org", id=6, org_id=2, type="counted"),
            ]
        )
    )


def query(ref_id: str, datasource: Any, **fields: Any) -> dict[str, Any]:
    """Return a query to a data source."""
    return {"refId": ref_id, "datasource": datasource, **fields}


def result_value(body: Any, ref_id: str) -> float:
    """Return the only value of a result, which is the number of the query that produced it."""
    number: float = body["results"][ref_id]["frames"][0]["data"]["values"][1][0]
    return number


async def test_a_data_source_is_found_by_its_uid_or_name(sources: CountedSources) -> None:
    """A data source that is text is a uid or, in old panels, a name. The type is that of the record, not that of the query.

    Equal queries are sent once, and each record is read once.
    """
    status, body = await sources.send_queries(
        query("A", {"uid": "a"}),
        query("B", "Beta"),
        query("C", {"type": "counted", "uid": "a"}, x=1),
        query("D", {"type": "mysql", "uid": "a"}),
        query("E", {"uid": "test"}, scenarioId="no_data_points"),
        query("F", {"type": "grafana-testdata-datasource", "uid": "nowhere"}, scenarioId="no_data_points"),
        explain=True,
    )
    assert status == 200, body
    assert [uid for uid, *_ in sources.sent_queries] == ["a", "b", "a"]
    assert sources.records.lookups.count((1, "a")) == 1
    types_by_ref_id = {ref_id: node["kind"] for ref_id, node in body["meta"]["explain"]["nodes"].items()}
    assert types_by_ref_id == dict.fromkeys("ABCD", "counted") | dict.fromkeys("EF", "grafana-testdata-datasource")


@pytest.mark.parametrize(
    ("datasource", "context", "message"),
    [
        ({"uid": "gone"}, {}, "no data source with the uid (or name) 'gone' in this organization; GET /api/datasources lists"),
        ({"uid": "other-org"}, {}, "no data source with the uid (or name) 'other-org'"),
        ({"uid": "a"}, {"org_id": 0}, "no data source with the uid (or name) 'a'"),
        ({"type": "counted"}, {}, "names the type 'counted' but no data source"),
        ({"uid": "odd"}, {}, "'mystery', which is not supported; supported types are grafana-testdata-datasource, counted"),
        ({"uid": "b"}, {"uids": frozenset({"a"})}, "'b' is not among those that you may query"),
        ({"uid": "gone"}, {"uids": frozenset({"a"})}, "'gone' is not among those that you may query"),
        ("Beta", {"uids": frozenset()}, "'Beta' is not among those that you may query"),
    ],
)
async def test_a_missing_data_source_is_an_error_of_its_ref_id(
    sources: CountedSources, datasource: Any, context: dict[str, Any], message: str
) -> None:
    """The error of a missing data source names it and what to do. It does not reveal data sources that the caller may not query."""
    status, body = await sources.send_queries(query("A", datasource), query("B", {"uid": "a"}, hide=True), **context)
    assert status == 400
    assert body["results"]["A"]["status"] == 400
    assert message in body["results"]["A"]["error"]
    assert sources.sent_queries == []
    # A look-up decrypts secrets, so data sources that the caller may not query are not looked up.
    if "uids" in context:
        assert all(uid in context["uids"] for _, uid in sources.records.lookups)


async def test_permitted_data_sources_can_be_queried(sources: CountedSources) -> None:
    """A permitted data source can be queried by uid and by name."""
    status, _ = await sources.send_queries(query("A", {"uid": "a"}), query("B", "Alpha", x=1), uids=frozenset({"a"}))
    assert status == 200


async def test_queries_run_concurrently(sources: CountedSources) -> None:
    """Queries to one or several sources do not wait for each other."""
    # Each query waits until all three have arrived.
    barrier = asyncio.Barrier(3)
    sources.before_response = lambda uid: barrier.wait()
    status, _ = await sources.send_queries(query("A", {"uid": "a"}), query("B", {"uid": "b"}), query("C", {"uid": "a"}, other=True))
    assert status == 200


async def test_equal_queries_are_sent_once(sources: CountedSources) -> None:
    """Queries that differ only in their refId are sent once. Queries with another range, property or data source are different."""
    status, body = await sources.send_queries(
        query("A", {"uid": "a"}, x=[1, {"y": None}]),
        query("B", {"uid": "a", "type": "counted"}, x=[1, {"y": None}]),
        query("C", {"uid": "a"}, x=[1]),
        query("D", {"uid": "a"}, x=[1, {"y": None}], timeRange={"from": "0", "to": "10000"}),
        query("E", {"uid": "b"}, x=[1, {"y": None}]),
        query("F", {"uid": "a"}, x=[1, {"y": None}], intervalMs=7),
        explain=True,
    )
    assert status == 200
    assert len(sources.sent_queries) == 5
    assert result_value(body, "A") == result_value(body, "B")
    nodes = body["meta"]["explain"]["nodes"]
    assert [nodes[ref_id]["cache"] for ref_id in "ABC"] == ["miss", "hit", "miss"]
    assert {frame["schema"]["refId"] for ref_id in "AB" for frame in body["results"][ref_id]["frames"]} == {"A", "B"}


async def test_a_result_is_cached_for_the_next_request(sources: CountedSources) -> None:
    """A result is cached for its organization until the data source changes. A request for fresh results bypasses the cache."""
    for _ in range(2):
        await sources.send_queries(query("A", {"uid": "a"}))
    assert len(sources.sent_queries) == 1
    status, body = await sources.send_queries(query("A", {"uid": "a"}), fresh=True, explain=True)
    assert status == 200
    assert body["meta"]["explain"]["nodes"]["A"]["cache"] == "miss"
    assert len(sources.sent_queries) == 2
    await sources.send_queries(query("A", {"uid": "a"}), org_id=2)
    assert len(sources.sent_queries) == 3
    sources.records.records[0] = source_record("", "a", id=1, type="counted", version=2)
    await sources.send_queries(query("A", {"uid": "a"}))
    assert len(sources.sent_queries) == 4


async def test_an_expression_does_not_change_cached_frames(sources: CountedSources) -> None:
    """After an expression has read cached frames, a request with the same query has the same result."""
    expressions: list[dict[str, Any]] = [
        {"refId": "M", "type": "math", "expression": "$A * 2 + abs($A)"},
        {"refId": "S", "type": "resample", "expression": "A", "window": "1s", "downsampler": "mean", "upsampler": "pad"},
        {"refId": "R", "type": "reduce", "expression": "M", "reducer": "mean", "settings": {"mode": "replaceNN", "replaceWithValue": 1}},
    ]
    first_status, first_body = await sources.send_queries(query("A", {"uid": "a"}), *expressions)
    assert first_status == 200
    second_status, second_body = await sources.send_queries(query("A", {"uid": "a"}), *expressions)
    assert second_status == 200
    assert second_body == first_body
    assert len(sources.sent_queries) == 1


async def test_a_failing_source_is_an_error_of_its_ref_id(sources: CountedSources) -> None:
    """The error of a failing data source is that of its refId. It is not cached: the next request queries the data source again."""

    async def fail(uid: str) -> None:
        if uid == "a":
            raise SourceFailed("gone away")

    sources.before_response = fail
    for query_count in (2, 3):
        status, body = await sources.send_queries(query("A", {"uid": "a"}), query("B", {"uid": "b"}))
        assert status == 400
        failure = {"error": "[sse.dataQueryError] failed to execute query [A]: gone away", "errorSource": "downstream", "status": 502}
        assert body["results"]["A"] == {**failure, "frames": []}
        assert body["results"]["B"]["status"] == 200
        assert len(sources.sent_queries) == query_count


async def test_a_slow_source_times_out(sources: CountedSources) -> None:
    """A query is cancelled after the time-out of its data source, a number or string. Other queries are unaffected."""
    sources.records.records[0] = source_record("", "a", id=1, name="Alpha", type="counted", json_data={"timeout": "0.01"})

    async def wait(uid: str) -> None:
        if uid == "a":
            await asyncio.Event().wait()

    sources.before_response = wait
    status, body = await sources.send_queries(query("A", {"uid": "a"}), query("B", {"uid": "b"}))
    assert status == 400
    assert body["results"]["A"]["status"] == 504
    assert "'Alpha' did not respond within 0.01 s (jsonData.timeout" in body["results"]["A"]["error"]
    assert "DASHWRIGHT_SOURCE_SECONDS" in body["results"]["A"]["error"]
    assert body["results"]["B"]["status"] == 200
    assert sources.cancelled == ["a"]


@pytest.mark.parametrize("datasource", [{"uid": "a"}, {"type": "grafana-testdata-datasource"}])
async def test_no_source_has_time_beyond_the_deadline_of_the_request(sources: CountedSources, datasource: Any) -> None:
    """A data source has no time beyond the deadline of the request, even if its own limit is longer. The error names the deadline."""
    sources.before_response = lambda uid: asyncio.Event().wait()
    sources.settings = QuerySettings(seconds=0.3, sources=sources.settings.sources)
    status, body = await sources.send_queries(query("A", datasource, scenarioId="slow_query", stringInput="20s"))
    assert status == 400
    assert body["results"]["A"]["status"] == 504
    assert "DASHWRIGHT_EVALUATION_SECONDS" in body["results"]["A"]["error"]
    await asyncio.sleep(0)
    assert sources.cancelled == (["a"] if "uid" in datasource else [])


async def test_a_disconnected_caller_cancels_its_queries(sources: CountedSources) -> None:
    """The queries of a disconnected caller are cancelled, unless another caller waits for the same result."""
    has_started = asyncio.Event()
    may_continue = asyncio.Event()

    async def wait(uid: str) -> None:
        has_started.set()
        await may_continue.wait()

    sources.before_response = wait
    # Both requests have the same queries, except for a refId.
    first, second = (asyncio.create_task(sources.send_queries(query("A", {"uid": "a"}), query(ref_id, {"uid": "b"}))) for ref_id in "BC")
    await has_started.wait()
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    await asyncio.sleep(0)
    assert sources.cancelled == []
    second.cancel()
    await asyncio.wait([second])
    # A cancellation reaches the data source after several rounds of the event loop.
    for _ in range(3):
        await asyncio.sleep(0)
    assert sorted(sources.cancelled) == ["a", "b"]


async def test_a_query_has_the_requested_number_of_points(sources: CountedSources) -> None:
    """Without ``maxDataPoints``, a query has 100 points, or 5,000 in a request with expressions. The interval has no default."""
    await sources.send_queries(query("A", {"uid": "a"}), query("B", {"uid": "a"}, maxDataPoints=7))
    await sources.send_queries(query("A", {"uid": "b"}), {"refId": "C", "type": "math", "expression": "$A"})
    assert [source_query.max_data_points for _, source_query, _ in sources.sent_queries] == [100, 7, 5000]
    assert [source_query.interval_ms for _, source_query, _ in sources.sent_queries] == [None] * 3


async def test_unneeded_queries_are_not_sent(sources: CountedSources) -> None:
    """A hidden query that no visible expression reads is neither looked up nor sent."""
    status, _ = await sources.send_queries(query("A", {"uid": "gone"}, hide=True), query("B", {"uid": "b"}))
    assert status == 200
    assert sources.records.lookups == [(1, "b")]


async def health(sources: CountedSources, body: Any, **context: Any) -> tuple[int, Any]:
    """Return the status and body of the response to a health check."""
    response = await respond(orjson.dumps(body), QueryContext(QueryEndpoint.HEALTH, **{"org_id": 1, **context}), sources.settings)
    assert isinstance(response.body, bytes)
    return int(response.headers["status"]), orjson.loads(response.body)


async def test_health_is_a_sentence(sources: CountedSources) -> None:
    """A health check returns the sentence of the data source, or the reason why it does not work."""
    assert await health(sources, {"uid": "a"}) == (200, {"status": "OK", "message": "it works"})
    assert await health(sources, {"uid": "test"}) == (200, {"status": "OK", "message": "Data source is working"})

    async def fail(uid: str) -> None:
        raise SourceFailed("gone away") if uid == "a" else BadRequest("correct its address")

    sources.before_response = fail
    assert await health(sources, {"uid": "a"}) == (400, {"status": "ERROR", "message": "gone away"})
    assert await health(sources, {"uid": "b"}) == (400, {"status": "ERROR", "message": "correct its address"})


async def test_secrets_that_cannot_be_read_are_an_error_of_their_data_source(
    sources: CountedSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets that cannot be read are an error of their data source, and the other queries of the request run."""
    original = MemoryRecords.find

    async def fail_to_open(self: MemoryRecords, org_id: int, uid: str) -> SourceRecord | None:
        if uid == "a":
            raise SourceFailed("the secrets do not open")
        return await original(self, org_id, uid)

    monkeypatch.setattr(MemoryRecords, "find", fail_to_open)
    status, body = await sources.send_queries(query("A", {"uid": "a"}), query("B", {"uid": "b"}))
    assert status == 400
    assert body["results"]["A"]["status"] == 502
    assert body["results"]["B"]["status"] == 200
    assert await health(sources, {"uid": "a"}) == (400, {"status": "ERROR", "message": "the secrets do not open"})


async def test_a_health_check_times_out(sources: CountedSources) -> None:
    """A health check ends after the time-out of the data source."""
    sources.before_response = lambda uid: asyncio.Event().wait()
    sources.records.records[0] = source_record("", "a", id=1, type="counted", json_data={"timeout": 0.01})
    status, body = await health(sources, {"uid": "a"})
    assert status == 400
    assert body["status"] == "ERROR"
    assert "did not respond within 0.01 s" in body["message"]


@pytest.mark.parametrize(
    ("body", "context", "status"),
    [
        ({"uid": "gone"}, {}, 400),
        ({"uid": "other-org"}, {}, 400),
        ({"uid": "b"}, {"uids": frozenset("a")}, 403),
        ({}, {}, 400),
        ([], {}, 400),
    ],
)
async def test_health_of_an_unknown_source_is_rejected(sources: CountedSources, body: Any, context: dict[str, Any], status: int) -> None:
    """The health check of a data source that is unknown or not permitted is an error, not a result with the status ``ERROR``."""
    actual_status, response = await health(sources, body, **context)
    assert actual_status == status
    assert "status" not in response


@pytest.mark.parametrize("uids", [None, frozenset[str](), frozenset({"a", "b\nc", 'd"'})])
def test_the_context_is_sent_as_headers(uids: frozenset[str] | None) -> None:
    """The context of a query is read from its headers unchanged. Missing headers have defaults."""
    context = QueryContext(QueryEndpoint.HEALTH, org_id=7, uids=uids, fresh=True, accept="x")
    assert QueryContext.from_headers(context.headers()) == context
    assert QueryContext.from_headers({}) == QueryContext(readable=frozenset())
