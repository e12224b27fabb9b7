"""The gateway returns the numbers of a Prometheus for queries to this Prometheus."""

from typing import Any

import pytest
from tests.oracles.prometheus.conftest import QueriedPrometheus

pytestmark = pytest.mark.oracles

PROMETHEUS = {"type": "prometheus", "uid": "prom"}
STORE = {"type": "grafana-postgresql-datasource", "uid": "store"}
#: The rows of the table ``weight`` in the database.
WEIGHTS = {"gateway": 3.0, "prometheus": 0.5}
WEIGHTED_SUM = """
    SELECT A.job, max(A.__value__) * W.weight AS weighted FROM A JOIN W ON A.job = W.job GROUP BY A.job, W.weight ORDER BY A.job
"""
#: Labels of a series, sorted by name.
Labels = tuple[tuple[str, str], ...]

GATEWAY: Labels = (("job", "gateway"),)


def query(ref_id: str, expr: str, **fields: Any) -> dict[str, Any]:
    """Return a query with a step of one second. The tests send range queries with the same step to Prometheus."""
    return {"refId": ref_id, "datasource": PROMETHEUS, "expr": expr, "interval": "1s", **fields}


def labels(pairs: dict[str, str] | None) -> Labels:
    """Return the labels of a series, none of which exist if ``pairs`` is None, as a key of a dictionary."""
    return tuple(sorted((pairs or {}).items()))


def gateway_series(result: Any) -> dict[Labels, list[tuple[int, float]]]:
    """Return the points of each series in the gateway's result for a query: times in milliseconds and values."""
    assert "error" not in result, result
    series = {}
    for frame in result["frames"]:
        times, values = frame["data"]["values"]
        _, value_field = frame["schema"]["fields"]
        series[labels(value_field.get("labels"))] = list(zip(times, values, strict=True))
    return series


def prometheus_series(data: Any) -> dict[Labels, list[tuple[int, float]]]:
    """Return the points of each series in a response of Prometheus: times in milliseconds and values."""
    series = {}
    for item in data["result"]:
        # A range query returns ``values``, and an instant query a single ``value``.
        points = item["values"] if "values" in item else [item["value"]]
        series[labels(item["metric"])] = [(round(time * 1000), float(value)) for time, value in points]
    return series


#: Expressions of range queries by refId: gauges, an aggregation, a rate, and a number without an exact decimal notation.
RANGES = {
    "A": "up",
    "B": "sum by (job) (scrape_samples_scraped)",
    "C": "rate(prometheus_http_requests_total[30s])",
    "D": "dashwright_broker_connected",
    "E": "vector(1) / 3",
}


async def test_a_range_has_the_same_series_and_points(oracle: QueriedPrometheus) -> None:
    """A range query returns the same labels, times and values, to the last digit."""
    status, body = await oracle.query_gateway(*(query(ref_id, expr) for ref_id, expr in RANGES.items()))
    assert status == 200, body
    for ref_id, expr in RANGES.items():
        expected = prometheus_series(await oracle.prometheus_data("query_range", query=expr, start=oracle.start, end=oracle.end, step=1))
        assert expected, expr
        assert gateway_series(body["results"][ref_id]) == expected, expr


async def test_an_instant_query_has_the_same_numbers(oracle: QueriedPrometheus) -> None:
    """An instant query returns the number of Prometheus at the end of the range. The result of an invalid query is Prometheus' error."""
    status, body = await oracle.query_gateway(
        query("A", "scrape_samples_scraped", instant=True), query("B", "scalar(vector(0.1))", instant=True), query("C", "up{", instant=True)
    )
    # The response has the status of its query C, which is invalid.
    assert status == 400
    results = body["results"]
    expected = await oracle.prometheus_data("query", query="scrape_samples_scraped", time=oracle.end)
    assert gateway_series(results["A"]) == prometheus_series(expected)
    # A scalar has no labels.
    assert gateway_series(results["B"]) == {(): [(oracle.end * 1000, 0.1)]}
    assert results["C"]["status"] == 400
    assert "bad_data" in results["C"]["error"]


async def test_one_request_mixes_sources_and_expressions(oracle: QueriedPrometheus) -> None:
    """The queries of one request read three data sources, and its expressions of all types compute with their results."""
    samples = "sum by (job) (scrape_samples_scraped)"
    # A constant 10 with the label of one of the two jobs, so that ``$A + $T`` has only this job.
    pulse = {
        "refId": "T",
        "hide": True,
        "datasource": {"type": "grafana-testdata-datasource"},
        "scenarioId": "predictable_pulse",
        "labels": 'job="gateway"',
        "pulseWave": {"timeStep": 1, "onCount": 1, "onValue": 10, "offCount": 0, "offValue": 0},
    }
    conditions = [{"evaluator": {"type": "gt", "params": [100]}}]
    status, body = await oracle.query_gateway(
        query("A", samples, hide=True),
        pulse,
        {"refId": "M", "type": "math", "expression": "$A * 2 + $T"},
        {"refId": "R", "type": "reduce", "expression": "M", "reducer": "max"},
        {"refId": "H", "type": "threshold", "expression": "R", "conditions": conditions},
        {"refId": "W", "hide": True, "datasource": STORE, "format": "table", "rawSql": "select job, weight::float from weight"},
        {"refId": "S", "type": "sql", "expression": WEIGHTED_SUM},
        {"refId": "N", "type": "threshold", "expression": "S", "conditions": conditions},
        explain=True,
    )
    assert status == 200, body
    data = await oracle.prometheus_data("query_range", query=samples, start=oracle.start, end=oracle.end, step=1)
    # The pulse ends before the last instant of the range.
    points = [(time, value * 2 + 10) for time, value in prometheus_series(data)[GATEWAY] if time < oracle.end * 1000]
    greatest = max(value for _, value in points)
    results = body["results"]
    assert gateway_series(results["M"]) == {GATEWAY: points}
    assert results["R"]["frames"][0]["data"]["values"] == [[greatest]]
    assert results["H"]["frames"][0]["data"]["values"] == [[float(greatest > 100)]]
    weighted_maxima = {
        job: max(value for _, value in prometheus_series(data)[(("job", job),)]) * weight for job, weight in sorted(WEIGHTS.items())
    }
    assert results["S"]["frames"][0]["data"]["values"] == [list(weighted_maxima), list(weighted_maxima.values())]
    # The result of a threshold is 1 for a number that exceeds it, and 0 for any other number.
    crossings = {frame["schema"]["fields"][-1]["labels"]["job"]: frame["data"]["values"] for frame in results["N"]["frames"]}
    assert crossings == {job: [[float(weighted > 100)]] for job, weighted in weighted_maxima.items()}
    # Prometheus was queried for this request.
    assert body["meta"]["explain"]["nodes"]["A"]["cache"] == "miss"
