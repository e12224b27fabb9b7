"""Q6: the memory of each process with a batch of 100,000 evaluations, compared with a batch of 10,000.

``BATCH_SIZES=200,1000`` sets other sizes. Each batch has new processes and a new database.
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

_SIZES: Final = "10000,100000"
#: Items of one message, which is the largest number, and of one piece of the body over HTTP.
_ITEMS: Final = 1_000
_BATCHES: Final = "/apis/jobs.dashwright.io/v0alpha1/namespaces/default/batches"
_NAME: Final = "bench"
_GROWTH: Final = 1.1
_POLL_SECONDS: Final = 0.5
#: A batch that is not drained after this time has a stuck item. On a busy machine, an evaluation takes some hundredths of a second.
_DRAIN_SECONDS: Final = 7200

#: Storing the results of the last items is the last work on a batch.
_PROGRESS: Final = "select is_stored, success from batch where name = $1"


@dataclass(frozen=True, slots=True)
class _Servers:
    """The servers and the folder of one measurement."""

    database_url: str
    amqp_url: str
    folder: Path


Submit = Callable[[_Servers, Client, int], Awaitable[int]]
"""Submits so many items and returns how many were accepted."""


async def rows(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Return the rows of Q6: the process whose peak memory grows most with the batch, for each way and number of workers."""
    small, large = (int(size) for size in os.environ.get("BATCH_SIZES", _SIZES).split(","))
    server_url, template = databases.with_database(database_url, "postgres"), urlsplit(database_url).path[1:]

    async def peaks(way: str, workers: int, size: int) -> dict[str, float]:
        async with databases.fresh(server_url, template) as url:
            servers = _Servers(url, amqp_url, folder / f"{way}-{workers}-{size}")
            return await _peaks(servers, _WAYS[way], workers, size)

    found = []
    for way, workers in _RUNS:
        of_small, of_large = await peaks(way, workers, small), await peaks(way, workers, large)
        service = max(of_large, key=lambda name: of_large[name] / of_small[name])
        path = f"{large:,} items by {way}, {workers} {'workers' if workers > 1 else 'worker'}: {service}, to {small:,}"
        found.append(Row("Q6", path, "MB", of_large[service], of_small[service], _GROWTH))
    return found


async def _peaks(servers: _Servers, submit: Submit, workers: int, size: int) -> dict[str, float]:
    """Submit and drain a batch, and return the peak memory of each service: that of the largest process, in MB."""
    stack = Stack(servers.database_url, servers.amqp_url, servers.folder, DATA_DIR=str(servers.folder), JOB_LEASE_SECONDS="30")
    async with AsyncExitStack() as opened:
        observer = await asyncpg.connect(servers.database_url)
        opened.push_async_callback(observer.close)
        # The gateway is first, because it creates the first user.
        services = ["dashwright-api", "dashwright-jobs-worker", *["dashwright-expressions"] * workers]
        launched = [
            await launch_service(opened, stack, name, servers.folder / f"{number}-{name}.log") for number, name in enumerate(services)
        ]
        client = await opened.enter_async_context(Client(launched[0].address))
        await client.call("POST", _BATCHES, status=201, json={"metadata": {"name": _NAME}, "spec": {}})
        accepted = await submit(servers, client, size)
        assert accepted == size, f"{accepted} of {size} items were accepted"
        await client.call("POST", f"{_BATCHES}/{_NAME}/close")
        await _drained(observer, size)
        peaks: dict[str, float] = {}
        for service in launched:
            peaks[service.name] = max(peaks.get(service.name, 0.0), peak_memory(service.pid))
        return peaks


async def _drained(observer: "asyncpg.Connection[Any]", size: int) -> None:
    """Wait until the results of all items are in storage."""
    async with asyncio.timeout(_DRAIN_SECONDS):
        while True:
            [(is_stored, successful)] = await observer.fetch(_PROGRESS, _NAME)
            if is_stored:
                break
            await asyncio.sleep(_POLL_SECONDS)
    assert successful == size, f"{successful} of {size} items succeeded"


def _parts(size: int) -> list[range]:
    """Return the numbers of the items of each message."""
    return [range(start, min(start + _ITEMS, size)) for start in range(0, size, _ITEMS)]


def _item(number: int) -> dict[str, Any]:
    return {"id": str(number), "kind": "Evaluation", "spec": spec()}


async def _by_http(_servers: _Servers, client: Client, size: int) -> int:
    """Upload all items in one request."""

    async def body() -> AsyncIterator[bytes]:
        for part in _parts(size):
            yield b"".join(orjson.dumps(_item(number)) + b"\n" for number in part)

    address, headers = f"{_BATCHES}/{_NAME}/items", {"Content-Type": "application/x-ndjson"}
    # The default limits the whole request to five minutes.
    timeout = aiohttp.ClientTimeout(total=None)
    async with client.request("POST", address, data=body(), headers=headers, timeout=timeout) as response:
        response.raise_for_status()
        return sum([orjson.loads(line)["status"] == "accepted" async for line in response.content])


async def _by_amqp(servers: _Servers, _client: Client, size: int) -> int:
    """Publish all messages without waiting for replies, and read the replies."""
    headers: HeadersType = {"authorization": FIRST_USER, "dashwright-batch": _NAME}
    mode = aio_pika.DeliveryMode.PERSISTENT
    async with await aio_pika.connect(servers.amqp_url) as connection:
        channel = await connection.channel(on_return_raises=True)
        exchange = await channel.get_exchange("dashwright.jobs")
        replies = await channel.declare_queue(exclusive=True)
        parts = _parts(size)
        for part in parts:
            body = orjson.dumps([_item(number) for number in part])
            message = aio_pika.Message(body, headers=headers, delivery_mode=mode, reply_to=replies.name)
            await exchange.publish(message, routing_key="submit.default")
        accepted = 0
        async with asyncio.timeout(_DRAIN_SECONDS), replies.iterator(no_ack=True) as received:
            for _ in parts:
                reply = orjson.loads((await anext(received)).body)
                assert reply["kind"] == "BatchSubmission", reply
                accepted += sum(item["status"] == "accepted" for item in reply["items"])
        return accepted


_WAYS: Final[dict[str, Submit]] = {"HTTP": _by_http, "AMQP": _by_amqp}
#: Each way, and each number of workers: all combinations would take twice as long.
_RUNS: Final = (("HTTP", 1), ("AMQP", 2), ("HTTP", 4))
