"""E8 and E9 over HTTP: responses of a million points through broker and gateway.

E8 compares with bare libraries that transfer the same bytes, and E9 compares the formats Arrow and JSON.
"""

from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from tests.acceptance.processes import Stack

from benchmarks import points_source
from benchmarks.http_connection import HttpConnection
from benchmarks.measurement import Round, Row, alternate, median_ms, sequential_calls
from benchmarks.processes import start_module
from dashwright.common import media

_CALLS_PER_ROUND = 5
_PATH = "/api/ds/query"
_QUERY = points_source.request("$A + 1", 1, 1_000_000)


async def transfer(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure E8: the transfer of a prepared response, compared with that of bare libraries."""
    response_file = folder / "response.json"
    async with AsyncExitStack() as exit_stack:
        http = await _start_gateway(exit_stack, Stack(database_url, amqp_url, folder))
        request = http.encode("POST", _PATH, _QUERY)
        # A first worker computes the response, which the workers of the measurement then only transfer.
        async with AsyncExitStack() as worker:
            await start_module(worker, "benchmarks.points_source", amqp_url)
            response_file.write_bytes(await http.call(request, status=200))
        await start_module(exit_stack, "benchmarks.points_source", amqp_url, str(response_file))
        await start_module(exit_stack, "benchmarks.bare_query", "worker", amqp_url, str(response_file))
        bare = await HttpConnection.open(await start_module(exit_stack, "benchmarks.bare_query", "gateway", amqp_url))
        exit_stack.push_async_callback(bare.close)
        product, reference = await alternate(_calls(http, request), _calls(bare, bare.encode("POST", "/", _QUERY)))
    path = f"{response_file.stat().st_size / 1e6:.0f} MB of JSON through broker and gateway, to bare"
    return [Row("E8", path, "ms", median_ms(product), median_ms(reference), 1.5)]


async def arrow_requests(database_url: str, amqp_url: str, folder: Path) -> list[Row]:
    """Measure E9: requests with evaluation and encoding as Arrow, compared with JSON."""
    async with AsyncExitStack() as exit_stack:
        http = await _start_gateway(exit_stack, Stack(database_url, amqp_url, folder))
        await start_module(exit_stack, "benchmarks.points_source", amqp_url)
        arrow_request, json_request = http.encode("POST", _PATH, _QUERY, accept=media.ARROW), http.encode("POST", _PATH, _QUERY)
        as_arrow, as_json = await alternate(_calls(http, arrow_request), _calls(http, json_request))
    return [Row("E9", "whole request of 1,000,000 points as Arrow, to JSON", "ms", median_ms(as_arrow), median_ms(as_json), 0.4)]


async def _start_gateway(exit_stack: AsyncExitStack, stack: Stack) -> HttpConnection:
    """Start a gateway without a worker and return a connection to it."""
    await stack.gateway.start()
    exit_stack.push_async_callback(stack.gateway.stop)
    http = await HttpConnection.open(str((await stack.gateway.event("serving"))["address"]))
    exit_stack.push_async_callback(http.close)
    return http


def _calls(http: HttpConnection, request: bytes) -> Round:
    """Return a round of calls with the same request."""
    return sequential_calls(partial(http.call, request, status=200), _CALLS_PER_ROUND)
