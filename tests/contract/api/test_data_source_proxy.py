"""The proxy to data sources, which forwards requests that read data. The data source gets its own credentials, not the caller's."""

import asyncio
import gzip
import socket
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from multidict import CIMultiDict
from tests.contract.api.conftest import ADMIN, Api, StartApi
from yarl import URL

from dashwright.common.identity import Role

PROXY = "/api/datasources/proxy/uid"
QUERY = "datasources:query"
#: Maximum size in bytes of a response that the proxy forwards.
LIMIT = 300_000


def respond_with_success(_: web.Request) -> web.StreamResponse:
    """Respond as Prometheus does to a query without data."""
    return web.json_response({"status": "success", "data": []})


@dataclass
class Source:
    """The requests and responses of an HTTP server. ``requests`` has method, path with query, headers and body of each request."""

    handler: Callable[[web.Request], web.StreamResponse | Awaitable[web.StreamResponse]] = respond_with_success
    requests: list[tuple[str, str, dict[str, str], str]] = field(default_factory=list)

    @property
    def last(self) -> tuple[str, str, dict[str, str], str]:
        """The method, the path with query, the headers and the body of the last request."""
        return self.requests[-1]

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Record a request and respond to it by ``handler``."""
        self.requests.append((request.method, request.raw_path, {**request.headers}, await request.text()))
        response = self.handler(request)
        return response if isinstance(response, web.StreamResponse) else await response


@dataclass
class ProxyGateway:
    """A gateway with the data source ``prom``, whose server is ``source`` at ``url``."""

    api: Api
    source: Source
    url: str

    async def add(self, uid: str, *, auth: str = ADMIN, **fields: Any) -> int:
        """Add a data source and return its id."""
        record = {"name": uid, "uid": uid, "type": "prometheus", "url": self.url, **fields}
        status, body = await self.api("POST", "/api/datasources", record, auth=auth)
        assert status == 200, body
        data_source_id: int = body["id"]
        return data_source_id

    async def request(self, path: str, method: str = "GET", *, auth: str = ADMIN, **options: Any) -> tuple[int, CIMultiDict[str], bytes]:
        """Return the status, the headers and the body of a response."""
        headers = {"Authorization": auth, **options.pop("headers", {})}
        async with self.api.session.request(method, path, headers=headers, **options) as response:
            return response.status, response.headers.copy(), await response.read()

    async def send_raw(self, target: str, *headers: str, method: str = "GET") -> tuple[int, str]:
        """Send a request target and further lines unchanged, and return the status and the whole response."""
        assert self.api.address.host is not None
        reader, writer = await asyncio.open_connection(self.api.address.host, self.api.address.port)
        request_lines = [
            f"{method} {target} HTTP/1.1",
            f"Host: {self.api.address.authority}",
            f"Authorization: {ADMIN}",
            "Connection: close",
            *headers,
        ]
        writer.write("\r\n".join([*request_lines, "", ""]).encode())
        response = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        return int(response.split()[1]), response


@asynccontextmanager
async def serving(source: Source) -> AsyncIterator[str]:
    """Run the server of a source and yield its URL without a slash at the end."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", source.serve)
    async with TestServer(application) as server:
        yield str(server.make_url("/")).rstrip("/")


@pytest.fixture
async def gateway(start_api: StartApi) -> AsyncIterator[ProxyGateway]:
    """Start a source and a gateway that has it as the data source ``prom``."""
    source = Source()
    async with serving(source) as url:
        api = await start_api(allowed_hosts="127.0.0.1", proxy_max_bytes=LIMIT, query_seconds=0.5, proxy_streams=4)
        gateway = ProxyGateway(api, source, url)
        await gateway.add("prom")
        yield gateway


@pytest.mark.parametrize(
    "path", [f"{PROXY}/prom", "/api/datasources/proxy/{id}", "/api/datasources/uid/prom/resources", "/api/datasources/{id}/resources"]
)
async def test_each_path_reaches_the_data_source(gateway: ProxyGateway, path: str) -> None:
    """The proxy and the resources, by uid and by id, forward GET with its parameters and POST with its form."""
    data_source_id = await gateway.api.sql("select id from data_source where uid = 'prom'")
    address = path.format(id=data_source_id)
    status, headers, body = await gateway.request(f"{address}/api/v1/series?match[]=up&match[]=%7Ba%3D%22b%26c%22%7D")
    assert (status, body) == (200, b'{"status": "success", "data": []}')
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    method, target, _, _ = gateway.source.last
    assert (method, URL(target).path, [*URL(target).query.items()]) == (
        "GET",
        "/api/v1/series",
        [("match[]", "up"), ("match[]", '{a="b&c"}')],
    )
    status, _, _ = await gateway.request(f"{address}/api/v1/query", "POST", data={"query": "1+1"})
    assert (status, gateway.source.last[0], gateway.source.last[3]) == (200, "POST", "query=1%2B1")


async def test_a_path_below_the_url_and_names_in_utf_8_are_kept(gateway: ProxyGateway) -> None:
    """The path of a request is appended to the URL of the data source, and keeps the encoding of the client."""
    await gateway.add("below", url=f"{gateway.url}/tenant/prometheus/")
    await gateway.request(URL(f"{PROXY}/below/api/v1/label/%C3%A9t%20%C3%A9/values", encoded=True))  # type: ignore[arg-type]
    assert gateway.source.last[1] == "/tenant/prometheus/api/v1/label/%C3%A9t%20%C3%A9/values"


async def test_credentials_are_those_of_the_data_source(gateway: ProxyGateway) -> None:
    """A data source gets its own credentials, and no credentials, cookies or other private headers of the caller.

    Private headers of its response do not pass the proxy either.
    """

    def respond(_: web.Request) -> web.StreamResponse:
        """Respond with headers that must not reach the client."""
        names = ("Set-Cookie", "Server", "Authorization", "X-Internal", "Access-Control-Allow-Origin", "Strict-Transport-Security")
        return web.Response(text="<script>", content_type="text/html", headers=dict.fromkeys(names, "a=b"))

    gateway.source.handler = respond
    await gateway.add("auth", basicAuth=True, basicAuthUser="me", secureJsonData={"basicAuthPassword": "s3cret"})
    sent = {
        "Cookie": "grafana_session=x",
        "X-DS-Authorization": "Bearer y",
        "X-Grafana-Org-Id": "1",
        "X-Forwarded-For": "1.2.3.4",
        "Proxy-Authorization": "z",
        "Referer": "http://gateway/",
    }
    _, headers, _ = await gateway.request(f"{PROXY}/auth/api/v1/labels", headers=sent)
    received = gateway.source.last[2]
    assert b64decode(received["Authorization"].removeprefix("Basic ")) == b"me:s3cret"
    assert not {*sent} & {*received}
    assert not {"Set-Cookie", "Authorization", "X-Internal", "Access-Control-Allow-Origin"} & {*headers}
    assert headers.get("Server") != "a=b"
    assert headers["Content-Security-Policy"] == "sandbox"
    assert headers["X-Content-Type-Options"] == "nosniff"
    await gateway.request(f"{PROXY}/prom/api/v1/labels")
    assert "Authorization" not in gateway.source.last[2]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "api/v1/admin/tsdb/delete_series"),
        ("POST", "-/reload"),
        ("POST", "api/v1/rules"),
        ("GET", "api/v1/status/config"),
        ("GET", "metrics"),
        ("GET", "api/v1/query/more"),
        ("GET", "api"),
    ],
)
async def test_undeclared_requests_are_refused(gateway: ProxyGateway, method: str, path: str) -> None:
    """Only declared methods and paths reach a data source. A request with another method or path gets 403."""
    status, body = await gateway.api(method, f"{PROXY}/prom/{path}")
    assert status == 403
    assert "does not forward" in body["message"]
    assert not gateway.source.requests


async def test_methods_that_change_data_are_not_served(gateway: ProxyGateway) -> None:
    """PUT, PATCH and DELETE are refused with 405."""
    for method in ("PUT", "PATCH", "DELETE"):
        assert (await gateway.api(method, f"{PROXY}/prom/api/v1/query"))[0] == 405
    assert not gateway.source.requests


@pytest.mark.parametrize(("type_", "method", "path", "status"), [
    ("loki", "GET", "loki/api/v1/labels", 200),
    ("loki", "POST", "loki/api/v1/push", 403),
    ("alertmanager", "GET", "api/v2/alerts", 200),
    ("elasticsearch", "POST", "_msearch", 200),
    ("elasticsearch", "POST", "_bulk", 403),
    ("graphite", "GET", "render", 200),
    ("grafana-postgresql-datasource", "GET", "render", 403),
    ("unknown-datasource", "GET", "api/v1/query", 403),
])  # fmt: skip
async def test_other_types_have_rules_of_their_own(gateway: ProxyGateway, type_: str, method: str, path: str, status: int) -> None:
    """Each type of data source has its own list of permitted paths. Requests to a type without a list are refused."""
    # The address of PostgreSQL is not a URL.
    await gateway.add("other", type=type_, url="db.example.com:5432" if "postgresql" in type_ else gateway.url)
    body: dict[str, Any] = {"data": "{}\n", "headers": {"Content-Type": "application/x-ndjson"}} if method == "POST" else {}
    assert (await gateway.request(f"{PROXY}/other/{path}", method, **body))[0] == status


@pytest.mark.parametrize(
    "path",
    [
        "api/v1/label/../../admin/values",
        "api/v1/label/%2e%2e/values",
        "api/v1/label/%2E%2e/values",
        "api/v1/label/..%2f..%2fadmin/values",
        "api/v1/label/%252e%252e/values",
        "api/v1/label/a%5cb/values",
        "api/v1/label/..;/values",
        "api/v1/label//values",
        "api/v1/label/a%00/values",
        "api/v1/label/a%0d%0aX:%20y/values",
        "api/v1/label/%ff/values",
        "api/v1/label/%3fa/values",
        "http://other.example/api/v1/query",
        "//other.example/api/v1/query",
    ],
)
async def test_paths_that_could_lead_elsewhere_are_refused(gateway: ProxyGateway, path: str) -> None:
    """The gateway refuses relative segments, encoded separators and absolute addresses in any encoding."""
    status, response = await gateway.send_raw(f"{PROXY}/prom/{path}")
    assert status in (400, 403, 404), response
    assert not gateway.source.requests


@pytest.mark.parametrize(
    "target",
    [
        "http://other.example/api/v1/query",
        f"http://other.example{PROXY}/prom/api/v1/query",
        f"https://other.example:1{PROXY}/prom/api/v1/query",
        f"//other.example{PROXY}/prom/api/v1/query",
        f"http://user:password@127.0.0.1{PROXY}/prom/api/v1/query",
        f"prom{PROXY}/prom/api/v1/query",
        "*",
    ],
)
async def test_a_request_target_with_another_host_is_refused(gateway: ProxyGateway, target: str) -> None:
    """A target in absolute form reaches neither its host nor a data source: the gateway forwards only its own paths."""
    status, response = await gateway.send_raw(target)
    assert status in (400, 403, 404), response
    assert not gateway.source.requests


@pytest.mark.parametrize("uid", ["..%2fprom", "%2e%2e/prom", "prom%2f..%2fprom", "prom%00", "*", "../uid/prom"])
async def test_a_uid_is_never_a_path(gateway: ProxyGateway, uid: str) -> None:
    """A uid with separators or relative parts names no data source: the request is refused, and no data source receives it."""
    status, response = await gateway.send_raw(f"{PROXY}/{uid}/api/v1/query")
    assert status in (400, 403, 404), response
    assert not gateway.source.requests


async def test_the_organization_is_never_taken_from_a_parameter(gateway: ProxyGateway) -> None:
    """A caller reaches data sources of an organization only as a member of the organization. Parameters and headers make no difference."""
    api = gateway.api
    other = await api.organization("other")
    other_admin = await api.person("olga", Role.ADMIN, org_id=other)
    data_source_id = await gateway.add("only-theirs", auth=other_admin)
    variants: list[dict[str, Any]] = [{}, {"params": {"orgId": str(other)}}, {"headers": {"X-Grafana-Org-Id": str(other)}}]
    for index, options in enumerate(variants):
        stranger = await api.person(f"stranger-{index}", Role.ADMIN)
        for address in (f"{PROXY}/only-theirs", f"/api/datasources/proxy/{data_source_id}", "/api/datasources/uid/only-theirs/resources"):
            status, _, body = await gateway.request(f"{address}/api/v1/query", auth=stranger, **options)
            assert status in (401, 403, 404), body
    assert not gateway.source.requests


async def test_a_grant_on_one_data_source_opens_no_other(gateway: ProxyGateway) -> None:
    """The right to query is checked on the data source of the path, by uid and by id, before its settings are read."""
    data_source_id = await gateway.add("secret")
    limited_caller = await gateway.api.person("some", Role.NONE, (QUERY, "datasources:uid:prom"))
    assert (await gateway.request(f"{PROXY}/prom/api/v1/query", auth=limited_caller))[0] == 200
    before = len(gateway.source.requests)
    for address in (f"{PROXY}/secret", f"/api/datasources/proxy/{data_source_id}", f"{PROXY}/unknown", "/api/datasources/proxy/999"):
        for query in ("", "?uid=prom", "?datasource=prom"):
            assert (await gateway.request(f"{address}/api/v1/query{query}", auth=limited_caller))[0] == 403
    assert len(gateway.source.requests) == before
    assert (await gateway.request(f"{PROXY}/unknown/api/v1/query"))[0] == 404


@pytest.mark.parametrize("parameters_in", ["query", "form"])
async def test_parameters_of_the_settings_cannot_be_replaced(gateway: ProxyGateway, parameters_in: str) -> None:
    """A parameter that the settings fix, such as a tenant's filter, is refused in the URL and in a form."""
    await gateway.add("tenant", jsonData={"customQueryParameters": "tenant=a"})
    await gateway.request(f"{PROXY}/tenant/api/v1/query?query=up")
    assert gateway.source.last[1] == "/api/v1/query?tenant=a&query=up"
    options: dict[str, Any] = {"params": {"tenant": "b"}} if parameters_in == "query" else {"data": {"tenant": "b"}}
    status, _, body = await gateway.request(f"{PROXY}/tenant/api/v1/query", "POST", **options)
    assert status == 400
    assert b"determine the parameter 'tenant'" in body
    form = aiohttp.FormData({"tenant": "b"}, default_to_multipart=True)
    assert (await gateway.request(f"{PROXY}/tenant/api/v1/query", "POST", data=form))[0] == 415


async def test_addresses_follow_the_rules_of_queries(gateway: ProxyGateway) -> None:
    """An address that no query may use is not reached by the proxy, nor is the target of a redirect."""
    await gateway.add("private", url="http://10.255.255.1")
    status, _, body = await gateway.request(f"{PROXY}/private/api/v1/query")
    assert status == 400
    assert b"DASHWRIGHT_ALLOWED_HOSTS" in body

    gateway.source.handler = lambda _: web.Response(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
    status, headers, body = await gateway.request(f"{PROXY}/prom/api/v1/query", allow_redirects=False)
    assert status == 502
    assert "Location" not in headers
    assert b"169.254" not in body


@pytest.mark.parametrize(("upstream", "status"), [(400, 400), (401, 400), (404, 404), (422, 422), (503, 503)])
async def test_statuses_are_returned(gateway: ProxyGateway, upstream: int, status: int) -> None:
    """The status of the data source is returned, except for 401, which the client would take for its own credentials."""
    gateway.source.handler = lambda _: web.Response(status=upstream, text="reason")
    received, _, body = await gateway.request(f"{PROXY}/prom/api/v1/query")
    assert received == status
    if upstream == 401:
        assert b"Authentication to data source failed" in body
    else:
        assert body == b"reason"


async def test_compressed_responses_pass_unchanged(gateway: ProxyGateway) -> None:
    """A client that accepts gzip receives the compressed bytes, and another client the plain bytes."""

    def respond(request: web.Request) -> web.StreamResponse:
        """Respond in gzip if the request accepts it."""
        if "gzip" in request.headers.get("Accept-Encoding", ""):
            return web.Response(body=gzip.compress(b"x" * 1000), headers={"Content-Encoding": "gzip"})
        return web.Response(body=b"x" * 1000)

    gateway.source.handler = respond
    for encoding in ("gzip", "identity"):
        status, headers, body = await gateway.request(f"{PROXY}/prom/api/v1/query", headers={"Accept-Encoding": encoding})
        assert (status, body) == (200, b"x" * 1000)
        assert headers.get("Content-Encoding", "identity") == encoding


async def test_an_announced_size_above_the_limit_is_an_error(gateway: ProxyGateway) -> None:
    """If the header of a response announces too many bytes, the client gets 413 instead of the response."""
    gateway.source.handler = lambda _: web.Response(body=bytes(LIMIT + 1))
    status, _, body = await gateway.request(f"{PROXY}/prom/api/v1/query")
    assert status == 413
    assert b"DASHWRIGHT_PROXY_MAX_BYTES" in body


async def test_an_endless_response_is_cut(gateway: ProxyGateway) -> None:
    """An endless response ends at the limit, and the client sees that it is incomplete."""
    ended = asyncio.Event()

    async def respond(request: web.Request) -> web.StreamResponse:
        """Send bytes until the connection ends."""
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(bytes(10_000))
        finally:
            ended.set()

    gateway.source.handler = respond
    with pytest.raises(aiohttp.ClientError):
        await gateway.request(f"{PROXY}/prom/api/v1/query")
    await asyncio.wait_for(ended.wait(), 5)


async def test_a_response_that_breaks_off_is_incomplete_for_the_client(gateway: ProxyGateway) -> None:
    """A body that ends before its announced length is not completed by the proxy."""

    async def respond(request: web.Request) -> web.StreamResponse:
        """Announce 1000 bytes, and abort the connection after four."""
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b"half")
        assert request.transport is not None
        request.transport.abort()
        return response

    gateway.source.handler = respond
    with pytest.raises(aiohttp.ClientError):
        await gateway.request(f"{PROXY}/prom/api/v1/query")


async def test_a_silent_data_source_is_a_timeout(gateway: ProxyGateway) -> None:
    """If a data source does not respond in time, the status is 504."""
    released = asyncio.Event()

    async def respond(request: web.Request) -> web.StreamResponse:
        """Send no response before the release."""
        await released.wait()
        return respond_with_success(request)

    gateway.source.handler = respond
    assert (await gateway.request(f"{PROXY}/prom/api/v1/query"))[0] == 504
    released.set()


async def test_an_unreachable_data_source_is_a_bad_gateway(gateway: ProxyGateway) -> None:
    """If no server listens at the address, the status is 502."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        await gateway.add("gone", url=f"http://127.0.0.1:{unused.getsockname()[1]}")
        assert (await gateway.request(f"{PROXY}/gone/api/v1/query"))[0] == 502


async def test_upgrades_are_not_forwarded(gateway: ProxyGateway) -> None:
    """A request to change the protocol is served as plain HTTP or refused. The data source does not get its headers of the change."""
    status, _ = await gateway.send_raw(f"{PROXY}/prom/api/v1/query", "Connection: Upgrade", "Upgrade: websocket", "TE: trailers")
    assert status in (200, 400)
    assert all("Upgrade" not in headers and "TE" not in headers for _, _, headers, _ in gateway.source.requests)


async def test_trailers_are_not_forwarded(gateway: ProxyGateway) -> None:
    """Header fields after a body pass the proxy in neither direction, because no filter has seen them."""
    form = ("Content-Type: application/x-www-form-urlencoded", "Transfer-Encoding: chunked", "Trailer: X-Scope-OrgID")
    chunks = ("7", "query=1", "0")  # one chunk of 7 bytes, and the last chunk, which is empty
    trailers = ("X-Scope-OrgID: other", "Authorization: Bearer x")
    status, _ = await gateway.send_raw(f"{PROXY}/prom/api/v1/query", *form, "", *chunks, *trailers, method="POST")
    assert status == 200
    _, _, headers, body = gateway.source.last
    assert body == "query=1"
    assert not {"X-Scope-OrgID", "Authorization", "Trailer"} & {*headers}

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send a response with a trailer, which aiohttp's server cannot do."""
        await reader.readuntil(b"\r\n\r\n")
        response_head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n"
        writer.write(response_head + b"2\r\n{}\r\n0\r\nSet-Cookie: a=b\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        await gateway.add("trailing", url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        status, response = await gateway.send_raw(f"{PROXY}/trailing/api/v1/query")
    assert status == 200
    assert "{}" in response
    assert "Set-Cookie" not in response


async def test_no_caller_or_organization_takes_all_streams(gateway: ProxyGateway) -> None:
    """A caller or an organization gets 429 beyond its share of streams, while other callers and organizations are served."""
    released = asyncio.Event()
    arrivals: asyncio.Queue[None] = asyncio.Queue()

    async def respond(request: web.Request) -> web.StreamResponse:
        """Begin a response, and complete it after the release."""
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first")
        arrivals.put_nowait(None)
        await released.wait()
        return response

    gateway.source.handler = respond
    colleague = await gateway.api.person("carla", Role.ADMIN)
    other = await gateway.api.organization("other")
    other_admin = await gateway.api.person("olga", Role.ADMIN, org_id=other)
    await gateway.add("theirs", auth=other_admin)
    # Of the gateway's 4 streams, a caller may use 2, and an organization 3.
    async with asyncio.TaskGroup() as tasks:
        streams = [tasks.create_task(gateway.request(f"{PROXY}/prom/api/v1/query")) for _ in range(2)]
        for _ in streams:
            await arrivals.get()
        assert (await gateway.request(f"{PROXY}/prom/api/v1/query"))[0] == 429
        streams.append(tasks.create_task(gateway.request(f"{PROXY}/prom/api/v1/query", auth=colleague)))
        await arrivals.get()
        assert (await gateway.request(f"{PROXY}/prom/api/v1/query", auth=colleague))[0] == 429
        streams.append(tasks.create_task(gateway.request(f"{PROXY}/theirs/api/v1/query", auth=other_admin)))
        await arrivals.get()
        released.set()
    assert [stream.result()[0] for stream in streams] == [200] * 4
    assert (await gateway.request(f"{PROXY}/prom/api/v1/query"))[0] == 200


async def test_requests_are_audited(gateway: ProxyGateway) -> None:
    """Each forwarded request is recorded with its method and path, without parameters and body."""
    await gateway.request(f"{PROXY}/prom/api/v1/query?query=s3cret")
    gateway.source.handler = lambda _: web.Response(status=503)
    await gateway.request(f"{PROXY}/prom/api/v1/labels", "POST", data={"match[]": "s3cret"})
    status, body = await gateway.api("GET", "/api/audit?action=data-source.proxy")
    assert status == 200
    events = [(event["outcome"], event["status"], event["details"]) for event in body["events"]]
    assert events == [
        ("failed", 503, {"uid": "prom", "method": "POST", "path": "api/v1/labels"}),
        ("ok", 200, {"uid": "prom", "method": "GET", "path": "api/v1/query"}),
    ]


async def test_a_data_source_without_tls_has_advice(gateway: ProxyGateway) -> None:
    """The error for an https address of a plain HTTP server says to use http://."""
    await gateway.add("plain", url=gateway.url.replace("http://", "https://"))
    status, _, body = await gateway.request(f"{PROXY}/plain/api/v1/query")
    assert status == 502
    assert b"probably serves plain HTTP: use http://" in body
