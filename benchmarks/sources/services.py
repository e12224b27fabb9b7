"""The product as processes, a gateway and an expressions worker, with the stub as a data source."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, Self

import orjson
from tests.acceptance.client import Client
from tests.acceptance.processes import Stack

from benchmarks.http_connection import Wire
from benchmarks.processes import read_line, start, start_service
from benchmarks.sources.workload import PROMETHEUS, Work, prometheus_request

GATEWAY: Final = "dashwright-api"
WORKER: Final = "dashwright-expressions"

_QUERY: Final = "/api/ds/query"

Encode = Callable[[Work], bytes]


def stack_of(database_url: str, amqp_url: str, folder: Path) -> Stack:
    """Return the services with the settings of these rows."""
    # A busy machine must not fail the rows with many concurrent requests.
    return Stack(
        database_url, amqp_url, folder, ALLOWED_HOSTS="127.0.0.0/8", QUERY_SECONDS="120", EVALUATION_SECONDS="110", SOURCE_SECONDS="100"
    )


async def start_stub(opened: AsyncExitStack, folder: Path) -> str:
    """Start the stub and return its address."""
    log = folder / "stub.log"
    await start(opened, log, sys.executable, "-m", "benchmarks.sources.prometheus_stub")
    return await read_line(log, lambda line: line.strip() if line.startswith("http://") else "")


class Product:
    """Connections to a gateway."""

    def __init__(self, address: str, idle: asyncio.Queue[Wire], encode: Encode) -> None:
        self._address = address
        self._idle = idle
        self._encode = encode

    @classmethod
    async def open(cls, opened: AsyncExitStack, stack: Stack, folder: Path, stub: str, *, connections: int = 1) -> Self:
        """Start the gateway and create the data source of the stub."""
        address = await start_service(opened, stack, GATEWAY, folder)
        idle: asyncio.Queue[Wire] = asyncio.Queue()
        for _ in range(connections):
            wire = await Wire.open(address)
            opened.push_async_callback(wire.close)
            idle.put_nowait(wire)
        product = cls(address, idle, prometheus_request)
        await product.add_source({"name": PROMETHEUS, "uid": PROMETHEUS, "type": "prometheus", "url": stub})
        return product

    async def add_source(self, source: Mapping[str, Any]) -> None:
        """Create a data source."""
        async with Client(self._address) as client:
            await client.call("POST", "/api/datasources", json=source)

    def over(self, encode: Encode) -> Self:
        """Return the same connections with requests over another data source."""
        return type(self)(self._address, self._idle, encode)

    async def call(self, work: Work) -> bytes:
        """Return the response to a request, once a connection is idle."""
        return await self.send(self._encode(work))

    async def send(self, body: bytes) -> bytes:
        """Return the response to the body of a request, once a connection is idle."""
        wire = await self._idle.get()
        try:
            return await wire.call(wire.encode("POST", _QUERY, body), status=200)
        finally:
            self._idle.put_nowait(wire)


def values_of(work: Work, response: bytes) -> dict[tuple[tuple[str, str], ...], list[float]]:
    """Return the values of each field with labels in a response, by its labels."""
    return {
        tuple(sorted(field["labels"].items())): values
        for frame in orjson.loads(response)["results"][work.output]["frames"]
        for field, values in zip(frame["schema"]["fields"], frame["data"]["values"], strict=True)
        if "labels" in field
    }
