"""Hostile bytes on the socket: the response is well-formed and the listener survives."""

import asyncio

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Route

from .conftest import Serve

# Each example is a connection, which takes milliseconds, and all examples may share one gateway.
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


async def echo(call: Call) -> Response:
    """Return the JSON of the body, and the query parameters."""
    return json_response({"body": await call.json(), "query": list(call.query.items())})


async def respond(_: Call) -> Response:
    """Return a fixed response."""
    return json_response({"fine": True})


ROUTES = [
    Route("POST", "/api/echo", echo, PUBLIC, body_limit=200),
    Route("GET", "/api/signed/{name}", respond, SIGNED_IN),
    Route("GET", "/api/fine", respond, PUBLIC),
]


async def exchange(port: int, raw: bytes) -> tuple[int, bytes]:
    """Send a request that ends its connection, and return the status and body of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw)
    async with asyncio.timeout(5):
        response = await reader.read()
    writer.close()
    await writer.wait_closed()
    head, _, body = response.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


@pytest.fixture
async def port(serve: Serve) -> int:
    """Return the port of a gateway with these routes."""
    return (await serve(ROUTES)).port


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no HTTP"),
        pytest.param(b"GET /api/fine HTTP/1.1\r\nHost: localhost\r\nBroken\r\n\r\n", id="header without colon"),
        pytest.param(b"GET /api/fine HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 20_000 + b"\r\n\r\n", id="long header"),
        pytest.param(b"GET /" + b"y" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", id="long target"),
        pytest.param(
            b"POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            id="two lengths",
        ),
        pytest.param(
            b"GET /api/fine HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X%d: y\r\n" % n for n in range(200)) + b"\r\n", id="many headers"
        ),
    ],
)
async def test_an_invalid_head_is_a_400_with_a_status(port: int, raw: bytes) -> None:
    """The response to an unreadable request is a Status with the code 400, also for the classic API.

    The message is short and does not repeat the request.
    """
    status, body = await exchange(port, raw)
    assert status == 400
    response = orjson.loads(body)
    assert response["kind"] == "Status"
    assert response["code"] == 400
    assert response["message"].startswith("The request is not readable as HTTP/1.1: ")
    assert len(response["message"]) < 200
    for quotation in ("yyy", "Broken", "nonsense", "b'"):
        assert quotation not in response["message"]


async def test_the_error_about_a_long_line_names_the_limit(port: int) -> None:
    """If the URL is too long, the error names the limit in bytes."""
    _, body = await exchange(port, b"GET /" + b"y" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert orjson.loads(body)["message"].endswith("a line of its head has more than 16384 bytes; shorten the URL or the header")


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"http://elsewhere/api/fine", 200),
        (b"/api/fine?x=%00", 200),
        (b"/api/fine#part", 200),
        (b"/api//fine", 404),
        (b"/api/./fine", 404),
        (b"/api/%66ine", 200),
        (b"/api/fine%00", 400),
        (b"/api/\xff", 400),
        (b"*", 400),
    ],
)
async def test_an_odd_target_gets_a_well_formed_response(port: int, target: bytes, status: int) -> None:
    """An odd target is routed or refused, and every refusal has a message.

    Absolute targets work, encoded letters equal letters, and dots and doubled slashes are not resolved.
    """
    actual_status, body = await exchange(port, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert actual_status == status
    if status != 200:
        assert "message" in orjson.loads(body)


# Values and names of random headers: arbitrary bytes, and headers that the gateway reads.
values = st.one_of(st.binary(max_size=30), st.sampled_from([b"Basic", b"Basic %%%", b"Basic QQ==", b"Bearer x", b"gzip", b"00-1-2-3"]))
names = st.sampled_from([b"Authorization", b"X-Request-Id", b"traceparent", b"X-Grafana-Org-Id", b"Content-Encoding", b"Expect", b"Accept"])


@QUICK
@given(
    headers=st.lists(st.tuples(names, values), max_size=4), path=st.sampled_from([b"/api/fine", b"/api/signed/x", b"/api/echo", b"/apis/x"])
)
async def test_no_header_causes_an_internal_failure(port: int, headers: list[tuple[bytes, bytes]], path: bytes) -> None:
    """Invalid headers cause at most a client error."""
    lines = b"".join(name + b": " + value.translate(None, b"\r\n") + b"\r\n" for name, value in headers)
    method = b"POST" if path == b"/api/echo" else b"GET"
    raw = method + b" " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n" + lines + b"\r\n{}"
    status, body = await exchange(port, raw)
    assert status in (200, 400, 401, 404, 415)
    assert isinstance(orjson.loads(body), dict)


@QUICK
@given(body=st.binary(max_size=300), chunked=st.booleans(), query=st.binary(max_size=20))
async def test_no_body_or_query_causes_an_internal_error(port: int, body: bytes, chunked: bool, query: bytes) -> None:
    """Any bytes as body and query result in 200 or a client error."""
    # White space and control characters would end the target.
    target = b"/api/echo?" + bytes(byte for byte in query if byte > 32 and byte != 127)
    head = b"POST " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    if chunked:
        # An empty chunk ends the body.
        only_chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        raw = head + b"Transfer-Encoding: chunked\r\n\r\n" + only_chunk + b"0\r\n\r\n"
    else:
        raw = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    status, response = await exchange(port, raw)
    assert status in (200, 400, 413)
    assert isinstance(orjson.loads(response), dict)


async def test_a_body_that_breaks_off_ends_its_handler(serve: Serve) -> None:
    """A handler that waits for a body ends when the client disconnects."""
    has_ended = asyncio.Event()

    async def read(call: Call) -> Response:
        try:
            await call.body()
        finally:
            has_ended.set()
        return Response()

    port = (await serve([Route("POST", "/api/read", read, PUBLIC)])).port
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /api/read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc")
    await writer.drain()
    writer.close()
    async with asyncio.timeout(2):
        await has_ended.wait()
