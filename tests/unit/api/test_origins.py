"""Requests that a page of another site can make a browser send: they can neither change nor read anything."""

import asyncio
from collections.abc import Mapping

import pytest

from dashwright.api.http.call import Call
from dashwright.api.http.origins import OriginPolicy
from dashwright.api.http.response import Response, json_response
from dashwright.api.http.routing import PUBLIC, SIGNED_IN, Route
from dashwright.common.settings import load

from .conftest import Gateway, Serve, basic

pytestmark = pytest.mark.exhaustive

ADMIN = basic("ann", "pw")
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
FIREFOX_OF_2018 = "Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0"


async def respond(_: Call) -> Response:
    """Return a fixed response."""
    return json_response({"done": True})


ROUTES = [Route(method, "/api/things", respond, SIGNED_IN) for method in ("POST", "GET", "PUT", "PATCH", "DELETE")]
PROXIED = {"public_url": "https://dash.example.com", "trusted_hosts": "gateway,*.internal.example.com"}


async def send_request(serve: Serve, method: str, headers: Mapping[str, str], **settings: str) -> int:
    """Return the status of a request. ``SELF`` in the value of a header becomes the gateway's host and port."""
    gateway: Gateway = await serve(ROUTES, origins=OriginPolicy.from_settings(load(**settings)))
    own_host = f"127.0.0.1:{gateway.port}"
    actual_headers = {name: value.replace("SELF", own_host) for name, value in headers.items()}
    async with gateway.client.request(
        method, "/api/things", headers={"Authorization": ADMIN, "Host": own_host, **actual_headers}, data=b"{}"
    ) as response:
        return response.status


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"Content-Type": JSON}, 200, id="a program"),
        pytest.param({"Content-Type": FORM, "User-Agent": "curl/8.5.0"}, 200, id="curl -d"),
        pytest.param({"Content-Type": JSON, "Origin": "http://SELF", "Sec-Fetch-Site": "same-origin"}, 200, id="a page of this server"),
        pytest.param({"Content-Type": JSON, "Sec-Fetch-Site": "none"}, 200, id="an address that the user entered"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 403, id="another site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 403, id="another port of this machine"),
        pytest.param({"Origin": "http://127.0.0.1:8099"}, 403, id="another port, without Sec-Fetch-Site"),
        pytest.param({"Origin": "http://evil.example:8099"}, 403, id="another host, without Sec-Fetch-Site"),
        pytest.param({"Origin": "null"}, 403, id="a sandboxed frame"),
        pytest.param({"Content-Type": FORM, "Origin": "http://SELF"}, 415, id="a form of this server"),
        pytest.param({"Content-Type": "text/plain", "User-Agent": FIREFOX_OF_2018}, 415, id="a form in an old browser"),
        pytest.param(
            {"Content-Type": "multipart/form-data; boundary=x", "User-Agent": FIREFOX_OF_2018}, 415, id="an upload in an old browser"
        ),
    ],
)
async def test_only_a_page_of_this_server_changes_anything(serve: Serve, method: str, headers: dict[str, str], status: int) -> None:
    """Programs and pages of this server may change objects; pages of other sites and forms may not.

    A program sends neither Origin nor Sec-Fetch-Site. A browser sends one of them, or an old browser is known by its User-Agent.
    """
    assert await send_request(serve, method, {"Content-Type": JSON, "User-Agent": "client", **headers}) == status


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        # Addresses, and the name of this machine.
        ("127.0.0.1", None, 200),
        ("[::1]:3000", None, 200),
        ("10.1.2.3", None, 200),
        ("localhost:3000", "http://localhost:3000", 200),
        ("LocalHost.", None, 200),
        # The public URL, and the trusted names.
        ("dash.example.com", "https://dash.example.com", 200),
        ("127.0.0.1:3000", "https://dash.example.com", 200),
        ("gateway:3000", "http://gateway:3000", 200),
        ("a.internal.example.com", None, 200),
        # Untrusted names.
        ("apps.example.com", None, 403),
        ("dash.example.com.evil.example", None, 403),
        ("evil.example", "http://evil.example", 403),
        # Values that are neither an address nor a name.
        ("user@127.0.0.1", None, 400),
        ("127.0.0.1:3000:4", None, 400),
        ("", None, 400),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_an_untrusted_host_name_is_refused(serve: Serve, method: str, host: str, origin: str | None, status: int) -> None:
    """A request is refused if its Host is neither an address nor a trusted name.

    An attacker could let any name point to this server (DNS rebinding), and then read responses.
    """
    headers = {"Host": host, "Content-Type": JSON}
    if origin is not None:
        headers["Origin"] = origin
    assert await send_request(serve, method, headers, **PROXIED) == status


@pytest.mark.parametrize(("method", "status"), [("GET", 200), ("POST", 403)])
async def test_an_untrusted_origin_may_only_read(serve: Serve, method: str, status: int) -> None:
    """A change by a page of another scheme is refused. A read is not, because browsers do not show the response to this page."""
    headers = {"Host": "dash.example.com", "Content-Type": JSON, "Origin": "http://dash.example.com"}
    assert await send_request(serve, method, headers, **PROXIED) == status


async def test_every_host_name_is_trusted_with_a_star(serve: Serve) -> None:
    """With the setting ``*`` every host name is trusted, which leaves the check to a proxy."""
    assert await send_request(serve, "POST", {"Host": "any.example", "Content-Type": JSON}, trusted_hosts="*") == 200


async def test_two_host_headers_are_refused(serve: Serve) -> None:
    """Two Host headers are refused, because a proxy and this server could use different ones."""
    port = (await serve(ROUTES)).port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /api/things HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
    assert b" 400 " in (await reader.read()).partition(b"\r\n")[0]
    writer.close()


async def test_probes_accept_any_host_name(serve: Serve) -> None:
    """Probes accept any host name, because a response without credentials is the same for all clients."""
    client = (await serve([Route("GET", "/readyz", respond, PUBLIC)])).client
    async with client.get("/readyz", headers={"Host": "pod-17.cluster.local"}) as response:
        assert response.status == 200
