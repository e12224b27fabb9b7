"""Requests over a real socket to a handler and back: identity, permission, bodies, headers, logs and metrics."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import ClientSession
from prometheus_client import REGISTRY
from pydantic import BaseModel, Field
from structlog.contextvars import get_contextvars
from structlog.testing import capture_logs

from dashwright.api.http import server
from dashwright.api.http.call import Call
from dashwright.api.http.compression import zstd
from dashwright.api.http.decoding import INPUT_STEP_BYTES, OUTPUT_STEP_BYTES
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Permission, Route
from dashwright.api.http.server import Limits
from dashwright.common.errors import NotFound, Unavailable
from dashwright.common.observability import tracing

from .conftest import Serve, basic, wait_until_closed

ADMIN, VIEWER = basic("ann", "pw"), basic("vic", "pw")


class Panel(BaseModel):
    """A body with a required member and an optional one."""

    title: str = Field(min_length=1)
    width: int = 12


async def caller_json(call: Call) -> Response:
    """Return the identity of the caller and the parameters of the path."""
    identity = call.identity
    return json_response({"login": identity.login, "org": identity.org_id, "role": identity.role, "parameters": dict(call.parameters)})


async def echo(call: Call) -> Response:
    """Return the body of the request."""
    return Response(200, await call.body(), "application/octet-stream")


async def echo_panel(call: Call) -> Response:
    """Return the panel that the body of the request contains."""
    return json_response(await call.model(Panel))


ROUTES = [
    Route("GET", "/api/who", caller_json, SIGNED_IN),
    Route("GET", "/api/quotas", caller_json, Permission("orgs.quotas:read")),
    Route("GET", "/apis/g/v1/namespaces/{namespace}/things/{name}", caller_json, Permission("dashboards:write")),
    Route("POST", "/api/echo", echo, PUBLIC, body_limit=1000),
    Route("POST", "/api/panel", echo_panel, PUBLIC),
    Route("POST", "/apis/panel", echo_panel, PUBLIC),
]


async def fetch(client: ClientSession, path: str, **headers: str) -> tuple[int, Any]:
    """Return the status and the JSON of a response. The header ``X-Grafana-Org-Id`` is the keyword ``X_Grafana_Org_Id``."""
    sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    async with client.get(path, headers=sent_headers) as response:
        return response.status, await response.json()


async def test_a_route_without_credentials_is_401_with_a_challenge(serve: Serve) -> None:
    """The response to a request without credentials is 401 and names the scheme to use."""
    client = (await serve(ROUTES)).client
    async with client.get("/api/who") as response:
        assert response.status == 401
        assert await response.json() == {"message": "Unauthorized"}
        assert response.headers["WWW-Authenticate"].startswith("Basic ")


async def test_a_missing_permission_is_403_in_the_format_of_the_path(serve: Serve) -> None:
    """The refusal of a request names the missing permission, in the format of the API that the path belongs to."""
    client = (await serve(ROUTES)).client
    status, body = await fetch(client, "/api/quotas", Authorization=VIEWER)
    assert status == 403
    assert body["title"] == "Access denied"
    assert body["message"].endswith("Permissions needed: orgs.quotas:read")
    status, body = await fetch(client, "/apis/g/v1/namespaces/default/things/x", Authorization=VIEWER)
    assert status == 403
    assert body["kind"] == "Status"
    assert body["reason"] == "Forbidden"
    assert (await fetch(client, "/api/quotas", Authorization=ADMIN))[0] == 200


async def test_the_namespace_decides_over_the_organization(serve: Serve) -> None:
    """The namespace of the path is the organization and precedes the header, which Kubernetes clients do not send."""
    client = (await serve(ROUTES)).client
    status, body = await fetch(client, "/apis/g/v1/namespaces/org-2/things/a%2Fb", Authorization=ADMIN, X_Grafana_Org_Id="1")
    assert status == 200
    assert body["org"] == 2
    assert body["role"] == "Editor"
    assert body["parameters"] == {"namespace": "org-2", "name": "a/b"}


# Organization 9 does not exist. The namespace of organization 1 is ``default``, so ``org-1`` is not a namespace.
@pytest.mark.parametrize("namespace", ["org-9", "org-1", "nonsense"])
async def test_a_namespace_without_membership_is_403(serve: Serve, namespace: str) -> None:
    """A namespace of which the user is not a member is 403, whether it exists or not."""
    status, body = await fetch((await serve(ROUTES)).client, f"/apis/g/v1/namespaces/{namespace}/things/x", Authorization=ADMIN)
    assert status == 403
    assert body["reason"] == "Forbidden"
    assert "not a member of the namespace" in body["message"]


# If the header is ignored, the organization is 1, the user's current one.
@pytest.mark.parametrize(("header", "org"), [("2", 2), ("1", 1), ("x", 1), ("", 1), ("0", 1), ("-2", 1), ("9" * 30, 1)])
async def test_the_organization_header_selects_an_organization_of_the_user(serve: Serve, header: str, org: int) -> None:
    """The header selects one of the user's organizations. A value that is not a positive integer is ignored, as existing clients expect."""
    status, body = await fetch((await serve(ROUTES)).client, "/api/who", Authorization=ADMIN, X_Grafana_Org_Id=header)
    assert status == 200
    assert body["org"] == org


async def test_an_organization_without_membership_is_401_with_a_reason(serve: Serve) -> None:
    """The error for an organization of which the user is not a member says that the organization is wrong, not the password."""
    status, body = await fetch((await serve(ROUTES)).client, "/api/who", Authorization=VIEWER, X_Grafana_Org_Id="2")
    assert status == 401
    assert body["messageId"] == "organization.not-a-member"


async def test_unknown_paths_and_methods_are_errors_in_the_shape_of_their_api(serve: Serve) -> None:
    """404 and 405 have the error shape of the API. 404 below /apis says where the resources are listed; 405 has the allowed methods."""
    client = (await serve(ROUTES)).client
    assert await fetch(client, "/api/nothing") == (404, {"message": "Not found"})
    status, body = await fetch(client, "/apis/nothing")
    assert status == 404
    assert body["kind"] == "Status"
    assert body["reason"] == "NotFound"
    assert body["code"] == 404
    assert "/apis lists the groups and versions" in body["message"]
    async with client.delete("/api/who/") as response:
        assert response.status == 405
        assert response.headers["Allow"] == "GET, HEAD"


async def test_head_returns_the_head_of_get(serve: Serve) -> None:
    """A route of GET also serves HEAD, with the same status and length and without a body."""
    client = (await serve(ROUTES)).client
    async with client.get("/api/who", headers={"Authorization": ADMIN}) as response:
        length = response.headers["Content-Length"]
    async with client.head("/api/who", headers={"Authorization": ADMIN}) as response:
        assert response.status == 200
        assert response.headers["Content-Length"] == length
        assert await response.read() == b""


@pytest.mark.parametrize("chunked", [False, True], ids=["declared length", "chunked"])
async def test_a_body_over_the_limit_is_413_with_the_limit(serve: Serve, chunked: bool) -> None:
    """A body with or without a declared length is read only up to the limit, which the error names."""
    client = (await serve(ROUTES)).client

    async def pieces() -> Any:
        # 1100 bytes, without a declared length.
        for _ in range(11):
            yield b"x" * 100

    async with client.post("/api/echo", data=b"x" * 1000) as response:
        assert response.status == 200
    async with client.post("/api/echo", data=pieces() if chunked else b"x" * 1100) as response:
        assert response.status == 413
        assert "1000 bytes" in await response.text()


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstd.compress)])
async def test_a_compressed_body_is_decompressed_within_the_limit(serve: Serve, coding: str, pack: Any) -> None:
    """A compressed body is accepted up to the limit, which applies to the uncompressed size. A truncated body is 400."""
    client = (await serve(ROUTES)).client
    headers = {"Content-Encoding": coding}
    async with client.post("/api/echo", data=pack(b"x" * 1000), headers=headers, compress=False) as response:
        assert response.status == 200
        assert await response.read() == b"x" * 1000
    async with client.post("/api/echo", data=pack(b"x" * 100_000), headers=headers, compress=False) as response:
        assert response.status == 413
    async with client.post("/api/echo", data=pack(b"x" * 1000)[:-1], headers=headers, compress=False) as response:
        assert response.status == 400


@pytest.mark.parametrize(
    ("coding", "empty_block"),
    [("gzip", b"\0\0\0\xff\xff"), ("deflate", b"\0\0\0\xff\xff"), ("zstd", b"\0\0\0")],
    ids=["gzip", "deflate", "zstd"],
)
async def test_the_limit_counts_compressed_bytes_too(serve: Serve, coding: str, empty_block: bytes) -> None:
    """The compressed bytes are limited too, since a compressed body of any length may decompress to nothing."""
    client = (await serve(ROUTES)).client
    # The first bytes of a stream in each format, before the first block.
    heads = {"gzip": bytes.fromhex("1f8b0800000000000003"), "deflate": bytes.fromhex("789c"), "zstd": bytes.fromhex("28b52ffd0050")}

    async def pieces() -> AsyncIterator[bytes]:
        # At least 3000 bytes, which is more than the limit of 1000.
        yield heads[coding]
        for _ in range(100):
            yield empty_block * 10

    headers = {"Content-Encoding": coding}
    async with client.post("/api/echo", data=pieces(), headers=headers, compress=False) as response:
        assert response.status == 413


async def test_other_tasks_run_while_a_body_is_decompressed(serve: Serve) -> None:
    """Decompression yields to other tasks after each step: the event loop runs at least one round per step."""
    rounds = 0

    async def count_rounds() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    async def report_rounds(call: Call) -> Response:
        counter = asyncio.create_task(count_rounds())
        await call.body()
        counter.cancel()
        return json_response({"rounds": rounds})

    route = Route("POST", "/api/counted", report_rounds, PUBLIC, body_limit=50 * OUTPUT_STEP_BYTES)
    client = (await serve([route])).client
    data = zstd.compress(bytes(50 * OUTPUT_STEP_BYTES))
    # All input is read in one step, so each further round is due to the output.
    assert len(data) < INPUT_STEP_BYTES
    async with client.post("/api/counted", data=data, headers={"Content-Encoding": "zstd"}, compress=False) as response:
        # The body is decompressed in 50 steps.
        assert (await response.json())["rounds"] >= 50


@pytest.mark.parametrize(("coding", "status"), [("gzip", 400), ("deflate", 400), ("zstd", 400), ("br", 415), ("gzip, gzip", 415)])
async def test_a_body_that_cannot_be_decompressed_is_refused(serve: Serve, coding: str, status: int) -> None:
    """An invalid compressed body is 400, and an unknown or repeated coding is 415."""
    client = (await serve(ROUTES)).client
    async with client.post("/api/echo", data=b"garbage" * 20, headers={"Content-Encoding": coding}, compress=False) as response:
        assert response.status == status


async def test_a_client_that_expects_100_continue_receives_it(serve: Serve) -> None:
    """``100 Continue`` is sent before the body is read, and not for a refused request."""
    port = (await serve(ROUTES)).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "POST /api/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: {}\r\n\r\n"
    writer.write(head.format(3).encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
    writer.write(b"abc")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
    assert await reader.readexactly(3) == b"abc"
    writer.write(head.format(5000).encode())
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 413 ")
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    ("body", "classic_status", "resource_status"),
    [
        pytest.param(b"", 400, 400, id="empty"),
        pytest.param(b"{", 400, 400, id="not JSON"),
        pytest.param(b'{"title": "\xff"}', 400, 400, id="not UTF-8"),
        pytest.param(b"[]", 400, 422, id="not an object"),
        pytest.param(b"{}", 400, 422, id="missing title"),
    ],
)
async def test_a_body_that_does_not_match_its_model_is_refused(
    serve: Serve, body: bytes, classic_status: int, resource_status: int
) -> None:
    """Invalid JSON is 400 in both APIs; JSON that does not match the model is 422 in the resource API only."""
    client = (await serve(ROUTES)).client
    async with client.post("/api/panel", data=body) as response:
        assert response.status == classic_status
    async with client.post("/apis/panel", data=body) as response:
        assert response.status == resource_status


async def test_each_fault_of_a_body_is_a_cause_with_its_field(serve: Serve) -> None:
    """Each fault of a body is a cause that names the field, so that a client can mark it."""
    client = (await serve(ROUTES)).client
    async with client.post("/apis/panel", data=b'{"title": "", "width": "wide"}') as response:
        causes = (await response.json())["details"]["causes"]
    assert [(cause["field"], cause["reason"]) for cause in causes] == [("title", "FieldValueInvalid"), ("width", "FieldValueInvalid")]
    async with client.post("/api/panel", data=b"{}") as response:
        assert (await response.json())["message"] == "The body is invalid: title: Field required"


async def test_a_valid_request_id_is_kept(serve: Serve) -> None:
    """The request id of a proxy is kept and returned, unless it is long or has characters that could break a line of the log."""
    client = (await serve(ROUTES)).client
    async with client.get("/api/who", headers={"X-Request-Id": "abc-123"}) as response:
        assert response.headers["X-Request-Id"] == "abc-123"
        assert response.headers["Server"].startswith("Dashwright/")
    for invalid_id in ("x" * 65, "a b", "{}"):
        async with client.get("/api/who", headers={"X-Request-Id": invalid_id}) as response:
            assert response.headers["X-Request-Id"] != invalid_id
            assert response.headers["Server"].startswith("Dashwright/")


async def test_each_request_is_one_line_with_its_context(serve: Serve) -> None:
    """Each request is one line of the access log, with its route but not its query.

    Log events of handlers have the context and trace of the request.
    """
    context: dict[str, Any] = {}

    async def record_context(_: Call) -> Response:
        trace = tracing.current()
        context.update(get_contextvars(), trace_id=trace.trace_id if trace else None)
        return Response(204)

    client = (await serve([Route("GET", "/api/look/{uid}", record_context, SIGNED_IN)])).client
    headers = {"Authorization": ADMIN, "X-Request-Id": "r1", "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    with capture_logs() as lines:
        async with client.get("/api/look/7?secret=1", headers=headers) as response:
            assert response.status == 204
    assert context == {"request_id": "r1", "method": "GET", "path": "/api/look/7", "user": "ann", "trace_id": "a" * 32}
    (line,) = lines
    assert line["event"] == "request_completed"
    assert line["route"] == "/api/look/{uid}"
    assert line["status"] == 204
    assert "secret" not in str(lines)


async def test_an_internal_failure_shows_a_trace_id_and_logs_the_stack(serve: Serve) -> None:
    """The response to an internal failure has a trace id and no details. The log has the traceback."""

    async def fail(_: Call) -> Response:
        raise RuntimeError("the password is hunter2")

    client = (await serve([Route("GET", "/api/fail", fail, PUBLIC), Route("GET", "/apis/fail", fail, PUBLIC)])).client
    for path in ("/api/fail", "/apis/fail"):
        with capture_logs() as lines:
            async with client.get(path, headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}) as response:
                text = await response.text()
        assert response.status == 500
        assert "hunter2" not in text
        assert "a" * 32 in text
        assert any(line["event"] == "request_failed" and line.get("exc_info") for line in lines)


async def test_a_handlers_error_keeps_its_status(serve: Serve) -> None:
    """An error of a handler keeps its status.

    If the route has a failure message, an unavailable server is a 500 with this message.
    """

    async def raise_unavailable(_: Call) -> Response:
        raise Unavailable("The database is away; try again", retry_after=4)

    async def raise_not_found(_: Call) -> Response:
        raise NotFound("no such key")

    routes = [
        Route("GET", "/api/away", raise_unavailable, PUBLIC),
        Route("GET", "/api/keys", raise_unavailable, PUBLIC, failure_message="Failed to list api keys"),
        Route("GET", "/api/none", raise_not_found, PUBLIC, failure_message="Failed to list api keys"),
    ]
    client = (await serve(routes)).client
    async with client.get("/api/away") as response:
        assert response.status == 503
        assert response.headers["Retry-After"] == "4"
    status, body = await fetch(client, "/api/keys")
    assert status == 500
    assert body["message"] == "Failed to list api keys"
    assert await fetch(client, "/api/none") == (404, {"message": "no such key"})


async def test_a_request_over_its_time_limit_is_504(serve: Serve) -> None:
    """A handler that never returns is cancelled at the time limit, and the response is 504 with the reason."""
    cancelled = asyncio.Event()

    async def hang(_: Call) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Response()

    routes = [Route("GET", "/api/hang", hang, PUBLIC), Route("GET", "/apis/hang", hang, PUBLIC)]
    client = (await serve(routes, Limits(request_seconds=0.02, drain_seconds=1))).client
    status, body = await fetch(client, "/api/hang")
    assert status == 504
    assert body["message"] == "No response within 0.02 seconds; request less data, or retry"
    assert cancelled.is_set()
    status, body = await fetch(client, "/apis/hang")
    assert status == 504
    assert body["reason"] == "Timeout"


async def test_responses_are_counted_by_route_not_by_path(serve: Serve) -> None:
    """Responses are counted by the template of their route, so that requested paths do not create time series."""
    client = (await serve(ROUTES)).client
    for name in ("a", "b"):
        await fetch(client, f"/apis/g/v1/namespaces/default/things/{name}", Authorization=ADMIN)
        await fetch(client, f"/api/unknown/{name}")
    value = REGISTRY.get_sample_value
    labels = {"route": "/apis/g/v1/namespaces/{namespace}/things/{name}", "method": "GET", "status": "200"}
    assert (value("dashwright_http_requests_total", labels) or 0) >= 2
    assert (value("dashwright_http_requests_total", {"route": "unmatched", "method": "GET", "status": "404"}) or 0) >= 2
    assert not any("unknown" in sample.labels.get("route", "") for metric in REGISTRY.collect() for sample in metric.samples)


async def test_a_stop_waits_for_a_running_request(serve: Serve) -> None:
    """A gateway that is stopped completes the requests that are running."""
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow(_: Call) -> Response:
        entered.set()
        await release.wait()
        return json_response({"done": True})

    gateway = await serve([Route("GET", "/api/slow", slow, PUBLIC)])
    request = asyncio.create_task(fetch(gateway.client, "/api/slow"))
    await entered.wait()
    stop = asyncio.create_task(gateway.server.stop())
    release.set()
    assert await request == (200, {"done": True})
    await stop
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", gateway.port)


async def test_a_stop_reads_a_body_that_is_being_sent(serve: Serve) -> None:
    """A client that sends its body during the stop receives its response, and then its connection is closed."""

    async def measure(call: Call) -> Response:
        return json_response({"bytes": len(await call.body())})

    gateway = await serve([Route("POST", "/api/measure", measure, PUBLIC)])
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(b"POST /api/measure HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"abc")
    stop = asyncio.create_task(gateway.server.stop())
    await wait_until_closed(gateway.port)
    writer.write(b"def")
    response = await reader.read()
    assert response.startswith(b"HTTP/1.1 200 ")
    assert b"\r\nConnection: close\r\n" in response
    assert response.endswith(b'{"bytes":6}')
    writer.close()
    await stop


async def test_a_stop_does_not_wait_for_idle_connections(serve: Serve) -> None:
    """A connection between two requests, or without any request, is closed immediately."""
    gateway = await serve(ROUTES, Limits(drain_seconds=60))
    # The client keeps the connection of this request open. The second connection sends no request.
    await fetch(gateway.client, "/api/unknown")
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    async with asyncio.timeout(5):
        await gateway.server.stop()
        assert await reader.read() == b""
    writer.close()


async def test_a_stop_does_not_wait_for_the_body_of_a_disconnected_client(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop does not wait for the missing bytes of a refused body after the client has closed the connection."""
    # Each time limit is longer than the test, so a stop that waits for one of them fails.
    monkeypatch.setattr(server, "_FLUSH_TIMEOUT_SECONDS", 60.0)
    gateway = await serve(ROUTES, Limits(linger_seconds=60))
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(b"POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nbegin")
    assert (await reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 413 ")
    writer.close()
    async with asyncio.timeout(10):
        await gateway.server.stop()


async def test_a_disconnected_client_cancels_no_handler(serve: Serve) -> None:
    """A handler completes its writes even if its client has disconnected."""
    entered, release, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def write(_: Call) -> Response:
        entered.set()
        await release.wait()
        finished.set()
        return Response(204)

    gateway = await serve([Route("POST", "/api/write", write, PUBLIC)])
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(b"POST /api/write HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
    await entered.wait()
    writer.close()
    await writer.wait_closed()
    release.set()
    async with asyncio.timeout(2):
        await finished.wait()
