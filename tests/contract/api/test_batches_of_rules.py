"""Batches of alert rules over one data source, with a counting server as the data source."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.contract.api.batch_client import BatchClient, batch_workers
from tests.contract.api.conftest import Api
from tests.unit.expressions.sources.servers import FakeServer, respond_with, success

from dashwright.common.database.pool import Database
from dashwright.common.messaging.memory import MemoryBroker

#: The number of rules of a batch.
RULES = 50


@pytest.fixture
async def data_source(api: Api) -> AsyncIterator[FakeServer]:
    """Yield the server of the data source ``prom``. The server records its requests, and returns ten series."""
    server = FakeServer(respond_with(success("vector", [{"metric": {"host": str(host)}, "value": [1, str(host)]} for host in range(10)])))
    async with server.server:
        record = {"name": "prom", "type": "prometheus", "uid": "prom", "url": server.url}
        status, created = await api("POST", "/api/datasources", record)
        assert status == 200, created
        yield server


def rule(threshold: int) -> dict[str, Any]:
    """Return an alert rule with a threshold. The query and its instant are the same for all thresholds."""
    query = {"refId": "A", "datasource": {"type": "prometheus", "uid": "prom"}, "expr": "up", "instant": True, "hide": True}
    evaluator = {"type": "gt", "params": [threshold]}
    target = {"refId": "B", "type": "threshold", "expression": "A", "conditions": [{"evaluator": evaluator}]}
    spec = {"panel": {"type": "timeseries", "targets": [target]}, "queries": [query], "from": "1767225600000", "to": "1767229200000"}
    return {"kind": "Evaluation", "spec": spec}


async def test_rules_over_one_query_send_one_request_to_the_data_source(
    api: Api, data_source: FakeServer, database: Database, broker: MemoryBroker, tmp_path: Any
) -> None:
    """A data source gets one request for all rules of a batch with the same query and time range."""
    client = BatchClient(api)
    settings = {"allowed_hosts": "127.0.0.1", "query_cache_seconds": 3600, "data_dir": tmp_path, "permitted_paths": str(tmp_path)}
    async with batch_workers(database, broker, **settings):
        await client.create("rules", items=[rule(threshold) for threshold in range(RULES)])
        status = await client.wait_for_end("rules")
    assert status["counts"]["success"] == RULES, status
    assert len(data_source.requests) == 1
