"""A client of batches, over a gateway and workers with a real database and the in-memory broker."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from tests.contract.api.conftest import ADMIN, Api

from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.broker import Broker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker
from dashwright.jobs_worker.main import JobsWorker

BATCHES = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"
ENDED_STATES = frozenset({"success", "error", "cancelled"})

Condition = Callable[[dict[str, Any]], bool]


def evaluation(value: float, *, item_id: str | None = None, expression: str = "$A * 2") -> dict[str, Any]:
    """Return an item that evaluates an expression over one point with a value."""
    fields = [{"name": "time", "type": "time"}, {"name": "value", "type": "number"}]
    frames = json.dumps([{"schema": {"fields": fields}, "data": {"values": [[1_700_000_000_000], [value]]}}])
    source = {"type": "grafana-testdata-datasource"}
    query = {"refId": "A", "datasource": source, "scenarioId": "raw_frame", "rawFrameContent": frames, "hide": True}
    panel = {"type": "timeseries", "targets": [{"refId": "B", "type": "math", "expression": expression}]}
    item: dict[str, Any] = {"kind": "Evaluation", "spec": {"panel": panel, "queries": [query]}}
    return item if item_id is None else {"id": item_id, **item}


class BatchClient:
    """A client of the batches of one organization."""

    def __init__(self, api: Api) -> None:
        self.api = api

    async def create(self, name: str, **spec: Any) -> dict[str, Any]:
        """Create a batch and return it."""
        status, created = await self.api("POST", BATCHES, {"metadata": {"name": name}, "spec": spec})
        assert status == 201, created
        batch: dict[str, Any] = created
        return batch

    async def post(self, name: str, subresource: str, body: Any = None) -> tuple[int, Any]:
        """Send a request to a subresource of a batch, such as ``cancel``."""
        return await self.api("POST", f"{BATCHES}/{name}/{subresource}", body)

    async def upload(self, name: str, items: Iterable[Any], *, close: bool) -> None:
        """Add items to a batch, and optionally close it."""
        lines = "\n".join(map(json.dumps, items))
        address = f"{BATCHES}/{name}/items?close={str(close).lower()}"
        headers = {"Content-Type": "application/x-ndjson", "Authorization": ADMIN}
        async with self.api.session.post(address, data=lines, headers=headers) as response:
            assert response.status == 200, await response.text()

    async def items(self, name: str, **query: Any) -> list[dict[str, Any]]:
        """Return the first page of items."""
        status, page = await self.api("GET", f"{BATCHES}/{name}/items", params=query)
        assert status == 200, page
        items: list[dict[str, Any]] = page["items"]
        return items

    async def status(self, name: str) -> dict[str, Any]:
        """Return the present status of a batch."""
        code, batch = await self.api("GET", f"{BATCHES}/{name}")
        assert code == 200, batch
        status: dict[str, Any] = batch["status"]
        return status

    async def wait_until(self, name: str, condition: Condition) -> dict[str, Any]:
        """Watch a batch until its status meets a condition, and return that status."""
        async with asyncio.timeout(60):
            async with self.watch(name) as statuses:
                async for status in statuses:
                    if condition(status):
                        return status
        raise AssertionError("the watch ended")

    async def wait_for_end(self, name: str) -> dict[str, Any]:
        """Return the status of a batch once it has ended."""
        return await self.wait_until(name, lambda status: status["state"] in ENDED_STATES)

    @asynccontextmanager
    async def watch(self, name: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Yield the statuses of a batch: the present one, and each one that is written."""
        query = {"watch": "true", "fieldSelector": f"metadata.name={name}", "sendInitialEvents": "true"}
        query["resourceVersionMatch"] = "NotOlderThan"
        async with self.api.session.get(BATCHES, params=query, headers={"Authorization": ADMIN}) as response:
            assert response.status == 200, await response.text()

            async def statuses() -> AsyncIterator[dict[str, Any]]:
                """Yield the status of the batch after each change."""
                async for line in response.content:
                    event = json.loads(line)
                    if event["type"] != "BOOKMARK":
                        yield event["object"]["status"]

            yield statuses()


@asynccontextmanager
async def batch_workers(database: Database, broker: Broker, **settings: Any) -> AsyncIterator[None]:
    """Run a jobs worker, which schedules no syncs, and an expressions worker."""
    loaded = load(secret_key="of tests only", scheduling=False, **settings)
    workers = JobsWorker(loaded, database, broker, Clock()), ExpressionsWorker(loaded, database, broker, Clock())
    for worker in workers:
        await worker.start()
    yield
    for worker in workers:
        await worker.stop()
