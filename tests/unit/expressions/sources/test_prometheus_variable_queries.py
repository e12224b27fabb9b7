"""Each function in the query of a variable is a request to Prometheus, whose response has the values of the variable."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.prometheus.variable_queries import variable_request

END = datetime(1970, 1, 2, tzinfo=UTC)
RANGE = TimeRange(END - timedelta(hours=1), END)
# Start and end of the range. One second is added to the end, because its fraction is cut off.
SECONDS = {"start": "82800", "end": "86401"}
SERIES = [{"__name__": "up", "job": "a"}]


@pytest.mark.parametrize(
    ("text", "path", "parameters", "data", "values"),
    [
        ("label_names()", "api/v1/labels", SECONDS, ["job", "pod"], ["job", "pod"]),
        ("label_values(job)", "api/v1/label/job/values", SECONDS, ["a", 4, "b"], ["a", "b"]),
        (
            ' label_values(up{a="b, c"}, job) ',
            "api/v1/label/job/values",
            {**SECONDS, "match[]": 'up{a="b, c"}'},
            ["a"],
            ["a"],
        ),
        ("metrics(.*)", "api/v1/label/__name__/values", SECONDS, ["up"], ["up"]),
        ("metrics(node_)", "api/v1/label/__name__/values", {**SECONDS, "match[]": '{__name__=~".*(?:node_).*"}'}, [], []),
        (
            "query_result(topk(2, up))",
            "api/v1/query",
            {"query": "topk(2, up)", "time": "86401"},
            {"resultType": "vector", "result": [{"metric": SERIES[0], "value": [12, "3.5"]}, {"value": 4}]},
            ['up{job="a"} 3.5 12000'],
        ),
        ("query_result(1)", "api/v1/query", {"query": "1", "time": "86401"}, {"resultType": "scalar", "result": [1, "7"]}, ["7"]),
        ('up{a="b"}', "api/v1/series", {**SECONDS, "match[]": 'up{a="b"}'}, SERIES, ['up{job="a"}']),
    ],
)
def test_functions_are_requests(text: str, path: str, parameters: dict[str, str], data: object, values: list[str]) -> None:
    """Each function of a variable's query is a request with a path and parameters, and reads values from the response."""
    request = variable_request(text, RANGE)
    assert request.path == path
    assert dict(request.parameters) == parameters
    assert request.read(orjson.dumps({"status": "success", "data": data})) == values


def test_labels_are_quoted_in_the_path() -> None:
    """A label with slashes or dots is quoted, so that it remains one part of the path."""
    assert variable_request('label_values(up, "a/../b")', RANGE).path == "api/v1/label/a%2F..%2Fb/values"


def test_invalid_queries_and_responses_are_errors() -> None:
    """The error of an invalid query has the correct form, and an invalid response is an error of the data source."""
    with pytest.raises(BadRequest, match=r"write label_values\(metric, label\)"):
        variable_request("label_values(up,", RANGE)
    with pytest.raises(SourceFailed, match="is not JSON"):
        variable_request("label_names()", RANGE).read(b"<html>")
