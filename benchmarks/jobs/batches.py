"""Q6: the memory of each process with a batch of 100,000 evaluations, compared with a batch of 10,000.

Each batch has new processes and a new database. ``BATCH_SIZES=200,1000`` sets other sizes.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aio_pika
import aiohttp
import asyncpg
import orjson
from aio_pika.abc import HeadersType
from tests.acceptance.client import FIRST_USER, Client
from tests.acceptance.processes import Stack
from tests.servers import databases

from benchmarks.jobs.small_jobs import spec
from benchmarks.measurement import Row
from benchmarks.processes import launch_service, peak_memory

#: The numbers of items of the small batch and of the large one.
_SIZES: Final = "10000,100000"
#: Items of one message, the largest number allowed, and of one chunk of the body over HTTP.
_ITEMS_PER_CHUNK: Final = 1_000
_BATCHES_PATH: Final = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"
_NAME: Final = "bench"
#: The goal: the memory with the large batch divided by that with the small one.
_GROWTH: Final = 1.1
_POLL_SECONDS: Final = 0.5
#: The longest time for a batch, enough for 100,000 evaluations on a busy machine. A batch that takes longer has a stuck item.
_DRAIN_SECONDS: Final = 7200

#: A batch has ended when all its results are stored.
_PROGRESS: Final = "select is_stored, success from batch where name = $1"


@dataclass(frozen=True, slots=True)
class _Servers:
    """The URLs of the servers, and the folder, of one measurement."""

    database_url: str
    amqp_url: str
    folder: Path


Submit = Callable[[_Servers, Client, int], Awaitable[int]]
"""Submits a number of items, and returns how many were accepted."""


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of Q6, one for each of ``_RUNS``: the service whose peak memory grows most with the size of the batch."""
    small, large = (int(size) for size in os.environ.get("BATCH_SIZES", _SIZES).split(","))
    server_url, template = databases.with_database(database_url, "postgres"), urlsplit(database_url).path[1:]

    async def measure_peaks(protocol: str, workers: int, size: int) -> dict[str, float]:
        async with databases.temporary_database(server_url, template) as url:
            servers = _Servers(url, amqp_url, folder / f"{protocol}-{workers}-{size}")
            return await _peaks(servers, _SUBMIT_FUNCTIONS[protocol], workers, size)

    rows = []
    for protocol, workers in _RUNS:
        small_peaks, large_peaks = await measure_peaks(protocol, workers, small), await measure_peaks(protocol, workers, large)
        service = max(large_peaks, key=lambda name: large_peaks[name] / small_peaks[name])
        path = f"{large:,} items by {protocol}, {workers} {'workers' if workers > 1 else 'worker'}: {service}, to {small:,}"
        rows.append(Row("Q6", path, "MB", large_peaks[service], small_peaks[service], _GROWTH))
    return rows


async def _peaks(servers: _Servers, submit: Submit, workers: int, size: int) -> dict[str, float]:
    """Run a batch to its end, and return the peak memory by service: that of the largest process, in MB."""
    stack = Stack(servers.database_url, servers.amqp_url, servers.folder, DATA_DIR=str(servers.folder), JOB_LEASE_SECONDS="30")
    async with AsyncExitStack() as exit_stack:
        observer = await asyncpg.connect(servers.database_url)
        exit_stack.push_async_callback(observer.close)
        # The gateway is first, because it creates the first user.
        services = ["dashwright-api", "dashwright-jobs-worker", *["dashwright-expressions"] * workers]
        launched = [
            await launch_service(exit_stack, stack, name, servers.folder / f"{number}-{name}.log") for number, name in enumerate(services)
        ]
        client = await exit_stack.enter_async_context(Client(launched[0].address))
        await client.call("POST", _BATCHES_PATH, status=201, json={"metadata": {"name": _NAME}, "spec": {}})
        accepted = await submit(servers, client, size)
        assert accepted == size, f"{accepted} of {size} items were accepted"
        await client.call("POST", f"{_BATCHES_PATH}/{_NAME}/close")
        await _wait_until_stored(observer, size)
        peaks: dict[str, float] = {}
        for service in launched:
            peaks[service.name] = max(peaks.get(service.name, 0.0), peak_memory(service.pid))
        return peaks


async def _wait_until_stored(observer: "asyncpg.Connection[Any]", size: int) -> None:
    """Wait until the results of all items are in storage."""
    async with asyncio.timeout(_DRAIN_SECONDS):
        while True:
            [(is_stored, successful)] = await observer.fetch(_PROGRESS, _NAME)
            if is_stored:
                break
            await asyncio.sleep(_POLL_SECONDS)
    assert successful == size, f"{successful} of {size} items succeeded"


def _chunks(size: int) -> list[range]:
    """Return the numbers of the items of each chunk."""
    return [range(start, min(start + _ITEMS_PER_CHUNK, size)) for start in range(0, size, _ITEMS_PER_CHUNK)]


def _item(number: int) -> dict[str, Any]:
    """Return an item that evaluates a small panel."""
    return {"id": str(number), "kind": "Evaluation", "spec": spec()}


async def _submit_by_http(_servers: _Servers, client: Client, size: int) -> int:
    """Upload all items in one request."""

    async def body() -> AsyncIterator[bytes]:
        for chunk in _chunks(size):
            yield b"".join(orjson.dumps(_item(number)) + b"\n" for number in chunk)

    address, headers = f"{_BATCHES_PATH}/{_NAME}/items", {"Content-Type": "application/x-ndjson"}
    # The default limits the whole request to five minutes.
    timeout = aiohttp.ClientTimeout(total=None)
    async with client.request("POST", address, data=body(), headers=headers, timeout=timeout) as response:
        response.raise_for_status()
        return sum([orjson.loads(line)["status"] == "accepted" async for line in response.content])


async def _submit_by_amqp(servers: _Servers, _client: Client, size: int) -> int:
    """Publish all messages without waiting for replies, and read the replies."""
    headers: HeadersType = {"authorization": FIRST_USER, "dashwright-batch": _NAME}
    mode = aio_pika.DeliveryMode.PERSISTENT
    async with await aio_pika.connect(servers.amqp_url) as connection:
        channel = await connection.channel(on_return_raises=True)
        exchange = await channel.get_exchange("dashwright.jobs")
        replies = await channel.declare_queue(exclusive=True)
        chunks = _chunks(size)
        for chunk in chunks:
            body = orjson.dumps([_item(number) for number in chunk])
            message = aio_pika.Message(body, headers=headers, delivery_mode=mode, reply_to=replies.name)
            await exchange.publish(message, routing_key="submit.default")
        accepted = 0
        async with asyncio.timeout(_DRAIN_SECONDS), replies.iterator(no_ack=True) as received:
            for _ in chunks:
                reply = orjson.loads((await anext(received)).body)
                assert reply["kind"] == "BatchSubmission", reply
                accepted += sum(item["status"] == "accepted" for item in reply["items"])
        return accepted


_SUBMIT_FUNCTIONS: Final[dict[str, Submit]] = {"HTTP": _submit_by_http, "AMQP": _submit_by_amqp}
#: Protocol and number of workers of each run. Each occurs, but not each combination, which would take twice as long.
_RUNS: Final = (("HTTP", 1), ("AMQP", 2), ("HTTP", 4))
