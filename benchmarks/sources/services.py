"""The processes of these benchmarks: the gateway and the expressions worker of the product, and the stub of Prometheus."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self

import orjson
from tests.acceptance.client import Client
from tests.acceptance.processes import Stack

from benchmarks.http_connection import HttpConnection
from benchmarks.processes import start, start_service, wait_for_line
from benchmarks.sources.workload import PROMETHEUS, Workload, prometheus_request

GATEWAY: Final = "dashwright-api"
WORKER: Final = "dashwright-expressions"

_QUERY_PATH: Final = "/api/ds/query"

Encode = Callable[[Workload], bytes]
"""Returns the body of a request."""


def source_stack(database_url: str, amqp_url: str, folder: Path) -> Stack:
    """Return services that may connect to the loopback interface."""
    # The time limits are longer than the defaults, so that many concurrent requests do not fail on a busy machine.
    return Stack(
        database_url, amqp_url, folder, ALLOWED_HOSTS="127.0.0.0/8", QUERY_SECONDS="120", EVALUATION_SECONDS="110", SOURCE_SECONDS="100"
    )


async def start_stub(exit_stack: AsyncExitStack, folder: Path) -> str:
    """Start the stub of Prometheus and return its URL."""
    log = folder / "stub.log"
    await start(exit_stack, log, sys.executable, "-m", "benchmarks.sources.prometheus_stub")
    return await wait_for_line(log, lambda line: line.strip() if line.startswith("http://") else "")


class GatewayClient:
    """A client of a gateway with a pool of connections, and requests over one data source."""

    def __init__(self, address: str, idle_connections: asyncio.Queue[HttpConnection], encode: Encode) -> None:
        self._address = address
        self._idle_connections = idle_connections
        self._encode = encode

    @classmethod
    async def start(cls, exit_stack: AsyncExitStack, stack: Stack, folder: Path, stub: str, *, connections: int = 1) -> Self:
        """Start a gateway, and create the data source of the stub, whose URL is ``stub``."""
        address = await start_service(exit_stack, stack, GATEWAY, folder)
        idle_connections: asyncio.Queue[HttpConnection] = asyncio.Queue()
        for _ in range(connections):
            http = await HttpConnection.open(address)
            exit_stack.push_async_callback(http.close)
            idle_connections.put_nowait(http)
        client = cls(address, idle_connections, prometheus_request)
        await client.add_source({"name": PROMETHEUS, "uid": PROMETHEUS, "type": "prometheus", "url": stub})
        return client

    async def add_source(self, source: Mapping[str, Any]) -> None:
        """Create a data source."""
        async with Client(self._address) as client:
            await client.call("POST", "/api/datasources", json=source)

    def with_requests(self, encode: Encode) -> Self:
        """Return a client with the same connections and other requests."""
        return type(self)(self._address, self._idle_connections, encode)

    async def call(self, workload: Workload) -> bytes:
        """Send the request of a workload when a connection is idle, and return the body of the response."""
        return await self.send(self._encode(workload))

    async def send(self, body: bytes) -> bytes:
        """Send a body when a connection is idle, and return the body of the response."""
        http = await self._idle_connections.get()
        try:
            return await http.call(http.encode("POST", _QUERY_PATH, body), status=200)
        finally:
            self._idle_connections.put_nowait(http)


def values_of(workload: Workload, response: bytes) -> dict[tuple[tuple[str, str], ...], list[float]]:
    """Return the values of each labelled field in the body of a response, by its sorted pairs of name and value of a label."""
    return {
        tuple(sorted(field["labels"].items())): values
        for frame in orjson.loads(response)["results"][workload.output]["frames"]
        for field, values in zip(frame["schema"]["fields"], frame["data"]["values"], strict=True)
        if "labels" in field
    }
