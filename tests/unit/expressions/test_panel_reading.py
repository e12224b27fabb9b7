"""Every body gets a response, and the endpoints agree about it."""

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
RANGES = st.sampled_from(["now", "now-1h", "now+1h", "2020", "", "x", 0, None]) | JSON


def loosely(properties: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Any of the properties, mostly of the right shape."""
    return st.fixed_dictionaries({}, optional={name: st.one_of(good, good, good, JSON) for name, good in properties.items()})


EXPRESSIONS = st.sampled_from(["$A", "$A + $B", "${a b}", "1 +", "A", "$C", "((", "nan()"])
CONDITIONS = st.lists(
    loosely(
        {
            "evaluator": loosely({"type": st.just("gt"), "params": st.just([1])}),
            "operator": loosely({"type": st.just("and")}),
            "query": loosely({"params": st.just(["A"])}),
            "reducer": loosely({"type": st.just("last"), "params": st.just([])}),
            "type": st.just("query"),
        }
    ),
    max_size=2,
)
QUERIES = loosely(
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
        "timeRange": loosely({"from": RANGES, "to": RANGES}),
        "resultAssertions": loosely({"type": st.just("table"), "typeVersion": st.just([0, 1]), "maxFrames": st.just(1)}),
        "scenarioId": st.just("raw_frame"),
        "rawFrameContent": st.just("[]"),
    }
)
BODIES = st.one_of(
    loosely(
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


async def ask(body: Any, context: QueryContext) -> tuple[int, Any]:
    answered = await respond(orjson.dumps(body), context)
    assert isinstance(answered.body, bytes)
    return int(answered.headers["status"]), orjson.loads(answered.body)


@settings(max_examples=300, deadline=None)
@given(
    body=BODIES, context=st.builds(QueryContext, st.sampled_from([QueryEndpoint.QUERY, QueryEndpoint.PANEL]), st.booleans(), st.booleans())
)
async def test_every_body_has_an_answer(body: Any, context: QueryContext) -> None:
    """200 or 400 with results or a message, by any endpoint, leniently or not; a refused body runs nothing."""
    status, found = await ask(body, context)
    assert status in {200, 400}
    assert ("results" in found) or found["message"]
    assert ("results" in found) != ("statusCode" in found)


@settings(max_examples=300, deadline=None)
@given(body=BODIES)
async def test_a_panel_is_refused_exactly_for_the_faults_a_validation_tells(body: Any) -> None:
    """The refusal of a panel lists the faults of its validation, in their order; a panel without faults runs."""
    status, told = await ask(body, QueryContext(QueryEndpoint.VALIDATION))
    assert status == 200
    assert told["valid"] == (not told["faults"])
    _, found = await ask(body, QueryContext(QueryEndpoint.PANEL))
    pointers = [fault["pointer"] for fault in told["faults"]]
    refused = [fault["pointer"] for fault in found.get("faults", [])]
    assert pointers[: len(refused)] == refused
    if told["valid"] and "results" in found:
        errors = [result.get("error", "") for result in found["results"].values()]
        assert not any(word in error for error in errors for word in ("sse.parseError", "sse.cycle", "sse.dependencyNotFound"))


@pytest.mark.parametrize("endpoint", [QueryEndpoint.QUERY, QueryEndpoint.PANEL])
async def test_two_wrong_ends_are_told_together(endpoint: QueryEndpoint) -> None:
    """Each side of a time range has a fault of its own."""
    targets = [{"refId": "A", "type": "math", "expression": "1", "timeRange": {"from": "x", "to": "y"}}]
    body = {"type": "t", "targets": [], "queries": targets, "from": "then", "to": []}
    status, found = await ask(body, QueryContext(endpoint))
    assert status == 400
    pointers = ["/to", "/from", "/queries/0/timeRange/from", "/queries/0/timeRange/to"]
    assert [fault["pointer"] for fault in found["faults"]] == pointers


async def test_who_reads_a_misshapen_target_is_not_at_fault() -> None:
    """The reader's input exists and is only unreadable: there is one fault, not two."""
    targets = [{"refId": "A", "type": "math", "expression": "1", "colour": 1}, {"refId": "B", "type": "math", "expression": "$A"}]
    _, told = await ask({"type": "t", "targets": targets}, QueryContext(QueryEndpoint.VALIDATION))
    assert [fault["pointer"] for fault in told["faults"]] == ["/targets/0/colour"]


@pytest.mark.parametrize("odd", [[], {}, [[1]], {"a": 1}, 5, True, 1.5])
@pytest.mark.parametrize("name", ["uid", "type"])
async def test_a_data_source_of_any_kind_of_value_is_told(odd: Any, name: str) -> None:
    """A value that is not a text names no data source, and no value raises an internal error."""
    for datasource in (odd, {name: odd}, {name: odd, "uid": "__expr__"}):
        query = {"refId": "A", "type": "math", "expression": "1", "datasource": datasource}
        status, found = await ask({"type": "t", "targets": [query]}, QueryContext(QueryEndpoint.PANEL))
        assert status == 400
        assert found["faults"][0]["pointer"].startswith("/targets/0/datasource")


PLACES = ["type", "refId", "datasource", "expression", "hide", "timeRange", "resultAssertions", "colour"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "context",
    [QueryContext(), QueryContext(lenient=True), QueryContext(QueryEndpoint.PANEL), QueryContext(QueryEndpoint.VALIDATION)],
    ids=lambda a: f"{a.endpoint}-{a.lenient}",
)
async def test_deep_values_are_refused_or_ignored_like_others(context: QueryContext, place: str) -> None:
    """At the greatest depth that JSON is parsed at, in any place: never an internal error."""
    query = {"refId": "A", "type": "math", "expression": "1", "timeRange": {"zone": "utc"}, place: "DEEP"}
    body = json.dumps({"type": "t", "targets": [], "queries": [query]}).replace('"DEEP"', "[" * 1000 + "]" * 1000)
    answered = await respond(body.encode(), context)
    assert answered.headers["status"] == (
        200 if context.endpoint is QueryEndpoint.VALIDATION or (context.lenient and place == "colour") else 400
    )


async def test_countless_faults_are_counted_only() -> None:
    """A target with more faults than anybody reads has one that says how many."""
    query = {"refId": "A", "type": "math", "expression": "1"} | {f"p{number}": number for number in range(5000)}
    status, found = await ask({"queries": [query]}, QueryContext())
    assert status == 400
    assert [fault["message"] for fault in found["faults"]] == ["has 5000 faults; see the schema of its type"]
