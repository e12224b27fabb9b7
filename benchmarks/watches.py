"""W: many watchers on one gateway, and a namespace with very many dashboards.

The watchers: memory and time of the process while nothing happens, compared with aiohttp alone holding as many
responses open; then the time until every concerned watcher has received a change. The namespace: the peak memory of
the gateway while it is listed, paged and watched from the start.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import asyncpg
from tests.acceptance.processes import Stack

from benchmarks.bare_gateway import DASHBOARDS
from benchmarks.http_connection import Wire
from benchmarks.measurement import Row
from benchmarks.processes import peak_memory, resident_memory

CROWD = 10_000
HEARERS = 1_000
MANY = 100_000

_MEMORY = 300.0
"""MB that a gateway may take under load."""

_AT_ONCE = 100
"""Connections opened at the same time."""

_IDLE_SECONDS = 20.0
_COLLECTION = DASHBOARDS.format(namespace="default")
_FOLDERS = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
_BODY = {"panels": [{"id": 1, "type": "timeseries", "title": "Requests", "targets": [{"refId": "A", "expr": "rate(requests[5m])"}]}]}


class WatchConnection(asyncio.Protocol):
    """The client side of one watch."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.WriteTransport | None = None
        self.received: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Check the response's head, then record the time of each event."""
        if not self.begun and not data.startswith(b"HTTP/1.1 200"):
            self.received.set_exception(AssertionError(data.decode()))
        self.begun = True
        if not self.received.done():
            self.received.set_result(time.perf_counter())

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the expected event."""
        if not self.received.done():
            self.received.set_exception(exc or ConnectionResetError("the watch ended"))

    def expect(self) -> None:
        """Prepare for the next event, whose time ``received`` returns."""
        self.received = asyncio.get_running_loop().create_future()

    def close(self) -> None:
        """Close the connection."""
        self.received.cancel()
        assert self._transport is not None
        self._transport.abort()


async def crowd(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure waiting watchers, and the delivery of changes."""
    _allow_files()
    async with AsyncExitStack() as opened:
        bare = await _bare(opened)
    async with AsyncExitStack() as opened:
        stack = Stack(database_url, amqp_url, folder)
        await stack.gateway.start()
        opened.push_async_callback(stack.gateway.stop)
        address = str((await stack.gateway.event("serving"))["address"])
        wire = await Wire.open(address)
        opened.push_async_callback(wire.close)
        version = await _position(wire)
        at_rest = resident_memory(stack.gateway.pid)
        watchers = await _open_watches(opened, address, _watch(wire, _COLLECTION, version), HEARERS)
        others = await _open_watches(opened, address, _watch(wire, _FOLDERS, version), CROWD - HEARERS)
        before = _seconds_of(stack.gateway.pid)
        await asyncio.sleep(_IDLE_SECONDS)
        busy = (_seconds_of(stack.gateway.pid) - before) / _IDLE_SECONDS
        waiting = resident_memory(stack.gateway.pid)
        soon = await _delivery_seconds(wire, watchers, _COLLECTION)
        later = await _delivery_seconds(wire, others, _FOLDERS)
    each = (waiting - at_rest) * 1000 / CROWD
    return [
        Row("W1", f"{CROWD:,} idle watchers, the gateway's memory", "MB", waiting, _MEMORY, 1),
        Row("W1", "a watcher, to a held answer of bare aiohttp", "kB", each, bare, 2),
        Row("W1", f"{CROWD:,} idle watchers, share of a core", "%", busy * 100, 2, 1),
        Row("W2", f"{HEARERS:,} watchers receive a change", "s", soon, 1, 1),
        Row("W2", f"{CROWD - HEARERS:,} watchers receive a change", "s", later, 10, 1),
    ]


async def namespace(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure a namespace with very many dashboards."""
    await _fill(database_url)
    async with AsyncExitStack() as opened:
        stack = Stack(database_url, amqp_url, folder)
        await stack.gateway.start()
        opened.push_async_callback(stack.gateway.stop)
        wire = await Wire.open(str((await stack.gateway.event("serving"))["address"]))
        opened.push_async_callback(wire.close)
        found: list[Row] = []
        for what, read in (("listed", _listed), ("paged by 500", _paged), ("watched from the start", _watched)):
            count = await read(wire)
            assert count == MANY, f"{count} dashboards were {what}"
            found.append(Row("W3", f"{MANY:,} dashboards {what}, the gateway's memory", "MB", peak_memory(stack.gateway.pid), _MEMORY, 1))
    return found


async def _open_watches(opened: AsyncExitStack, address: str, request: bytes, number: int) -> Sequence[WatchConnection]:
    """Open so many watches, each begun."""
    parts, loop = urlsplit(address), asyncio.get_running_loop()
    assert parts.hostname is not None
    assert parts.port is not None
    watchers: list[WatchConnection] = []
    for first in range(0, number, _AT_ONCE):
        count = min(_AT_ONCE, number - first)
        some = [loop.create_connection(lambda: WatchConnection(request), parts.hostname, parts.port) for _ in range(count)]
        joined = [watcher for _, watcher in await asyncio.gather(*some)]
        await asyncio.gather(*(watcher.received for watcher in joined))
        watchers += joined
    opened.callback(_close, watchers)
    return watchers


def _close(watchers: Sequence[WatchConnection]) -> None:
    for watcher in watchers:
        watcher.close()


async def _delivery_seconds(wire: Wire, watchers: Sequence[WatchConnection], path: str) -> float:
    """Return the seconds from the begin of a write until all watchers have received it; the slowest of three."""
    slowest = 0.0
    for index in range(3):
        for watcher in watchers:
            watcher.expect()
        began = time.perf_counter()
        body = json.dumps({"metadata": {"name": f"watched-{index}"}, "spec": {"title": f"{index}"}}).encode()
        await wire.call(wire.encode("POST", path, body), status=201)
        async with asyncio.timeout(60):
            slowest = max(slowest, max(await asyncio.gather(*(watcher.received for watcher in watchers))) - began)
    return slowest


async def _bare(opened: AsyncExitStack) -> float:
    """Return the kB of an open response of aiohttp alone."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.bare_watches", stdout=asyncio.subprocess.PIPE)
    opened.push_async_callback(process.wait)
    opened.callback(process.terminate)
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    before = resident_memory(process.pid)
    await _open_watches(opened, address, f"GET / HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n".encode(), CROWD)
    return (resident_memory(process.pid) - before) * 1000 / CROWD


async def _fill(database_url: str) -> None:
    """Store very many dashboards, as a sync leaves them."""
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            await connection.execute("set local statement_timeout = 0")
            await connection.execute(
                """insert into resource (uid, api_group, resource, namespace, name, resource_version, generation, stored_version, title,
                       labels, annotations, created_at, created_by, content_hash, metadata)
                   select gen_random_uuid(), 'dashboard.grafana.app', 'dashboards', 'default', 'd' || number, 0, 1, 'v0alpha1',
                          'Dashboard ' || number, '{}', '{}', now(), 'user:1', '', ''
                   from generate_series(1, $1) number""",
                MANY,
            )
            await connection.execute(
                """insert into resource_history (uid, generation, resource_version, metadata, stored_version, spec, created_by)
                   select uid, 1, resource_version, metadata, 'v0alpha1', $1, 'user:1' from resource""",
                json.dumps(_BODY),
            )
        await connection.execute("analyze")
    finally:
        await connection.close()


async def _listed(wire: Wire) -> int:
    listed = await wire.call(wire.encode("GET", _COLLECTION), status=200)
    return len(json.loads(listed)["items"])


async def _paged(wire: Wire) -> int:
    count, token = 0, ""
    while True:
        page = json.loads(await wire.call(wire.encode("GET", f"{_COLLECTION}?limit=500&continue={token}"), status=200))
        count += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            return count


async def _watched(wire: Wire) -> int:
    path = f"{_COLLECTION}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    told = await wire.call(wire.encode("GET", path), status=200)
    return told.count(b'{"type":"ADDED"')


def _watch(wire: Wire, path: str, version: str) -> bytes:
    return wire.encode("GET", f"{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}")


async def _position(wire: Wire) -> str:
    listed = await wire.call(wire.encode("GET", f"{_COLLECTION}?limit=1"), status=200)
    version: str = json.loads(listed)["metadata"]["resourceVersion"]
    return version


def _allow_files() -> None:
    """Raise the limit of open files: this process has the other end of each connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _seconds_of(pid: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
