"""What the gateway answers of a Prometheus is what that Prometheus answers itself."""

from typing import Any

import pytest
from tests.oracles.prometheus.conftest import Oracle

pytestmark = pytest.mark.oracles

PROM = {"type": "prometheus", "uid": "prom"}
STORE = {"type": "grafana-postgresql-datasource", "uid": "store"}
WEIGHTS = {"gateway": 3.0, "prometheus": 0.5}
WEIGHTED = """
    SELECT A.job, max(A.__value__) * W.weight AS weighted FROM A JOIN W ON A.job = W.job GROUP BY A.job, W.weight ORDER BY A.job
"""
Labels = tuple[tuple[str, str], ...]

GATEWAY: Labels = (("job", "gateway"),)


def query(ref_id: str, expr: str, **more: Any) -> dict[str, Any]:
    return {"refId": ref_id, "datasource": PROM, "expr": expr, "interval": "1s", **more}


def labels(pairs: dict[str, str] | None) -> Labels:
    return tuple(sorted((pairs or {}).items()))


def shown(result: Any) -> dict[Labels, list[tuple[int, float]]]:
    """The series of a refId as the gateway answers them: epoch milliseconds and values."""
    assert "error" not in result, result
    series = {}
    for frame in result["frames"]:
        times, values = frame["data"]["values"]
        series[labels(frame["schema"]["fields"][1].get("labels"))] = list(zip(times, values, strict=True))
    return series


def told(data: Any) -> dict[Labels, list[tuple[int, float]]]:
    """The same of an answer of Prometheus."""
    return {
        labels(item["metric"]): [(round(time * 1000), float(value)) for time, value in item.get("values", [item.get("value")])]
        for item in data["result"]
    }


RANGES = {
    "A": "up",
    "B": "sum by (job) (scrape_samples_scraped)",
    "C": "rate(prometheus_http_requests_total[30s])",
    "D": "dashwright_broker_connected",
    "E": "vector(1) / 3",
}


async def test_a_range_has_the_same_series_and_points(oracle: Oracle) -> None:
    """Labels, times and values, to the last digit."""
    status, body = await oracle.ask(*(query(ref_id, expr) for ref_id, expr in RANGES.items()))
    assert status == 200, body
    for ref_id, expr in RANGES.items():
        expected = told(await oracle.says("query_range", query=expr, start=oracle.start, end=oracle.end, step=1))
        assert expected, expr
        assert shown(body["results"][ref_id]) == expected, expr


async def test_an_instant_query_has_the_same_numbers(oracle: Oracle) -> None:
    """Vectors become numbers, a scalar one number, and what is refused is refused in the server's words."""
    status, body = await oracle.ask(
        query("A", "scrape_samples_scraped", instant=True), query("B", "scalar(vector(0.1))", instant=True), query("C", "up{", instant=True)
    )
    assert status == 400
    results = body["results"]
    assert shown(results["A"]) == told(await oracle.says("query", query="scrape_samples_scraped", time=oracle.end))
    assert shown(results["B"]) == {(): [(oracle.end * 1000, 0.1)]}
    assert results["C"]["status"] == 400
    assert "bad_data" in results["C"]["error"]


async def test_one_request_mixes_sources_and_expressions(oracle: Oracle) -> None:
    """Prometheus, PostgreSQL, testdata, math, reduce, sql and threshold: each number is what the server's own answer comes to."""
    samples = "sum by (job) (scrape_samples_scraped)"
    pulse = {
        "refId": "T",
        "hide": True,
        "datasource": {"type": "grafana-testdata-datasource"},
        "scenarioId": "predictable_pulse",
        "labels": 'job="gateway"',
        "pulseWave": {"timeStep": 1, "onCount": 1, "onValue": 10, "offCount": 0, "offValue": 0},
    }
    above = [{"evaluator": {"type": "gt", "params": [100]}}]
    status, body = await oracle.ask(
        query("A", samples, hide=True),
        pulse,
        {"refId": "M", "type": "math", "expression": "$A * 2 + $T"},
        {"refId": "R", "type": "reduce", "expression": "M", "reducer": "max"},
        {"refId": "H", "type": "threshold", "expression": "R", "conditions": above},
        {"refId": "W", "hide": True, "datasource": STORE, "format": "table", "rawSql": "select job, weight::float from weight"},
        {"refId": "S", "type": "sql", "expression": WEIGHTED},
        {"refId": "N", "type": "threshold", "expression": "S", "conditions": above},
        explain=True,
    )
    assert status == 200, body
    data = await oracle.says("query_range", query=samples, start=oracle.start, end=oracle.end, step=1)
    # The pulse ends before the last instant of the range.
    points = [(time, value * 2 + 10) for time, value in told(data)[GATEWAY] if time < oracle.end * 1000]
    greatest = max(value for _, value in points)
    results = body["results"]
    assert shown(results["M"]) == {GATEWAY: points}
    assert results["R"]["frames"][0]["data"]["values"] == [[greatest]]
    assert results["H"]["frames"][0]["data"]["values"] == [[float(greatest > 100)]]
    most = {job: max(value for _, value in told(data)[(("job", job),)]) for job in WEIGHTS}
    jobs = sorted(WEIGHTS)
    assert results["S"]["frames"][0]["data"]["values"] == [jobs, [most[job] * WEIGHTS[job] for job in jobs]]
    fired = {frame["schema"]["fields"][-1]["labels"]["job"]: frame["data"]["values"] for frame in results["N"]["frames"]}
    assert fired == {job: [[float(most[job] * WEIGHTS[job] > 100)]] for job in jobs}
    assert body["meta"]["explain"]["nodes"]["A"]["cache"] == "miss"
