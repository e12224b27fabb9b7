"""Memory and latency of a gateway whose clients request large responses and do not read them."""

import asyncio
import io
import json
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest
from tests.acceptance.client import DASHBOARDS, Client
from tests.acceptance.conftest import MakeStack
from tests.acceptance.processes import Service, Stack

pytestmark = pytest.mark.faults

MEBIBYTE = 1024 * 1024
MAX_MEMORY = 300 * MEBIBYTE
WATCH, LIST, GET = f"{DASHBOARDS}?watch=true", DASHBOARDS, f"{DASHBOARDS}/large-0"
VIEWER = ("viewer", "a password of a viewer")


@pytest.fixture
async def gateway(make_stack: MakeStack) -> Stack:
    """Return a stack in which only the gateway runs, with two dashboards of 4 MB and a user with the role Viewer."""
    stack = make_stack()
    await stack.gateway.start()
    stack.address = str((await stack.gateway.event("serving"))["address"])
    async with Client(stack.address) as client:
        login, password = VIEWER
        await client.call("POST", "/api/admin/users", json={"login": login, "password": password})
        for index in range(2):
            text = f"{index} " + "x" * (4 * MEBIBYTE)
            spec = {"title": f"Large {index}", "panels": [{"id": 1, "type": "text", "options": {"content": text}}]}
            body = json.dumps({"metadata": {"name": f"large-{index}"}, "spec": spec}).encode()
            await client.call("POST", DASHBOARDS, status=201, data=io.BytesIO(body), headers={"Content-Type": "application/json"})
    return stack


def memory_of(service: Service) -> int:
    """Return the resident memory of a process in bytes."""
    line = next(line for line in Path(f"/proc/{service.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


async def request_without_reading(address: str, path: str, open_connections: ExitStack) -> bytes:
    """Send a request over a connection that remains open. Return the first 15 bytes of the response, and read no more."""
    host, _, port = address.removeprefix("http://").partition(":")
    connection = open_connections.enter_context(socket.socket())
    # The buffer is small, so that the gateway has to keep the bytes that the client does not read.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, (host, int(port)))
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: {aiohttp.encode_basic_auth(*VIEWER)}\r\n\r\n"
    await loop.sock_sendall(connection, head.encode())
    return await loop.sock_recv(connection, 15)


async def measure_until_responses(stack: Stack, requests: Sequence[asyncio.Task[bytes]]) -> tuple[int, list[float]]:
    """Return the maximum memory of the gateway and the durations of its health checks in seconds, until all requests have a response."""
    maximum, seconds = 0, list[float]()
    async with Client(stack.address, authorization=None) as client:
        # The percentile of durations needs many checks, also without requests.
        while not all(request.done() for request in requests) or len(seconds) < 100:
            start_time = time.perf_counter()
            await client.response("GET", "/api/health")
            seconds.append(time.perf_counter() - start_time)
            maximum = max(maximum, memory_of(stack.gateway))
            await asyncio.sleep(0.02)
    return maximum, seconds


def percentile_95(seconds: Sequence[float]) -> float:
    """Return the duration that the longest twentieth of the durations reaches or exceeds."""
    return sorted(seconds)[-len(seconds) // 20]


# One body of 4 MB holds the event loop for about 20 ms, and several are begun before the budget is used up.
@pytest.mark.parametrize(
    ("path", "count", "max_latency"), [(WATCH, 100, 0.1), (LIST, 50, 0.1), (GET, 50, 0.25)], ids=["watches", "lists", "gets"]
)
async def test_unread_responses_take_little_memory(gateway: Stack, path: str, count: int, max_latency: float) -> None:
    """The memory and the latency of the gateway remain low. It may refuse further requests with 429, and then serves other clients."""
    with ExitStack() as stack:
        _, durations_without_load = await measure_until_responses(gateway, [])
        requests = [asyncio.create_task(request_without_reading(gateway.address, path, stack)) for _ in range(count)]
        maximum, seconds = await measure_until_responses(gateway, requests)
        statuses = sorted(request.result() for request in requests)
        latency_with_load, latency_without_load = percentile_95(seconds), percentile_95(durations_without_load)
        print(
            f"{path}: {maximum >> 20} MiB, health p95 {latency_with_load:.3f} s, without load {latency_without_load:.3f} s, {set(statuses)}"
        )
        # The first 15 bytes of the responses 200 OK and 429 Too Many Requests.
        assert set(statuses) <= {b"HTTP/1.1 200 OK", b"HTTP/1.1 429 To"}
        assert statuses[0] == b"HTTP/1.1 200 OK"
        assert maximum < MAX_MEMORY
        assert latency_with_load < max(max_latency, 20 * latency_without_load)
    async with Client(gateway.address, authorization=aiohttp.encode_basic_auth(*VIEWER)) as client:
        assert len(await client.dashboards()) == 2
