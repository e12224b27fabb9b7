"""SQL expressions, which run at every endpoint if they are enabled. Their processes end with the worker."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from tests.acceptance.polling import wait_until
from tests.contract.api.test_evaluations import EVALUATIONS, EvaluationClient, raw_query

from dashwright.api.main import Gateway
from dashwright.common.clock import Clock
from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker
from dashwright.common.settings import load
from dashwright.expressions.main import ExpressionsWorker

STATEMENT = {"refId": "B", "type": "sql", "expression": "SELECT SUM(value) AS total FROM A"}


def child_processes() -> set[int]:
    """Return the ids of the processes that this one started and that have not been waited for."""
    threads = Path(f"/proc/{os.getpid()}/task")
    return {int(pid) for thread in threads.iterdir() for pid in (thread / "children").read_text().split()}


@pytest.fixture
async def evaluation_client(tmp_path: Path, database: Database) -> AsyncIterator[EvaluationClient]:
    """Start a gateway and a worker with SQL expressions, yield a client, and check that the worker's process ends."""
    settings = load(http_port=0, data_dir=tmp_path, secret_key="of tests only", features="sqlExpression", sql_slots=1)
    broker = MemoryBroker()
    before = child_processes()
    await broker.start()
    gateway, worker = Gateway(settings, database, broker, Clock()), ExpressionsWorker(settings, database, broker, Clock())
    await worker.start()

    async def has_child() -> bool:
        """Return True if one process was started since the beginning of the test."""
        return len(child_processes() - before) == 1

    # The worker starts a child before the first statement.
    await wait_until(has_child)
    async with aiohttp.ClientSession(await gateway.start()) as session:
        yield EvaluationClient(session, broker)
    await gateway.stop()
    await worker.stop()
    await broker.close()
    assert child_processes() - before == set()


async def test_a_statement_runs_at_every_endpoint(evaluation_client: EvaluationClient) -> None:
    """A SQL expression runs as a query, as a panel's target and in an evaluation, and a panel with one is valid."""
    source = raw_query("A", [1, 2, 3])
    panel: dict[str, Any] = {"type": "table", "targets": [STATEMENT], "queries": [source]}
    for path, body in (("/api/ds/query", {"queries": [source, STATEMENT]}), ("/api/panels/query", panel)):
        status, response = await evaluation_client.call("POST", path, json=body)
        assert (status, orjson.loads(response)["results"]["B"]["frames"][0]["data"]["values"]) == (200, [[6.0]]), path
    assert orjson.loads((await evaluation_client.call("POST", "/api/panels/validate", json=panel))[1]) == {"valid": True, "faults": []}
    await evaluation_client.submit({"panel": {"type": "table", "targets": [STATEMENT]}, "queries": [source]}, name="job")
    assert (await evaluation_client.wait_for_end("job"))["status"]["state"] == "success"
    status, response = await evaluation_client.call("GET", f"{EVALUATIONS}/job/result")
    assert (status, orjson.loads(response)["results"]["B"]["frames"][0]["data"]["values"]) == (200, [[6.0]])
