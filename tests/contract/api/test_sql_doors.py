"""A worker with sql expressions turned on: they run at every door, and nothing of theirs is left when it stops."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from tests.acceptance.polling import until
from tests.contract.api.test_evaluations import EVALUATIONS, Desk, raw

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

STATEMENT = {"refId": "B", "type": "sql", "expression": "SELECT SUM(value) AS total FROM A"}


def children() -> set[int]:
    """Processes that this one started and has not taken note of the end of."""
    started = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for task in started.iterdir() for pid in (task / "children").read_text().split()}


@pytest.fixture
async def desk(tmp_path: Path, database: Database) -> AsyncIterator[Desk]:
    settings = load(http_port=0, data_dir=tmp_path, secret_key="of tests only", features="sqlExpression", sql_slots=1)
    broker = MemoryBroker()
    before = children()
    await broker.start()
    gateway, worker = Gateway(settings, database, broker, Clock()), ExpressionsWorker(settings, database, broker, Clock())
    await worker.start()

    async def has_child() -> bool:
        return len(children() - before) == 1

    # The first child starts without a statement, while everything else is served.
    await until(has_child)
    async with aiohttp.ClientSession(await gateway.start()) as session:
        yield Desk(session, broker)
    await gateway.stop()
    await worker.stop()
    await broker.close()
    assert children() - before == set()


async def test_a_statement_runs_at_every_door(desk: Desk) -> None:
    """As a client's query, as a panel's target, and as a job; a panel with one is valid."""
    source = raw("A", [1, 2, 3])
    panel: dict[str, Any] = {"type": "table", "targets": [STATEMENT], "queries": [source]}
    for path, body in (("/api/ds/query", {"queries": [source, STATEMENT]}), ("/api/panels/query", panel)):
        status, found = await desk.call("POST", path, json=body)
        assert (status, orjson.loads(found)["results"]["B"]["frames"][0]["data"]["values"]) == (200, [[6.0]]), path
    assert orjson.loads((await desk.call("POST", "/api/panels/validate", json=panel))[1]) == {"valid": True, "faults": []}
    await desk.submit({"panel": {"type": "table", "targets": [STATEMENT]}, "queries": [source]}, name="job")
    assert (await desk.ended("job"))["status"]["state"] == "success"
    status, found = await desk.call("GET", f"{EVALUATIONS}/job/result")
    assert (status, orjson.loads(found)["results"]["B"]["frames"][0]["data"]["values"]) == (200, [[6.0]])
