"""For a query of Prometheus, the gateway returns the same numbers as the Prometheus server itself."""

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
    """Return a query with a step of one second. The tests use the same step when they query Prometheus itself."""
    return {"refId": ref_id, "datasource": PROMETHEUS, "expr": expr, "interval": "1s", **fields}


def labels(pairs: dict[str, str] | None) -> Labels:
    """Return the labels of a series as a key."""
    return tuple(sorted((pairs or {}).items()))


def gateway_series(result: Any) -> dict[Labels, list[tuple[int, float]]]:
    """Return the series of a refId in the gateway's response: epoch milliseconds and values."""
    assert "error" not in result, result
    series = {}
    for frame in result["frames"]:
        times, values = frame["data"]["values"]
        series[labels(frame["schema"]["fields"][1].get("labels"))] = list(zip(times, values, strict=True))
    return series


def prometheus_series(data: Any) -> dict[Labels, list[tuple[int, float]]]:
    """Return the series of a response of Prometheus: epoch milliseconds and values."""
    series = {}
    for item in data["result"]:
        # A range query has ``values``, an instant query one ``value``.
        samples = item["values"] if "values" in item else [item["value"]]
        series[labels(item["metric"])] = [(round(time * 1000), float(value)) for time, value in samples]
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
    """An instant query returns the same numbers, and an error with the server's message."""
    status, body = await oracle.query_gateway(
        query("A", "scrape_samples_scraped", instant=True), query("B", "scalar(vector(0.1))", instant=True), query("C", "up{", instant=True)
    )
    assert status == 400
    results = body["results"]
    assert gateway_series(results["A"]) == prometheus_series(
        await oracle.prometheus_data("query", query="scrape_samples_scraped", time=oracle.end)
    )
    assert gateway_series(results["B"]) == {(): [(oracle.end * 1000, 0.1)]}
    assert results["C"]["status"] == 400
    assert "bad_data" in results["C"]["error"]


async def test_one_request_mixes_sources_and_expressions(oracle: QueriedPrometheus) -> None:
    """Prometheus, PostgreSQL, testdata, math, reduce, sql and threshold in one request compute the expected numbers.

    The numbers come from Prometheus, not from the gateway's cache.
    """
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
    maximum = {job: max(value for _, value in prometheus_series(data)[(("job", job),)]) for job in WEIGHTS}
    jobs = sorted(WEIGHTS)
    assert results["S"]["frames"][0]["data"]["values"] == [jobs, [maximum[job] * WEIGHTS[job] for job in jobs]]
    # The result of a threshold is 1.0 if its condition holds, else 0.0.
    threshold_values = {}
    for frame in results["N"]["frames"]:
        job = frame["schema"]["fields"][-1]["labels"]["job"]
        threshold_values[job] = frame["data"]["values"]
    assert threshold_values == {job: [[float(maximum[job] * WEIGHTS[job] > 100)]] for job in jobs}
    assert body["meta"]["explain"]["nodes"]["A"]["cache"] == "miss"
