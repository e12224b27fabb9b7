"""A gateway that is stopped while it sends responses completes them."""

import asyncio
import json
import signal
from typing import Any

import pytest
from aiohttp import ClientResponse
from tests.acceptance.client import Client
from tests.acceptance.conftest import MakeStack

#: Number of rows of the result of a query.
POINTS = 50_000
#: Number of concurrent requests.
CLIENTS = 4


def large_query() -> dict[str, Any]:
    """Return a query whose response of about 10 MB exceeds the buffers between a worker and a client that does not read."""
    fields = [{"name": "t", "type": "time"}, {"name": "v", "type": "number"}]
    frame = {"schema": {"fields": fields}, "data": {"values": [list(range(POINTS)), list(range(POINTS))]}}
    source = {"refId": "A", "datasource": {"type": "grafana-testdata-datasource"}, "hide": True}
    expressions = [{"refId": f"B{index}", "type": "math", "expression": f"$A / {index + 3}"} for index in range(10)]
    return {"queries": [source | {"scenarioId": "raw_frame", "rawFrameContent": json.dumps([frame])}, *expressions]}


@pytest.mark.parametrize("accept", ["application/json", "application/vnd.apache.arrow.stream"])
async def test_responses_that_have_begun_are_completed(make_stack: MakeStack, accept: str) -> None:
    """After SIGTERM, the gateway completes every response that it has begun, and then ends with status 0."""
    stack = await make_stack().start()
    query = large_query()
    async with Client(stack.address) as client:

        async def send_query() -> ClientResponse:
            """Send the query, and return when the head of the response has arrived."""
            return await client.request("POST", "/api/ds/query", json=query, headers={"Accept": accept})

        complete_body = await (await send_query()).read()
        responses = await asyncio.gather(*(send_query() for _ in range(CLIENTS)))
        stack.gateway.send(signal.SIGTERM)
        await stack.gateway.event("stopping")
        bodies = await asyncio.gather(*(response.read() for response in responses))
        assert all(response.status == 200 for response in responses)
        assert all(body == complete_body for body in bodies)
    assert await stack.gateway.wait() == 0
