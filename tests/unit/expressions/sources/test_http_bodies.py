"""Response bodies of HTTP data sources are read completely, in bounded memory, or are an error that names the data source."""

import asyncio
import gzip
import re
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import orjson
import pytest
from aiohttp import web
from tests.unit.expressions.sources.conftest import Serve
from tests.unit.expressions.sources.records import MemoryRecords, source_record
from tests.unit.expressions.sources.servers import respond_with

from dashwright.common.errors import DeadlineExceeded, SourceFailed, TooLarge, TooManyRequests
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.deadline import Deadline
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.memory import MemoryBudget, Reservation
from dashwright.expressions.queries import QuerySettings, respond
from dashwright.expressions.sources.http_client import HttpClient, HttpResponse
from dashwright.expressions.sources.prometheus.source import Prometheus
from dashwright.expressions.sources.registry import SourceRegistry

TWO_GIGABYTES: Final = 2 * 10**9
MEGABYTE: Final = 2**20
SUCCESS: Final = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
GZIPPED: Final = gzip.compress(SUCCESS)
#: A part of a large body, which handlers send in parts of this size.
PART: Final = bytes(64 * 1024)


class BodyHandler:
    """A handler that sends ``status``, headers and parts of a body.

    After the parts, ``breaks_off`` closes the connection without an end of the body, and ``stalls`` waits until the client disconnects.
    """

    def __init__(
        self,
        parts: Callable[[], Iterable[bytes]],
        *,
        status: int = 200,
        length: int | None = None,
        encoding: str | None = None,
        breaks_off: bool = False,
        stalls: bool = False,
        location: str | None = None,
    ) -> None:
        #: Released by each request whose client has disconnected or received everything.
        self.ended = asyncio.Semaphore(0)
        #: Number of requests.
        self.count = 0
        self._parts = parts
        self._status = status
        self._headers = {"Content-Length": length, "Content-Encoding": encoding, "Location": location}
        self._breaks_off = breaks_off
        self._stalls = stalls

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.count += 1
        response = web.StreamResponse(
            status=self._status, headers={name: str(value) for name, value in self._headers.items() if value is not None}
        )
        try:
            await response.prepare(request)
            for part in self._parts():
                await response.write(part)
                # A write to a fast client never waits.
                await asyncio.sleep(0)
            if self._stalls:
                await asyncio.Event().wait()
            if self._breaks_off:
                assert request.transport is not None
                request.transport.close()
        finally:
            # The handler is cancelled, or its write fails, when the connection is closed.
            self.ended.release()
        return response


def fixed_parts(*parts: bytes) -> Callable[[], Iterable[bytes]]:
    """Return a function that returns these parts of a body."""
    return lambda: parts


def endless_parts(part: bytes = PART) -> Iterator[bytes]:
    """Yield the parts of a body that never ends."""
    while True:
        yield part


def gzip_bomb() -> Iterator[bytes]:
    """Yield a gzip stream that never ends and decompresses to a thousand times its size."""
    stream = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    while True:
        if compressed := stream.compress(bytes(MEGABYTE)):
            yield compressed


def divide(body: bytes) -> Iterator[bytes]:
    """Yield a body in small pieces, which a server need not buffer."""
    return (body[start : start + len(PART)] for start in range(0, len(body), len(PART)))


async def send_query(http: HttpClient, url: str, method: str = "POST", limits: Limits | None = None) -> HttpResponse:
    """Return the response of a data source at a URL to a query."""
    async with asyncio.timeout(30):
        return await http.request(source_record(url), method, "api/v1/query", {"query": "up"}, limits or Limits())


@pytest.fixture
def memory() -> Iterator[Reservation]:
    """Yield a reservation of memory, which records its maximum."""
    with MemoryBudget(100 * MEGABYTE).reservation(1) as reservation:
        yield reservation


@pytest.fixture
def traced_allocations() -> Iterator[None]:
    """Record allocations while the test runs."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"parts": fixed_parts(b"half"), "length": 100, "breaks_off": True}, "ends early, after 4 of 100 bytes"),
        ({"parts": fixed_parts(), "length": 100, "breaks_off": True}, "ends early, after 0 of 100 bytes"),
        ({"parts": fixed_parts(b"a chunk"), "breaks_off": True}, "ends early, after 7 bytes"),
        ({"parts": fixed_parts(GZIPPED), "length": 1000, "encoding": "gzip", "breaks_off": True}, "ends early, after .* of 1000 bytes"),
        ({"parts": fixed_parts(GZIPPED[:-20]), "encoding": "gzip"}, "ends early, within its gzip stream"),
        ({"parts": fixed_parts(GZIPPED[:-1]), "encoding": "gzip"}, "ends early, within its gzip stream"),
        ({"parts": fixed_parts(GZIPPED, b"more"), "encoding": "gzip"}, "has data after the end of its gzip stream"),
        ({"parts": fixed_parts(GZIPPED[:-8], bytes(8)), "encoding": "gzip"}, "cannot be decompressed: .* incorrect data check"),
        ({"parts": fixed_parts(SUCCESS), "encoding": "gzip"}, "cannot be decompressed: .* incorrect header check"),
        ({"parts": fixed_parts(SUCCESS), "encoding": "br"}, "has the content encoding 'br', but gzip was requested"),
    ],
    ids=[
        *("length", "length without body", "chunked", "gzip and length", "gzip stream", "gzip checksum"),
        *("data after gzip", "wrong checksum", "no gzip", "unknown encoding"),
    ],
)
async def test_an_incomplete_body_is_an_error_of_the_source(
    serve: Serve, http: HttpClient, body: dict[str, Any], problem: str, method: str
) -> None:
    """The error of an incomplete body names the data source, what is wrong and what to do. The request is not repeated."""
    handler = BodyHandler(**body)
    server = await serve(handler)
    expected = rf"^the response of the data source 'name of prom' {problem}.*; try again, or check the server and the proxies"
    with pytest.raises(SourceFailed, match=expected):
        await send_query(http, server.url, method)
    assert handler.count == 1


@pytest.mark.parametrize("size", [0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 3 * MEGABYTE])
@pytest.mark.parametrize("encoding", [None, "identity", "gzip", "x-gzip", " GZIP "])
async def test_a_body_of_any_size_is_read_completely(serve: Serve, http: HttpClient, size: int, encoding: str | None) -> None:
    """Plain and compressed bodies are read to their last byte, even if their size equals the limit."""
    body = (bytes(index % 251 for index in range(1000)) * (size // 1000 + 1))[:size]
    encoded_body = gzip.compress(body, 1) if encoding and "zip" in encoding.lower() else body
    server = await serve(BodyHandler(partial(divide, encoded_body), encoding=encoding))
    assert await send_query(http, server.url, limits=Limits(source_bytes=max(size, 1))) == HttpResponse(200, body)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"parts": endless_parts}, "has at least 1048577 bytes"),
        ({"parts": endless_parts, "length": MEGABYTE + 1}, "has 1048577 bytes"),
        ({"parts": fixed_parts(b"first"), "length": TWO_GIGABYTES, "stalls": True}, "has 2000000000 bytes"),
        ({"parts": fixed_parts(GZIPPED), "length": TWO_GIGABYTES, "encoding": "gzip", "stalls": True}, "has 2000000000 bytes"),
        ({"parts": gzip_bomb, "encoding": "gzip"}, "has at least 1048577 bytes when decompressed"),
        (
            {"parts": fixed_parts(gzip.compress(bytes(50 * MEGABYTE))), "encoding": "gzip"},
            "has at least 1048577 bytes when decompressed",
        ),
    ],
    ids=["endless", "one byte too many", "2 GB announced", "2 GB of gzip announced", "endless gzip", "small gzip of 50 MB"],
)
@pytest.mark.usefixtures("traced_allocations")
async def test_a_body_above_the_limit_is_rejected(
    serve: Serve, http: HttpClient, memory: Reservation, body: dict[str, Any], problem: str
) -> None:
    """A body is rejected when it exceeds the limit, or immediately if its size is known. The connection is closed."""
    handler = BodyHandler(**body)
    server = await serve(handler)
    tracemalloc.reset_peak()
    bytes_before, _ = tracemalloc.get_traced_memory()
    expected = (
        rf"^the response of the data source 'name of prom' {problem}, more than the 1048576 allowed .*DASHWRIGHT_SOURCE_BYTES.*; ask for"
    )
    with pytest.raises(TooLarge, match=expected):
        await send_query(http, server.url, limits=Limits(source_bytes=MEGABYTE, memory=memory))
    _, peak = tracemalloc.get_traced_memory()
    await asyncio.wait_for(handler.ended.acquire(), 30)
    # A body whose announced size is too large is not read at all.
    assert memory.peak <= (0 if "length" in body else MEGABYTE)
    # The body, half a megabyte of aiohttp's buffer, the parts in work, and the server of this test.
    assert peak - bytes_before < 6 * MEGABYTE


@pytest.mark.parametrize(("parts", "encoding"), [(endless_parts, None), (gzip_bomb, "gzip")], ids=["plain", "gzip"])
async def test_a_body_is_rejected_if_its_memory_is_not_free(serve: Serve, http: HttpClient, parts: Any, encoding: str | None) -> None:
    """A body is rejected if its memory is not free: the memory is reserved before it is used. It is released afterwards."""
    budget = MemoryBudget(8 * MEGABYTE)
    handler = BodyHandler(parts, encoding=encoding)
    server = await serve(handler)
    with budget.reservation("other") as reservation_of_others:
        reservation_of_others.reserve(4 * MEGABYTE)
        with budget.reservation(1) as memory:
            with pytest.raises(TooManyRequests, match="DASHWRIGHT_QUERY_BYTES"):
                await send_query(http, server.url, limits=Limits(memory=memory))
            assert memory.peak <= 4 * MEGABYTE
    await asyncio.wait_for(handler.ended.acquire(), 30)
    assert budget.reserved == 0


@pytest.mark.parametrize("encoding", [None, "gzip"])
@pytest.mark.usefixtures("traced_allocations")
async def test_a_body_is_in_memory_once(serve: Serve, http: HttpClient, encoding: str | None) -> None:
    """A body is read into one buffer, which grows and is not copied at the end."""
    body = SUCCESS * (8 * MEGABYTE // len(SUCCESS))
    server = await serve(BodyHandler(partial(divide, gzip.compress(body, 1) if encoding else body), encoding=encoding))
    bytes_before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    response = await send_query(http, server.url)
    _, peak = tracemalloc.get_traced_memory()
    assert len(response.body) == len(body)
    assert peak - bytes_before < 1.5 * len(body)


@pytest.mark.parametrize(
    "body",
    [
        {"parts": fixed_parts(b"first"), "length": TWO_GIGABYTES, "breaks_off": True},
        {"parts": endless_parts, "length": TWO_GIGABYTES},
        {"parts": endless_parts},
        {"parts": gzip_bomb, "encoding": "gzip"},
        {"parts": fixed_parts(GZIPPED[:-20]), "encoding": "gzip"},
        {"parts": fixed_parts(SUCCESS), "encoding": "br"},
    ],
    ids=["2 GB that break off", "2 GB", "endless", "endless gzip", "incomplete gzip", "unknown encoding"],
)
async def test_an_error_status_is_reported_whatever_its_body_is(
    serve: Serve, http: HttpClient, memory: Reservation, body: dict[str, Any]
) -> None:
    """The error of a failure status names the data source, the status and what to do. At most a megabyte of the body is read."""
    handler = BodyHandler(**body, status=500)
    server = await serve(handler)
    response = await send_query(http, server.url, limits=Limits(memory=memory))
    assert response.status == 500
    assert len(response.body) == memory.peak <= MEGABYTE
    with pytest.raises(SourceFailed, match=r"^the data source 'name of prom' returned HTTP 500; try again, or check the server"):
        await asyncio.wait_for(Prometheus(source_record(server.url), http).health(), 30)
    # The connections of the query and of the health check are closed.
    for _ in range(2):
        await asyncio.wait_for(handler.ended.acquire(), 30)


@pytest.mark.parametrize("parts", [fixed_parts(b"{"), partial(endless_parts, b" ")], ids=["stalled", "slow"])
async def test_a_slow_body_ends_at_the_deadline(serve: Serve, http: HttpClient, parts: Any) -> None:
    """The error of a slow body names the data source and its deadline, and the connection is closed."""
    handler = BodyHandler(parts, stalls=True)
    server = await serve(handler)
    sources = SourceRegistry({"prometheus": partial(Prometheus, http=http)}, MemoryRecords([source_record(server.url)]), seconds=0.2)
    query = {"refId": "A", "datasource": {"uid": "prom"}, "expr": "up"}
    reply = await respond(orjson.dumps({"queries": [query]}), QueryContext(org_id=1), QuerySettings(sources=sources))
    assert isinstance(reply.body, bytes)
    result = orjson.loads(reply.body)["results"]["A"]
    assert result["status"] == 504
    # Either the read is cancelled at the deadline, or the deadline is checked between two parts.
    assert re.search(r"data source 'name of prom'.* within 0\.2 s|than the 0\.2 s .*data source 'name of prom'", result["error"])
    assert re.search(r"jsonData\.timeout of the data source.*DASHWRIGHT_SOURCE_SECONDS.*; ask for", result["error"])
    await asyncio.wait_for(handler.ended.acquire(), 30)


async def test_a_body_is_not_read_beyond_the_deadline(serve: Serve, http: HttpClient) -> None:
    """The deadline is checked even if a body arrives so fast that no read waits for the network."""
    expired = Deadline()
    expired.expire()
    server = await serve(respond_with(SUCCESS))
    with pytest.raises(DeadlineExceeded):
        await send_query(http, server.url, limits=Limits(deadline=expired))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_the_body_of_a_redirect_is_not_read(serve: Serve, http: HttpClient, memory: Reservation, status: int) -> None:
    """A redirect with an endless body is followed without reading the body, and its connection is closed."""
    target = await serve(respond_with(SUCCESS))
    handler = BodyHandler(endless_parts, status=status, location=f"{target.url}/elsewhere")
    server = await serve(handler)
    assert await send_query(http, server.url, limits=Limits(memory=memory)) == HttpResponse(200, SUCCESS)
    await asyncio.wait_for(handler.ended.acquire(), 30)
    assert memory.peak == len(SUCCESS)
    assert [request.path for request in target.requests] == ["/elsewhere"]
