"""Every body of a query or panel has a response, and the validation of a panel agrees with its evaluation."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.queries import respond

pytestmark = pytest.mark.exhaustive

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
REF_IDS = st.sampled_from(["A", "B", "C", "", "a b"])
# Values of ``from`` and ``to``.
RANGES = st.sampled_from(["now", "now-1h", "now+1h", "2020", "", "x", 0, None]) | JSON


def any_of(properties: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects with any of these properties. Three of four values are valid, and others are any JSON."""
    return st.fixed_dictionaries({}, optional={name: st.one_of(valid, valid, valid, JSON) for name, valid in properties.items()})


EXPRESSIONS = st.sampled_from(["$A", "$A + $B", "${a b}", "1 +", "A", "$C", "((", "nan()"])
CONDITIONS = st.lists(
    any_of(
        {
            "evaluator": any_of({"type": st.just("gt"), "params": st.just([1])}),
            "operator": any_of({"type": st.just("and")}),
            "query": any_of({"params": st.just(["A"])}),
            "reducer": any_of({"type": st.just("last"), "params": st.just([])}),
            "type": st.just("query"),
        }
    ),
    max_size=2,
)
QUERIES = any_of(
    {
        "refId": REF_IDS,
        "type": st.sampled_from(["math", "math", "reduce", "resample", "classic_conditions", "threshold", "sql", "other"]),
        "datasource": st.sampled_from(
            ["__expr__", "x", {}, {"type": "__expr__"}, {"type": "grafana-testdata-datasource"}, {"uid": "-100"}]
        ),
        "datasourceId": st.sampled_from([-100, 3]),
        "expression": EXPRESSIONS,
        "reducer": st.sampled_from(["last", "LAST"]),
        "settings": st.sampled_from([{}, {"mode": "dropNN"}, {"mode": "replaceNN", "replaceWithValue": 1}]),
        "window": st.sampled_from(["1m", "x"]),
        "downsampler": st.just("mean"),
        "upsampler": st.just("pad"),
        "conditions": CONDITIONS,
        "hide": st.booleans(),
        "timeRange": any_of({"from": RANGES, "to": RANGES}),
        "resultAssertions": any_of({"type": st.just("table"), "typeVersion": st.just([0, 1]), "maxFrames": st.just(1)}),
        "scenarioId": st.just("raw_frame"),
        "rawFrameContent": st.just("[]"),
    }
)
BODIES = st.one_of(
    any_of(
        {
            "type": st.just("graph"),
            "targets": st.lists(QUERIES, max_size=3),
            "queries": st.lists(QUERIES, max_size=3),
            "from": RANGES,
            "to": RANGES,
        }
    ),
    JSON,
)


async def send_panel(body: Any, context: QueryContext) -> tuple[int, Any]:
    """Return the status and body of a response."""
    response = await respond(orjson.dumps(body), context)
    assert isinstance(response.body, bytes)
    return int(response.headers["status"]), orjson.loads(response.body)


@settings(max_examples=300, deadline=None)
@given(
    body=BODIES,
    context=st.builds(
        QueryContext, st.sampled_from([QueryEndpoint.QUERY, QueryEndpoint.PANEL]), lenient=st.booleans(), explain=st.booleans()
    ),
)
async def test_every_body_has_a_response(body: Any, context: QueryContext) -> None:
    """The response to any body is 200 or 400. It has results, or a message if the body is rejected."""
    status, response = await send_panel(body, context)
    if "results" in response:
        # One of the results may have an error.
        assert status in {200, 400}
        assert "statusCode" not in response
    else:
        assert status == 400
        assert response["message"]
        assert "statusCode" in response


@settings(max_examples=300, deadline=None)
@given(body=BODIES)
async def test_a_panel_is_rejected_for_its_validation_faults(body: Any) -> None:
    """The error of a panel lists the faults of its validation, in the same order. A panel without faults is evaluated."""
    status, document = await send_panel(body, QueryContext(QueryEndpoint.VALIDATION))
    assert status == 200
    assert document["valid"] == (not document["faults"])
    _, response = await send_panel(body, QueryContext(QueryEndpoint.PANEL))
    pointers = [fault["pointer"] for fault in document["faults"]]
    reported_pointers = [fault["pointer"] for fault in response.get("faults", [])]
    # The validation also lists faults of expressions, which are errors of results in the evaluation.
    assert pointers[: len(reported_pointers)] == reported_pointers
    if document["valid"] and "results" in response:
        errors = [result.get("error", "") for result in response["results"].values()]
        assert not any(word in error for error in errors for word in ("sse.parseError", "sse.cycle", "sse.dependencyNotFound"))


@settings(max_examples=100, deadline=None)
@given(bodies=st.lists(BODIES, min_size=1, max_size=3))
async def test_a_batch_of_panels_is_validated_like_single_panels(bodies: list[Any]) -> None:
    """The validation of several panels has a line for each, which equals the validation of the panel alone."""
    replies = [await respond(orjson.dumps(body), QueryContext(QueryEndpoint.VALIDATION)) for body in bodies]
    batch_response = await respond(b"\n".join(map(orjson.dumps, bodies)), QueryContext(QueryEndpoint.VALIDATIONS))
    assert batch_response.body == b"\n".join(reply.body for reply in replies if isinstance(reply.body, bytes))


async def test_a_line_without_json_has_no_validation() -> None:
    """A line that is not JSON has an empty result. The other lines are validated."""
    valid = b'{"type":"t","targets":[]}'
    batch_response = await respond(b"{\n" + valid, QueryContext(QueryEndpoint.VALIDATIONS))
    single_response = await respond(valid, QueryContext(QueryEndpoint.VALIDATION))
    assert isinstance(single_response.body, bytes)
    assert batch_response.headers["status"] == 200
    # The first line is empty.
    assert batch_response.body == b"\n" + single_response.body


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL])
async def test_both_ends_of_a_range_are_reported(endpoint: QueryEndpoint) -> None:
    """Both ends of the time range of a request, and of a query, have faults of their own."""
    targets = [{"refId": "A", "type": "math", "expression": "1", "timeRange": {"from": "x", "to": "y"}}]
    body = {"type": "t", "targets": [], "queries": targets, "from": "then", "to": []}
    status, response = await send_panel(body, QueryContext(endpoint))
    assert status == 400
    pointers = ["/to", "/from", "/queries/0/timeRange/from", "/queries/0/timeRange/to"]
    assert [fault["pointer"] for fault in response["faults"]] == pointers


async def test_a_target_that_reads_an_invalid_one_is_valid() -> None:
    """A target that reads an invalid target has no fault itself, because its input exists."""
    targets = [{"refId": "A", "type": "math", "expression": "1", "colour": 1}, {"refId": "B", "type": "math", "expression": "$A"}]
    _, document = await send_panel({"type": "t", "targets": targets}, QueryContext(QueryEndpoint.VALIDATION))
    assert [fault["pointer"] for fault in document["faults"]] == ["/targets/0/colour"]


@pytest.mark.parametrize("any_value", [[], {}, [[1]], {"a": 1}, 5, True, 1.5])
@pytest.mark.parametrize("name", ["uid", "type"])
async def test_any_value_as_data_source_is_handled(any_value: Any, name: str) -> None:
    """A data source whose uid or type is not a string is a fault of ``datasource``, not an internal error."""
    for datasource in (any_value, {name: any_value}, {name: any_value, "uid": "__expr__"}):
        query = {"refId": "A", "type": "math", "expression": "1", "datasource": datasource}
        status, body = await send_panel({"type": "t", "targets": [query]}, QueryContext(QueryEndpoint.PANEL))
        assert status == 400
        assert body["faults"][0]["pointer"].startswith("/targets/0/datasource")


MEMBERS = ["type", "refId", "datasource", "expression", "hide", "timeRange", "resultAssertions", "colour"]


@pytest.mark.parametrize("member", MEMBERS)
@pytest.mark.parametrize(
    "context",
    [QueryContext(), QueryContext(lenient=True), QueryContext(QueryEndpoint.PANEL), QueryContext(QueryEndpoint.VALIDATION)],
    ids=lambda a: f"{a.endpoint}-{a.lenient}",
)
async def test_deep_values_are_handled(context: QueryContext, member: str) -> None:
    """Values of the maximum depth of JSON cause no internal error in any member."""
    query = {"refId": "A", "type": "math", "expression": "1", "timeRange": {"zone": "utc"}, member: "DEEP"}
    body = json.dumps({"type": "t", "targets": [], "queries": [query]}).replace('"DEEP"', "[" * 1000 + "]" * 1000)
    response = await respond(body.encode(), context)
    if context.endpoint is QueryEndpoint.VALIDATION:
        # A validation succeeds, and its document has the faults.
        assert response.headers["status"] == 200
    elif context.lenient and member == "colour":
        # A lenient request ignores unknown members.
        assert response.headers["status"] == 200
    else:
        assert response.headers["status"] == 400


async def test_thousands_of_faults_are_only_counted() -> None:
    """A target with thousands of faults has a single one with their number."""
    query = {"refId": "A", "type": "math", "expression": "1"} | {f"p{index}": index for index in range(5000)}
    status, body = await send_panel({"queries": [query]}, QueryContext())
    assert status == 400
    assert [fault["message"] for fault in body["faults"]] == ["has 5000 faults; see the schema of its type"]
