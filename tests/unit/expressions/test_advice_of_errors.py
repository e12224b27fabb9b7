"""The error of a frequent mistake in a query says what to write instead."""

from typing import Any

import orjson
import pytest

from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.expressions.queries import respond
from dashwright.expressions.sql.engine_errors import explain

# Two series with the label ``host``, and two with the label ``zone``.
HOSTS = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "seriesCount": 2, "labels": "host=$seriesIndex"}
ZONES = {**HOSTS, "refId": "D", "labels": "zone=$seriesIndex"}


async def send_queries(*queries: Any) -> dict[str, Any]:
    """Return the body of the response to queries."""
    response = await respond(
        orjson.dumps({"from": "now-10s", "to": "now", "queries": queries}), QueryContext(QueryEndpoint.QUERY, org_id=1)
    )
    assert isinstance(response.body, bytes)
    body: dict[str, Any] = orjson.loads(response.body)
    return body


MATH_MISTAKES = [
    ("($A + 1", "close the parenthesis with )"),
    ("$A +", "a value belongs here, such as 1, $A"),
    ("$A)", "it has no opening ("),
    ("A + 1", "did you mean $A?"),
    ("2 * A", "did you mean $A?"),
    ("ABS($A)", "did you mean abs?"),
    ("isnan($A)", "did you mean is_nan?"),
    ("roud($A)", "did you mean round?"),
    ("abs $A", "write abs($A)"),
    ("$A = 1", "write == to compare"),
    ("$A & 1", "write && for and"),
    ("$A and $A", "write && instead"),
    ("$A ^ 2", "write ** for powers"),
    ("$A > 1 ? 1 : 0", "multiply by a comparison instead"),
    ("$a + 1", "did you mean $A?"),
]


@pytest.mark.parametrize(("text", "advice"), MATH_MISTAKES)
async def test_a_mistake_in_math_is_an_error_with_advice(text: str, advice: str) -> None:
    """A mistake in a math expression is an error of its refId, which says what to write instead."""
    assert advice in (await send_queries(HOSTS, {"refId": "B", "type": "math", "expression": text}))["results"]["B"]["error"]


QUERY_MISTAKES = [
    ({"type": "reduce", "expression": "A", "reducer": "avg"}, "did you mean mean?"),
    ({"type": "reduce", "expression": "A", "reducer": "Maximum"}, "did you mean max?"),
    ({"type": "reduce", "expression": "A", "reducer": "medain"}, "did you mean median?"),
    ({"type": "reduce", "expression": "$A*2", "reducer": "mean"}, "it takes one reference such as $A: calculate in a math"),
    ({"type": "reduce", "expression": "", "reducer": "mean"}, "must not be empty; name the query that it reads, such as $A"),
    ({"type": "math", "expression": ""}, "must not be empty; calculate, such as $A + 1"),
    ({"type": "threshold", "expression": "A", "conditions": [{"evaluator": {"type": ">", "params": [1]}}]}, "did you mean gt?"),
    (
        {"type": "threshold", "expression": "A", "conditions": [{"evaluator": {"type": "within_range", "params": [1]}}]},
        "give its lower and upper bound in params",
    ),
    ({"datasource": {"uid": "${DS_PROMETHEUS}"}}, "is the variable '${DS_PROMETHEUS}', which has no value here; write the uid"),
    ({"datasource": {"uid": "$ds", "type": "prometheus"}}, "is the variable '$ds', which has no value here; write the uid"),
    ({"datasource": {"uid": "default"}}, "write the uid of the default data source"),
    ({"datasource": {"type": "prometheus"}}, "name its uid as datasource.uid (GET /api/datasources lists them)"),
]


@pytest.mark.parametrize(("target", "advice"), QUERY_MISTAKES)
async def test_a_mistake_in_a_query_is_an_error_with_advice(target: dict[str, Any], advice: str) -> None:
    """A mistake in the reducer, the conditions, the data source or an empty expression is an error that says what to write instead."""
    assert advice in (await send_queries(HOSTS, {"refId": "B", **target}))["message"]


async def test_unmatched_labels_are_a_warning_of_the_result() -> None:
    """The warning of labels without a match is a notice of the result itself, because there is no frame for it."""
    result = (await send_queries(HOSTS, ZONES, {"refId": "B", "type": "math", "expression": "$A + $D"}))["results"]["B"]
    assert result["frames"] == []
    (notice,) = result["notices"]
    assert "items dropped from union" in notice["text"]


SQL_ENGINE_ERRORS = [
    (
        "ConversionException",
        "Conversion Error: Type VARCHAR with value 's3cret' can't be cast to the destination type STRUCT(host VARCHAR)",
        "write a string in single quotes, such as host = 'a'",
    ),
    ("ConversionException", "Conversion Error: Could not convert string 's3cret' to INT32", "convert by CAST"),
    ("BinderException", 'Binder Error: column "host" must appear in the GROUP BY clause or must be part', "write max(host)"),
    ("BinderException", "Binder Error: WHERE clause cannot contain aggregates!", "move the condition to HAVING"),
    ("ParserException", 'Parser Error: syntax error at or near "BY"', "its syntax is wrong near BY"),
    ("FatalException", "FATAL Error: s3cret", "it cannot be run"),
    ("_StatementError", "the result holds s3cret", "leave such times out, or select less"),
]


@pytest.mark.parametrize(("kind", "text", "advice"), SQL_ENGINE_ERRORS)
def test_errors_of_the_sql_engine_are_reworded(kind: str, text: str, advice: str) -> None:
    """The message of an error of DuckDB has the project's own words and no values of the data."""
    message = explain(kind, text)
    assert advice in message
    assert "s3cret" not in message
    assert "Error:" not in message
