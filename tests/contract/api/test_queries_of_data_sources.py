"""Queries of data sources over HTTP. The gateway determines the caller, and the worker queries only what the caller may query."""

from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from tests.acceptance.polling import wait_until
from tests.contract.api.conftest import ADMIN, Api
from tests.unit.expressions.sources.servers import FakeServer, success

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

EVALUATIONS = "/apis/expressions.dashwright.io/v0alpha1/namespaces"
QUERY = "datasources:query"
SECRET_KEY = "of tests only"


@dataclass
class GatewayWithSources:
    """Gateway in which organization 1 has the data sources ``a`` and ``b``, and a second organization has ``a``.

    All three are one fake server, whose value is the number of its requests.
    """

    api: Api
    fake: FakeServer
    other_org_id: int

    async def query(self, *uids: str, path: str = "/api/ds/query", **options: Any) -> tuple[int, dict[str, Any]]:
        """Query data sources. Return the HTTP status and, by uid, the value or the error. The refId of each query is R and the uid."""
        queries = [query(f"R{uid}", uid) for uid in uids]
        status, body = await self.api("POST", path, {"type": "graph", "targets": [], "queries": queries}, **options)
        results = body.get("results", {})
        return status, {ref_id.removeprefix("R"): result.get("error") or value_of(result) for ref_id, result in results.items()}


def query(ref_id: str, uid: str, **fields: Any) -> dict[str, Any]:
    """Return a query of a data source."""
    return {"refId": ref_id, "datasource": {"type": "prometheus", "uid": uid}, "expr": "up", "instant": True, **fields}


def value_of(result: Any) -> float:
    """Return the first value of a result."""
    value: float = result["frames"][0]["data"]["values"][1][0]
    return value


@dataclass
class CountingHandler:
    """Handler of a fake server that returns how often it was called."""

    count: int = field(default=0)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.count += 1
        return web.Response(body=success("vector", [{"metric": {}, "value": [1, str(self.count)]}]), content_type="application/json")


@pytest.fixture
async def gateway(api: Api, broker: MemoryBroker, database: Database) -> AsyncIterator[GatewayWithSources]:
    """Start a gateway with three data sources at one fake server, and an expressions worker."""
    server = FakeServer(CountingHandler())
    async with server.server:
        other_org_id = await api.organization("other")
        other_admin = await api.person("olga", Role.ADMIN, org_id=other_org_id)
        for uid, auth in (("a", ADMIN), ("b", ADMIN), ("a", other_admin)):
            record = {"name": f"name of {uid}", "type": "prometheus", "uid": uid, "url": server.url}
            status, created = await api("POST", "/api/datasources", record, auth=auth)
            assert status == 200, created
        worker = ExpressionsWorker(load(allowed_hosts="127.0.0.1", secret_key=SECRET_KEY), database, broker, Clock())
        await worker.start()
        yield GatewayWithSources(api, server, other_org_id)
        await worker.stop()


async def test_credentials_are_sent_to_the_data_source(gateway: GatewayWithSources) -> None:
    """Credentials are stored encrypted and sent only to the data source; a change applies immediately."""
    record = {"name": "c", "type": "prometheus", "uid": "c", "url": gateway.fake.url, "basicAuth": True, "basicAuthUser": "me"}
    await gateway.api("POST", "/api/datasources", {**record, "secureJsonData": {"basicAuthPassword": "one"}})
    await gateway.query("c")
    await gateway.api("PUT", "/api/datasources/uid/c", {**record, "secureJsonData": {"basicAuthPassword": "two"}})
    await gateway.query("c")
    sent = [b64decode(headers["Authorization"].removeprefix("Basic ")) for *_, headers in gateway.fake.requests]
    assert sent == [b"me:one", b"me:two"]


async def test_health_is_checked_at_the_data_source(gateway: GatewayWithSources) -> None:
    """The health route requests the data source and returns a sentence for success and for failure."""
    assert await gateway.api("GET", "/api/datasources/uid/a/health") == (
        200,
        {"status": "OK", "message": "Successfully queried the Prometheus API."},
    )
    # The settings of the worker do not permit this host.
    record = {"name": "d", "type": "prometheus", "uid": "d", "url": "http://10.255.255.1"}
    await gateway.api("POST", "/api/datasources", record)
    status, body = await gateway.api("GET", "/api/datasources/uid/d/health")
    assert (status, body["status"]) == (400, "ERROR")
    assert "DASHWRIGHT_ALLOWED_HOSTS" in body["message"]


async def test_data_sources_belong_to_one_organization(gateway: GatewayWithSources) -> None:
    """A data source of another organization is not found."""
    assert await gateway.query("a", "b") == (200, {"a": 1.0, "b": 2.0})
    other_caller = await gateway.api.person("stan", Role.VIEWER, org_id=gateway.other_org_id)
    status, results = await gateway.query("a", "b", auth=other_caller)
    assert (status, results["a"]) == (400, 3.0)
    assert "no data source with the uid (or name) 'b' in this organization" in results["b"]


@pytest.mark.parametrize("path", ["/api/ds/query", "/api/panels/query"])
async def test_queries_need_permission_for_each_data_source(gateway: GatewayWithSources, path: str) -> None:
    """A caller with permission for one data source cannot query a second one. The request of a caller without permission is 403."""
    limited_caller = await gateway.api.person("limited", Role.NONE, (QUERY, "datasources:uid:a"))
    permitted_caller = await gateway.api.person("permitted", Role.NONE, (QUERY, "datasources:uid:*"))
    unprivileged = await gateway.api.person("unprivileged", Role.NONE)
    status, results = await gateway.query("a", "b", path=path, auth=limited_caller)
    assert (status, results["a"]) == (400, 1.0)
    assert "'b' is not among those that you may query" in results["b"]
    assert (await gateway.query("a", "b", path=path, auth=permitted_caller))[0] == 200
    assert (await gateway.query("a", path=path, auth=unprivileged))[0] == 403


async def test_no_cache_bypasses_the_cache(gateway: GatewayWithSources) -> None:
    """A request with ``Cache-Control: no-cache`` is not served from the cache."""

    async def value(**headers: str) -> Any:
        """Query the data source ``a``. Return the value, which counts the requests to the server, and whether it was cached."""
        body = {"from": "1000000", "to": "2000000", "queries": [query("A", "a")]}
        status, response = await gateway.api("POST", "/api/ds/query?explain=true", body, headers=headers)
        assert status == 200
        return value_of(response["results"]["A"]), response["meta"]["explain"]["nodes"]["A"]["cache"]

    assert [await value(), await value()] == [(1.0, "miss"), (1.0, "hit")]
    assert await value(**{"Cache-Control": "max-age=0, no-cache"}) == (2.0, "miss")
    assert await value() == (2.0, "hit")


async def evaluate(api: Api, namespace: str, auth: str) -> list[str]:
    """Evaluate a panel with queries of the data sources ``a`` and ``b``. Return the refIds of the successful queries."""
    panel = {"type": "graph", "targets": [query("A", "a"), query("B", "b")]}
    status, created = await api("POST", f"{EVALUATIONS}/{namespace}/evaluations", {"spec": {"panel": panel}}, auth=auth)
    assert status == 202, created
    path = f"{EVALUATIONS}/{namespace}/evaluations/{created['metadata']['name']}"

    async def is_ended() -> bool:
        """Return whether the evaluation has ended."""
        return (await api("GET", path, auth=auth))[1]["status"]["state"] in ("success", "error")

    await wait_until(is_ended)
    _, result = await api("GET", f"{path}/result", auth=auth)
    return [ref_id for ref_id, outcome in result["results"].items() if "error" not in outcome]


async def test_an_evaluation_queries_the_data_sources_of_its_organization(gateway: GatewayWithSources) -> None:
    """An evaluation, run as a job, queries the data sources of its namespace's organization."""
    other_caller = await gateway.api.person("stan", Role.ADMIN, org_id=gateway.other_org_id)
    assert await evaluate(gateway.api, "default", ADMIN) == ["A", "B"]
    assert await evaluate(gateway.api, f"org-{gateway.other_org_id}", other_caller) == ["A"]


async def test_evaluations_need_permission_for_all_data_sources(gateway: GatewayWithSources) -> None:
    """An evaluation by a caller with permission for only some data sources is 403, and with permission for all it is accepted."""
    limited_caller = await gateway.api.person("limited", Role.NONE, ("evaluations:create", "*"), (QUERY, "datasources:uid:a"))
    permitted_caller = await gateway.api.person("permitted", Role.NONE, ("evaluations:create", "*"), (QUERY, "datasources:uid:*"))
    body = {"spec": {"panel": {"type": "graph", "targets": [query("B", "b")]}}}
    status, error = await gateway.api("POST", f"{EVALUATIONS}/default/evaluations", body, auth=limited_caller)
    assert status == 403
    assert QUERY in error["message"]
    assert (await gateway.api("POST", f"{EVALUATIONS}/default/evaluations", body, auth=permitted_caller))[0] == 202


async def test_too_many_single_grants_are_rejected(gateway: GatewayWithSources) -> None:
    """A caller with more single grants than a message can contain is rejected and advised to use one grant."""
    # A message contains at most 1,000 single grants.
    caller_with_many_grants = await gateway.api.person("many", Role.NONE, *((QUERY, f"datasources:uid:x{index}") for index in range(1001)))
    status, body = await gateway.api("POST", "/api/ds/query", {"queries": []}, auth=caller_with_many_grants)
    assert status == 403
    assert "datasources:uid:*" in body["message"]
