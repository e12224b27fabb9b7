"""The response to queries and expressions is JSON with results, warnings and errors by refId."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import time_machine

from dashwright.common.messaging.rpc import Reply
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.queries import respond

TESTDATA = {"type": "grafana-testdata-datasource", "uid": "any"}
EXPRESSION = {"type": "__expr__", "uid": "__expr__"}
TIMES = [1000, 2000, 3000]


def series(values: list[Any], **labels: str) -> dict[str, Any]:
    """Return a frame with one series of three points."""
    fields = [{"name": "time", "type": "time"}, {"name": "v", "type": "number", "labels": labels}]
    return {"schema": {"fields": fields}, "data": {"values": [TIMES, values]}}


def raw_query(ref_id: str, *frames: Any, **fields: Any) -> dict[str, Any]:
    """Return a query whose result is these frames."""
    return {
        "refId": ref_id,
        "datasource": TESTDATA,
        "scenarioId": "raw_frame",
        "rawFrameContent": json.dumps(frames),
        **fields,
    }


def math_query(ref_id: str, text: str, **fields: Any) -> dict[str, Any]:
    """Return a math expression, or one of another type by ``type``."""
    return {"refId": ref_id, "datasource": EXPRESSION, "type": "math", "expression": text, **fields}


async def body_of(response: Reply) -> bytes:
    """Return the body of a response, whole or streamed."""
    if isinstance(response.body, AsyncIterator):
        return b"".join([chunk async for chunk in response.body])
    return response.body


async def send_queries(*queries: Any, **fields: Any) -> tuple[int, Any]:
    """Return the status and body of the response to queries. The fields are further members of the request."""
    response = await respond(orjson.dumps({"queries": queries, **fields}))
    assert response.headers["content_type"] == "application/json"
    return int(response.headers["status"]), orjson.loads(await body_of(response))


async def error_of(ref_id: str, *queries: Any) -> str:
    """Return the error of one refId, which the message of the response contains, too."""
    status, body = await send_queries(*queries)
    assert status == 400
    result = body["results"][ref_id]
    assert result["status"] == 400
    assert result["frames"] == []
    assert result["errorSource"] == "plugin"
    assert result["error"] in body["message"]
    return str(result["error"])


async def test_queries_and_expressions_have_one_response() -> None:
    """Results are sorted by refId. Frames of queries are unchanged, and the value fields of expressions are named by their refId."""
    status, body = await send_queries(math_query("C", "$B * 2"), raw_query("A", series([1, None, 3], h="a")), math_query("B", "$A + 1"))
    assert status == 200
    assert list(body) == ["results"]
    assert list(body["results"]) == ["A", "B", "C"]
    assert body["results"]["A"]["frames"][0]["data"] == {"values": [TIMES, [1, None, 3]]}
    assert body["results"]["A"]["frames"][0]["schema"]["refId"] == "A"
    assert body["results"]["C"] == {
        "status": 200,
        "frames": [
            {
                "schema": {
                    "refId": "C",
                    "meta": {"type": "timeseries-multi", "typeVersion": [0, 1]},
                    "fields": [
                        {"name": "Time", "type": "time", "typeInfo": {"frame": "time.Time"}},
                        {"name": "C", "type": "number", "typeInfo": {"frame": "float64", "nullable": True}, "labels": {"h": "a"}},
                    ],
                },
                "data": {"values": [TIMES, [4, None, 8]]},
            }
        ],
    }


async def test_numbers_scalars_and_no_data_have_different_frames() -> None:
    """A number is a frame with one field with labels, and a scalar is a frame with one field without labels.

    No data is a frame without fields. An empty set has no frame.
    """
    _, body = await send_queries(
        raw_query("A", series([1, 2, 3], h="a"), series([4, 5, 6], h="b")),
        # N has no data.
        raw_query("N", hide=True),
        math_query("R", "ignored", type="reduce", expression="A", reducer="sum"),
        math_query("S", "1 / 0"),
        math_query("X", "$N + 1"),
        # The series of A and R2 have no common labels, so the sum has no series.
        math_query("E", "$A + $R2"),
        raw_query("R2", series([1, 1, 1], z="1"), series([1, 1, 1], z="2")),
    )
    results = body["results"]
    assert [frame["data"] for frame in results["R"]["frames"]] == [{"values": [[6]]}, {"values": [[15]]}]
    assert results["R"]["frames"][1]["schema"]["meta"] == {"type": "numeric-multi", "typeVersion": [0, 1]}
    assert results["R"]["frames"][1]["schema"]["fields"][0]["labels"] == {"h": "b"}
    assert results["S"]["frames"][0]["data"] == {"values": [[None]], "entities": [{"Inf": [0]}]}
    assert "labels" not in results["S"]["frames"][0]["schema"]["fields"][0]
    assert results["X"]["frames"] == [{"schema": {"name": "no data", "refId": "X", "fields": []}, "data": {"values": []}}]
    assert results["E"]["frames"] == []


async def test_a_warning_is_a_notice_of_the_first_frame() -> None:
    """The warning of items without a partner in a union is a notice of the first frame of the result only."""
    _, body = await send_queries(
        raw_query("A", series([1, 2, 3], h="a"), series([1, 2, 3], h="b"), series([1, 2, 3], h="c")),
        raw_query("B", series([1, 2, 3], h="a"), series([1, 2, 3], h="b")),
        math_query("C", "$A + $B"),
    )
    first, second = body["results"]["C"]["frames"]
    assert first["schema"]["meta"]["notices"] == [
        {"severity": "warning", "text": '1 items dropped from union(s): ["$A + $B": ($A: {h=c})]'}
    ]
    assert "notices" not in second["schema"]["meta"]


@pytest.mark.parametrize(("version", "severities"), [([0, 1], []), ([0, 2], ["warning"]), ([1, 0], ["warning"])])
async def test_frames_of_a_newer_version_cause_a_warning(version: list[int], severities: list[str]) -> None:
    """Expressions read frames of a newer version than 0.1. If an expression reads such frames, they have a warning in the response."""
    frame = series([1, 2, 3])
    frame["schema"]["meta"] = {"type": "timeseries-multi", "typeVersion": version}
    status, body = await send_queries(raw_query("A", frame), raw_query("B", frame), math_query("C", "$A + 1"))
    assert status == 200
    notices_of_read_query, notices_of_unread_query, _ = (
        body["results"][ref_id]["frames"][0]["schema"]["meta"].get("notices", []) for ref_id in "ABC"
    )
    assert notices_of_unread_query == []
    assert [notice["severity"] for notice in notices_of_read_query] == severities
    assert body["results"]["C"]["frames"][0]["data"]["values"][1] == [2, 3, 4]


async def test_an_error_affects_its_ref_id_and_dependents() -> None:
    """A failed target and its dependents have errors. Other targets have results, and the response is 400 with a message."""
    status, body = await send_queries(
        raw_query("A", series([1, 2, 3])),
        math_query("B", "$A +"),
        math_query("C", "$B"),
        math_query("D", "$A"),
    )
    assert status == 400
    assert "failed to parse expression 'B': invalid math command: expr: unexpected EOF" in body["results"]["B"]["error"]
    assert body["results"]["C"]["error"].startswith("[sse.dependencyError] did not execute expression [C]")
    assert "[B]" in body["results"]["C"]["error"]
    assert body["results"]["D"]["status"] == 200
    assert body["message"].startswith("B: ")


async def test_an_invalid_graph_is_an_error() -> None:
    """Missing nodes, self references and cycles are errors of the nodes that have them."""
    assert "unable to find dependent node 'X'" in await error_of("A", math_query("A", "$X"))
    assert "'A' cannot reference itself" in await error_of("A", math_query("A", "$A"))
    cycle = (math_query("A", "$B"), math_query("B", "$C"), math_query("C", "$A"), math_query("D", "1"))
    assert "cyclic components: B -> C -> A -> B" in await error_of("B", *cycle)


async def test_a_warning_of_a_result_without_frames_is_on_the_result() -> None:
    """A warning about a union without pairs, or a query without frames, is a notice of the result, because it has no frame."""
    queries = [
        raw_query("A", series([1, 2, 3], h="a"), series([1, 2, 3], h="b")),
        raw_query("B", series([1, 2, 3], h="c"), series([1, 2, 3], h="d")),
    ]
    _, body = await send_queries(*queries, math_query("C", "$A + $B"), math_query("D", "$C + 1"))
    text = '4 items dropped from union(s): ["$A + $B": ($A: {h=a} {h=b}) ($B: {h=c} {h=d})]'
    assert body["results"]["C"] == {"status": 200, "notices": [{"severity": "warning", "text": text}], "frames": []}
    assert body["results"]["D"] == {"status": 200, "frames": []}
    query_with_ignored_field = raw_query("E", timeRange={"zone": "utc"})
    response = await respond(orjson.dumps({"queries": [query_with_ignored_field]}), QueryContext(lenient=True))
    notices = orjson.loads(await body_of(response))["results"]["E"]["notices"]
    assert [notice["text"] for notice in notices] == ["/queries/0/timeRange/zone is not a known property and was ignored"]


async def test_unneeded_hidden_targets_do_not_run() -> None:
    """A hidden target runs only if a visible target reads it, directly or through others.

    The explanation lists only the targets that ran.
    """
    queries = [
        raw_query("A", series([1, 2, 3]), hide=True),
        raw_query("unread", series([1, 2, 3]), hide=True),
        math_query("deep", "$A", hide=True),
        math_query("B", "$deep"),
        math_query("also", "$unread", hide=True),
    ]
    response = await respond(orjson.dumps({"queries": queries}), QueryContext(explain=True))
    body = orjson.loads(await body_of(response))
    assert list(body["results"]) == ["B"]
    assert body["meta"]["explain"]["order"] == ["A", "deep", "B"]
    assert list(body["meta"]["explain"]["nodes"]) == ["A", "deep", "B"]


async def test_hidden_targets_are_not_in_the_response() -> None:
    """Hidden targets are evaluated for the targets that read them. A fault of a hidden target matters only if a visible target reads it."""
    status, body = await send_queries(
        raw_query("A", series([1, 2, 3]), hide=True), math_query("B", "$A"), math_query("H", "1 +", hide=True)
    )
    assert status == 200
    assert list(body["results"]) == ["B"]
    status, body = await send_queries(math_query("H", "1 +", hide=True), math_query("B", "$H"))
    assert status == 400
    assert list(body["results"]) == ["B"]


async def test_a_query_that_no_expression_can_read_keeps_its_frames() -> None:
    """If an expression cannot read a query, the query has its frames and an error. Without such an expression, the query has no error."""
    table = {
        "schema": {"fields": [{"name": "a", "type": "number"}, {"name": "b", "type": "number"}, {"name": "s", "type": "string"}]},
        "data": {"values": [[1], [2], ["x"]]},
    }
    status, body = await send_queries(raw_query("A", table), math_query("B", "$A"))
    assert status == 400
    assert "[sse.readDataError] failed to read data from query A: input data must be a wide series" in body["results"]["A"]["error"]
    assert len(body["results"]["A"]["frames"]) == 1
    assert "sse.dependencyError" in body["results"]["B"]["error"]
    status, _ = await send_queries(raw_query("A", table), math_query("B", "1"))
    assert status == 200


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ({"rawFrameContent": "{"}, "failed to execute query [A]: the frames are not JSON"),
        ({"rawFrameContent": 1}, "rawFrameContent must be text"),
        ({"scenarioId": "streaming_client"}, "scenario 'streaming_client'"),
        ({"datasource": {"type": "mysql", "uid": "x"}}, "there is no data source with the uid (or name) 'x'"),
    ],
)
async def test_a_query_that_fails_is_an_error_on_its_ref_id(query: dict[str, Any], fault: str) -> None:
    """The error of a data source is reported at the refId of its query, and does not affect other results."""
    assert fault in await error_of("A", {**raw_query("A"), **query}, math_query("B", "1"))


async def test_disabled_sql_names_its_setting() -> None:
    """The refId of a SQL target has an error that names the setting which enables SQL."""
    target = {"refId": "B", "type": "sql", "datasource": EXPRESSION, "expression": "SELECT 1"}
    message = await error_of("B", target, math_query("C", "1"))
    assert message.startswith("[sse.sql.disabled] sql expressions are disabled")
    assert "DASHWRIGHT_FEATURES=sqlExpression" in message


@pytest.mark.parametrize(
    ("body", "message_id", "fault"),
    [
        (b"{", "bad-request", "not JSON"),
        (b"[]", "bad-request", "must be an object"),
        (b"{}", "query.noQueries", "No queries found"),
        (b'{"queries":[]}', "query.noQueries", "No queries found"),
        (b'{"queries":[1]}', "bad-request", "/queries/0"),
        (b'{"queries":[{"refId":"Q"}]}', "query.invalidDatasourceId", "query Q"),
        (b'{"queries":[{"type":"math","expression":"1"},{"type":"math","expression":"2"}]}', "query.duplicateRefId", "refId A"),
        (b'{"queries":[{"refId":"Q","type":"math","expression":""}]}', "query.invalid", "query Q: /queries/0/expression"),
        (b'{"queries":[{"refId":"Q","type":"math"}]}', "query.invalid", "query Q: /queries/0/expression"),
        (b'{"queries":[{"refId":"Q","type":"math","expression":"1"}],"from":"then"}', "bad-request", "from 'then' is not a time"),
        (b'{"queries":[{"refId":"Q","type":"math","expression":"1"}],"from":"now","to":"now-1h"}', "bad-request", "range is empty"),
        (
            b'{"queries":[{"refId":"Q","type":"math","expression":"1","timeRange":{"from":"?"}}]}',
            "bad-request",
            "query Q: /queries/0/timeRange/from: from '?' is not a time",
        ),
    ],
)
async def test_an_invalid_request_is_rejected(body: bytes, message_id: str, fault: str) -> None:
    """The response to an invalid request is an error of the classic API, without results. The message names the invalid target."""
    response = await respond(body)
    error = orjson.loads(await body_of(response))
    assert response.headers["status"] == 400
    assert error.keys() - {"faults"} == {"message", "messageId", "statusCode"}
    assert error["messageId"] == message_id
    assert error["statusCode"] == 400
    assert fault in error["message"]


async def test_a_large_response_is_sent_in_chunks() -> None:
    """A large response is streamed in chunks, which together are complete JSON."""
    count = 150_000
    frame = {
        "schema": {"fields": [{"name": "t", "type": "time"}, {"name": "v", "type": "number"}]},
        "data": {"values": [list(range(count)), [1] * count]},
    }
    response = await respond(orjson.dumps({"queries": [raw_query("A", frame, hide=True), math_query("B", "$A + 1")]}))
    assert isinstance(response.body, AsyncIterator)
    chunks = [chunk async for chunk in response.body]
    assert len(chunks) > 2
    values = orjson.loads(b"".join(chunks))["results"]["B"]["frames"][0]["data"]["values"]
    assert values == [list(range(count)), [2] * count]


async def test_now_is_the_time_of_the_request() -> None:
    """``now``, and the default start before it, refer to the time of the request. A range that ends before it starts is invalid."""
    with time_machine.travel(datetime(2020, 1, 1, tzinfo=UTC), tick=False):
        status, _ = await send_queries(math_query("A", "1"), to="2020-01-01")
        assert status == 200
        status, _ = await send_queries(math_query("A", "1"), **{"from": "now", "to": "2019-12-31"})
        assert status == 400
