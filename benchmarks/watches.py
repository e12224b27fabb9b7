"""W: ten thousand watches on one gateway, and a namespace with 100,000 dashboards.

W1 is the memory and the processor time of the gateway while the watches are idle, compared with aiohttp alone with as many open
responses. W2 is the time until all watches of a collection have received a change. W3 is the peak memory of the gateway while the
dashboards of the namespace are listed, listed in pages, and watched with initial events.
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

from benchmarks.bare_gateway import DASHBOARDS_ROUTE
from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Row
from benchmarks.processes import peak_memory, processor_seconds, resident_memory

#: Watches of dashboards, and of folders.
_DASHBOARD_WATCHES = 1_000
_FOLDER_WATCHES = 9_000
_WATCHES = _DASHBOARD_WATCHES + _FOLDER_WATCHES
#: Dashboards of W3.
_DASHBOARDS = 100_000
#: The goal for the memory of a gateway under load.
_MEMORY_MB = 300.0
#: Connections that are opened concurrently, fewer than the backlog of a listening socket.
_CONCURRENT_CONNECTIONS = 100
#: The duration in which the processor time of idle watches is measured.
_IDLE_SECONDS = 20.0
#: Writes of W2, of which the slowest delivery counts.
_MEASURED_WRITES = 3
#: The collections of the default namespace.
_DEFAULT_DASHBOARDS_PATH = DASHBOARDS_ROUTE.format(namespace="default")
_DEFAULT_FOLDERS_PATH = "/apis/folder.grafana.app/v0alpha1/namespaces/default/folders"
#: The spec of each dashboard of W3.
_SPEC = {"panels": [{"id": 1, "type": "timeseries", "title": "Requests", "targets": [{"refId": "A", "expr": "rate(requests[5m])"}]}]}


class WatchConnection(asyncio.Protocol):
    """The client side of one watch, with a future of the time of the next event."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._transport: asyncio.WriteTransport | None = None
        #: The time at which the next data arrive, at first the head of the response.
        self.received: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._is_accepted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the request."""
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Check the head of the response, and set the time of the expected data."""
        if not self._is_accepted and not data.startswith(b"HTTP/1.1 200"):
            self.received.set_exception(AssertionError(data.decode()))
        self._is_accepted = True
        if not self.received.done():
            self.received.set_result(time.perf_counter())

    def connection_lost(self, exc: Exception | None) -> None:
        """Raise an error in the task that waits for the next event."""
        if not self.received.done():
            self.received.set_exception(exc or ConnectionResetError("the watch ended"))

    def expect(self) -> None:
        """Replace ``received`` by a future of the time of the next event."""
        self.received = asyncio.get_running_loop().create_future()

    def close(self) -> None:
        """Close the connection."""
        self.received.cancel()
        assert self._transport is not None
        self._transport.abort()


async def many_watches(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure W1 and W2, idle watches and the delivery of changes."""
    _raise_open_files_limit()
    async with AsyncExitStack() as exit_stack:
        bare_kb = await _bare_kb(exit_stack)
    async with AsyncExitStack() as exit_stack:
        stack = Stack(database_url, amqp_url, folder)
        await stack.gateway.start()
        exit_stack.push_async_callback(stack.gateway.stop)
        address = str((await stack.gateway.event("serving"))["address"])
        http = await HttpConnection.open(address)
        exit_stack.push_async_callback(http.close)
        version = await _resource_version(http)
        memory_before_mb = resident_memory(stack.gateway.pid)
        dashboard_watches = await _open_watches(
            exit_stack, address, _watch_request(http, _DEFAULT_DASHBOARDS_PATH, version), _DASHBOARD_WATCHES
        )
        folder_watches = await _open_watches(exit_stack, address, _watch_request(http, _DEFAULT_FOLDERS_PATH, version), _FOLDER_WATCHES)
        seconds_before = processor_seconds(stack.gateway.pid)
        await asyncio.sleep(_IDLE_SECONDS)
        core_share = (processor_seconds(stack.gateway.pid) - seconds_before) / _IDLE_SECONDS
        idle_memory_mb = resident_memory(stack.gateway.pid)
        dashboard_seconds = await _delivery_seconds(http, dashboard_watches, _DEFAULT_DASHBOARDS_PATH)
        folder_seconds = await _delivery_seconds(http, folder_watches, _DEFAULT_FOLDERS_PATH)
    watch_kb = (idle_memory_mb - memory_before_mb) * 1000 / _WATCHES
    return [
        Row("W1", f"{_WATCHES:,} idle watchers, the gateway's memory", "MB", idle_memory_mb, _MEMORY_MB, 1),
        Row("W1", "a watcher, to an open response of bare aiohttp", "kB", watch_kb, bare_kb, 2),
        Row("W1", f"{_WATCHES:,} idle watchers, share of a core", "%", core_share * 100, 2, 1),
        Row("W2", f"{_DASHBOARD_WATCHES:,} watchers receive a change", "s", dashboard_seconds, 1, 1),
        Row("W2", f"{_FOLDER_WATCHES:,} watchers receive a change", "s", folder_seconds, 10, 1),
    ]


async def large_namespace(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure W3, reads of a namespace with many dashboards."""
    await _store_dashboards(database_url)
    async with AsyncExitStack() as exit_stack:
        stack = Stack(database_url, amqp_url, folder)
        await stack.gateway.start()
        exit_stack.push_async_callback(stack.gateway.stop)
        http = await HttpConnection.open(str((await stack.gateway.event("serving"))["address"]))
        exit_stack.push_async_callback(http.close)
        rows: list[Row] = []
        reads = {"listed": _count_in_list, "paged by 500": _count_in_pages, "watched from the start": _count_initial_events}
        for label, read in reads.items():
            count = await read(http)
            assert count == _DASHBOARDS, f"{count} dashboards were {label}"
            peak_mb = peak_memory(stack.gateway.pid)
            rows.append(Row("W3", f"{_DASHBOARDS:,} dashboards {label}, the gateway's memory", "MB", peak_mb, _MEMORY_MB, 1))
    return rows


async def _open_watches(exit_stack: AsyncExitStack, address: str, request: bytes, count: int) -> Sequence[WatchConnection]:
    """Open watches, and return their connections when each has received the head of its response."""
    parts, loop = urlsplit(address), asyncio.get_running_loop()
    assert parts.hostname is not None
    assert parts.port is not None
    watches: list[WatchConnection] = []
    while (missing := count - len(watches)) > 0:
        attempts = [
            loop.create_connection(lambda: WatchConnection(request), parts.hostname, parts.port)
            for _ in range(min(_CONCURRENT_CONNECTIONS, missing))
        ]
        new_watches = [watch for _, watch in await asyncio.gather(*attempts)]
        await asyncio.gather(*(watch.received for watch in new_watches))
        watches += new_watches
    exit_stack.callback(_close_watches, watches)
    return watches


def _close_watches(watches: Sequence[WatchConnection]) -> None:
    for watch in watches:
        watch.close()


async def _delivery_seconds(http: HttpConnection, watches: Sequence[WatchConnection], path: str) -> float:
    """Return the seconds from the start of a write until all watches have received its event, as the slowest of three writes."""
    slowest = 0.0
    for index in range(_MEASURED_WRITES):
        for watch in watches:
            watch.expect()
        started = time.perf_counter()
        body = json.dumps({"metadata": {"name": f"watched-{index}"}, "spec": {"title": f"{index}"}}).encode()
        await http.call(http.encode("POST", path, body), status=201)
        async with asyncio.timeout(60):
            event_times = await asyncio.gather(*(watch.received for watch in watches))
        slowest = max(slowest, max(event_times) - started)
    return slowest


async def _bare_kb(exit_stack: AsyncExitStack) -> float:
    """Return the kB of memory per open response of aiohttp alone."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "benchmarks.bare_watches", stdout=asyncio.subprocess.PIPE)
    exit_stack.push_async_callback(process.wait)
    exit_stack.callback(process.terminate)
    assert process.stdout is not None
    address = (await process.stdout.readline()).decode().strip()
    memory_before_mb = resident_memory(process.pid)
    request = f"GET / HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n".encode()
    await _open_watches(exit_stack, address, request, _WATCHES)
    return (resident_memory(process.pid) - memory_before_mb) * 1000 / _WATCHES


async def _store_dashboards(database_url: str) -> None:
    """Store the dashboards of W3 with two statements, which is faster than storing them as a sync does."""
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
                _DASHBOARDS,
            )
            await connection.execute(
                """insert into resource_history (uid, generation, resource_version, metadata, stored_version, spec, created_by)
                   select uid, 1, resource_version, metadata, 'v0alpha1', $1, 'user:1' from resource""",
                json.dumps(_SPEC),
            )
        await connection.execute("analyze")
    finally:
        await connection.close()


async def _count_in_list(http: HttpConnection) -> int:
    """Return the number of dashboards in one list."""
    body = await http.call(http.encode("GET", _DEFAULT_DASHBOARDS_PATH), status=200)
    return len(json.loads(body)["items"])


async def _count_in_pages(http: HttpConnection) -> int:
    """Return the number of dashboards in a list that is read page by page."""
    count, token = 0, ""
    while True:
        page = json.loads(await http.call(http.encode("GET", f"{_DEFAULT_DASHBOARDS_PATH}?limit=500&continue={token}"), status=200))
        count += len(page["items"])
        token = page["metadata"].get("continue", "")
        if not token:
            return count


async def _count_initial_events(http: HttpConnection) -> int:
    """Return the number of dashboards in the initial events of a watch that ends after a second."""
    path = f"{_DEFAULT_DASHBOARDS_PATH}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
    events = await http.call(http.encode("GET", path), status=200)
    return events.count(b'{"type":"ADDED"')


def _watch_request(http: HttpConnection, path: str, version: str) -> bytes:
    """Return the request of a watch of the changes after a resource version."""
    return http.encode("GET", f"{path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}")


async def _resource_version(http: HttpConnection) -> str:
    """Return the current resource version of the dashboards."""
    body = await http.call(http.encode("GET", f"{_DEFAULT_DASHBOARDS_PATH}?limit=1"), status=200)
    version: str = json.loads(body)["metadata"]["resourceVersion"]
    return version


def _raise_open_files_limit() -> None:
    """Raise the limit on open files, because each watch is a socket of this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
