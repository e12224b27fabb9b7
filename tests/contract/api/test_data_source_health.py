"""The health check of a data source, whose response comes from the worker."""

from collections.abc import AsyncIterator

import orjson
import pytest
from tests.contract.api.conftest import Api, StartApi
from tests.signer import SIGNER

from dashwright.common.identity import Role
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.messaging.rpc import Reply, Request, RpcServer
from dashwright.common.models.query_context import QueryContext, QueryEndpoint

PATH = "/api/datasources"


class FakeWorker:
    """A worker that finds the data source ``good`` healthy and all others unhealthy, and records the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[QueryContext, object]] = []

    async def respond(self, request: Request) -> Reply:
        """Record a request and return the health of its data source."""
        uid = orjson.loads(request.body)["uid"]
        self.requests.append((QueryContext.from_headers(request.headers), orjson.loads(request.body)))
        if uid == "good":
            return Reply(b'{"status":"OK","message":"It works"}', {"status": 200, "content_type": "application/json"})
        return Reply(b'{"status":"ERROR","message":"connection refused"}', {"status": 400, "content_type": "application/json"})


@pytest.fixture
async def worker(broker: MemoryBroker) -> AsyncIterator[FakeWorker]:
    """Start a fake worker for the queue of queries."""
    worker = FakeWorker()
    server = RpcServer(broker, broker.topology.query, worker.respond, SIGNER, prefetch=4)
    await server.start()
    yield worker
    await server.stop(drain=1)


async def create_source(api: Api, uid: str) -> int:
    """Create a data source whose name is its uid, and return its id."""
    status, body = await api("POST", PATH, {"name": uid, "type": "prometheus", "uid": uid})
    assert status == 200, body
    source_id: int = body["id"]
    return source_id


async def test_the_workers_response_is_passed_on(api: Api, worker: FakeWorker) -> None:
    """The response of the worker is returned with its status, for a data source by uid or by id.

    The request to the worker names the organization, and asks for a fresh result.
    """
    healthy_id, failing_id = await create_source(api, "good"), await create_source(api, "bad")
    for path in ("uid/good", str(healthy_id)):
        assert await api("GET", f"{PATH}/{path}/health") == (200, {"status": "OK", "message": "It works"})
    for path in ("uid/bad", str(failing_id)):
        assert await api("GET", f"{PATH}/{path}/health") == (400, {"status": "ERROR", "message": "connection refused"})
    assert worker.requests[0] == (QueryContext(QueryEndpoint.HEALTH, org_id=1, fresh=True), {"uid": "good"})
    assert len(worker.requests) == 4


async def test_a_check_requires_the_right_to_query(api: Api, worker: FakeWorker) -> None:
    """A check without the right to query is refused. An unknown data source is reported without a call to the worker."""
    source_id = await create_source(api, "good")
    viewer = await api.person("vic", Role.VIEWER)
    reader = await api.person("otto", Role.NONE, ("datasources:query", "datasources:uid:bad"), ("datasources:read", "*"))
    assert (await api("GET", f"{PATH}/uid/good/health", auth=viewer))[0] == 200
    # A Viewer may query data sources, but read the settings of none.
    assert worker.requests[0][0].readable == frozenset()
    for path in ("uid/good", str(source_id), "uid/none", "9007"):
        assert (await api("GET", f"{PATH}/{path}/health", auth=reader))[0] == 403
    for path in ("uid/none", "9007"):
        assert await api("GET", f"{PATH}/{path}/health") == (404, {"message": "Data source not found"})
    assert await api("GET", f"{PATH}/x/health") == (400, {"message": "id is invalid"})
    assert len(worker.requests) == 1


async def test_without_a_worker_a_check_fails_like_a_query(start_api: StartApi) -> None:
    """A check that no worker serves returns 504 at the deadline."""
    api = await start_api(query_seconds=0.2)
    await create_source(api, "good")
    assert (await api("GET", f"{PATH}/uid/good/health"))[0] == 504
    assert (await api("POST", "/api/ds/query", {"queries": []}))[0] == 504
