"""Data sources over HTTP: any server behaviour results in a clear error within limits, and no secret leaks."""

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.unit.expressions.sources.conftest import Serve
from tests.unit.expressions.sources.records import source_record
from tests.unit.expressions.sources.servers import loopback_client, respond_with

from dashwright.common.allowed_hosts import AllowedHosts
from dashwright.common.errors import BadRequest, SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.http_client import HttpClient, HttpResponse

SECRET = "s3cret-of-the-source"


async def send_query(http: HttpClient, url: str, method: str = "GET", limits: Limits | None = None, **record: Any) -> HttpResponse:
    """Return the response of a data source at a URL to a query, with other fields of its record.

    The client caches headers and TLS settings by the version of a record, so a test that changes them needs another version.
    """
    return await http.request(source_record(url, **record), method, "api/v1/query", {"query": "up"}, limits or Limits())


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_parameters_are_sent_in_query_or_body(serve: Serve, http: HttpClient, method: str) -> None:
    """Parameters of a query are sent in addition to those of the address and of the record, to a path below that of the address."""
    server = await serve(respond_with(b"{}"))
    response = await send_query(http, f"{server.url}/prom/?a=1", method, json_data={"customQueryParameters": "b=2&c="})
    assert response == HttpResponse(200, b"{}")
    (request,) = server.requests
    assert request.method == method
    assert request.path == "/prom/api/v1/query"
    assert request.parameters == {"a": "1", "b": "2", "c": "", "query": "up"}


async def test_credentials_are_sent(serve: Serve, http: HttpClient) -> None:
    """The user and password of the record or of the address are sent, and so are configured headers, such as a bearer token."""
    server = await serve(respond_with(b"{}"))
    headers = {"httpHeaderName1": "Authorization", "httpHeaderName2": "X-Scope-OrgID"}
    secrets = {"basicAuthPassword": "pw", "httpHeaderValue1": "Bearer token", "httpHeaderValue2": "7"}
    await send_query(http, server.url, basic_auth=True, basic_auth_user="me", secrets=secrets)
    await send_query(http, server.url, json_data=headers, secrets=secrets, version=2)
    await send_query(http, server.url.replace("://", "://you:pw@"), version=3)
    by_record, by_header, by_address = (request.headers for request in server.requests)
    # ``me:pw`` and ``you:pw`` in base64.
    assert by_record["Authorization"] == "Basic bWU6cHc="
    assert by_address["Authorization"] == "Basic eW91OnB3"
    assert by_header["Authorization"] == "Bearer token"
    assert by_header["X-Scope-OrgID"] == "7"
    assert all(request.headers["Host"] == server.url.removeprefix("http://") for request in server.requests)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"json_data": {"httpHeaderName1": "Transfer-Encoding"}}, "is not a header that can be set"),
        ({"json_data": {"httpHeaderName1": "X\r\nY"}}, "is not a header that can be set"),
        ({"json_data": {"httpHeaderName1": "X"}, "secrets": {"httpHeaderValue1": f"{SECRET}\r\nY: 1"}}, "that no header can hold"),
        ({"json_data": {"tlsAuthWithCACert": True}, "secrets": {"tlsCACert": SECRET}}, "cannot be read"),
        ({"json_data": {"tlsAuth": True}, "secrets": {"tlsClientCert": SECRET, "tlsClientKey": SECRET}}, "cannot be read"),
        ({"json_data": {"tlsAuth": True}}, "cannot be read"),
    ],
)
async def test_a_misconfigured_data_source_is_an_error(http: HttpClient, record: dict[str, Any], message: str) -> None:
    """The error of a misconfigured data source names it and none of its secrets."""
    with pytest.raises(BadRequest, match=message) as error:
        await send_query(http, "http://127.0.0.1:1", **record)
    assert "name of prom" in str(error.value)
    assert SECRET not in str(error.value) + repr(error.value.__cause__)


@pytest.mark.parametrize("url", ["", "localhost:9090", "ftp://h", "http://", "http://h:99999", "file:///etc/passwd", "http://[::1"])
async def test_an_invalid_address_is_an_error(http: HttpClient, url: str) -> None:
    """The error of an invalid address asks to correct the URL of the data source."""
    with pytest.raises(BadRequest, match="URL"):
        await send_query(http, url)


async def test_private_addresses_must_be_listed(serve: Serve) -> None:
    """No notation of a private address is accepted unless it is listed, and unencrypted connections must be listed."""
    server = await serve(respond_with(b"{}"))
    http = loopback_client(HostResolver(AllowedHosts()))
    for host in ("127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"):
        with pytest.raises(BadRequest, match="DASHWRIGHT_ALLOWED_HOSTS"):
            await send_query(http, server.url.replace("127.0.0.1", host))
    # A public address.
    with pytest.raises(BadRequest, match=r"without encryption.*DASHWRIGHT_ALLOWED_HOSTS"):
        await send_query(http, "http://93.184.215.14")
    await http.close()
    assert server.requests == []


async def test_a_redirect_to_a_private_address_is_rejected(serve: Serve) -> None:
    """The address of each redirect is checked, so a redirect to a private address is an error."""
    target_server = await serve(respond_with(b"{}"))
    target = target_server.url.replace("127.0.0.1", "127.0.0.2")
    redirecting_server = await serve(respond_with(b"", 307, Location=f"{target}/x"))
    http = loopback_client(HostResolver(AllowedHosts.parse(["127.0.0.1"])))
    with pytest.raises(SourceFailed, match=r"redirects to http://127\.0\.0\.2.*DASHWRIGHT_ALLOWED_HOSTS"):
        await send_query(http, redirecting_server.url)
    await http.close()
    assert target_server.requests == []


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_redirect_is_followed_without_credentials(serve: Serve, http: HttpClient, method: str) -> None:
    """The query follows a redirect. Credentials are sent to the address of the record, but not to the target of the redirect."""
    target_server = await serve(respond_with(b"{}"))
    redirecting_server = await serve(respond_with(b"", 308, Location=f"{target_server.url}/elsewhere?query=up"))
    assert (await send_query(http, redirecting_server.url, method, basic_auth=True, basic_auth_user="me")).status == 200
    (redirected_request,) = target_server.requests
    assert redirected_request.method == method
    assert redirected_request.path == "/elsewhere"
    assert redirected_request.parameters["query"] == "up"
    assert "Authorization" in redirecting_server.requests[0].headers
    assert "Authorization" not in redirected_request.headers


async def test_the_number_of_redirects_is_limited(serve: Serve, http: HttpClient) -> None:
    """Redirects that do not end are an error of the source."""

    async def redirect_again(request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": str(request.url)})

    server = await serve(redirect_again)
    with pytest.raises(SourceFailed, match="redirects more than 3 times"):
        await send_query(http, server.url)
    # The first request and three redirected ones.
    assert len(server.requests) == 4


@pytest.mark.parametrize("target", ["ftp://x/", "http://[::1", "javascript:x"])
async def test_an_invalid_redirect_is_an_error(serve: Serve, http: HttpClient, target: str) -> None:
    """An invalid Location header is an error of the source."""
    server = await serve(respond_with(b"", 302, Location=target))
    with pytest.raises(SourceFailed, match="redirects to"):
        await send_query(http, server.url)


BROKEN_RESPONSES = {
    "nothing": b"",
    "half": b"HTTP/1.1 200 OK\r\nContent-Len",
    "another protocol": b"SSH-2.0-x\r\n",
    "wrong chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("broken_response", BROKEN_RESPONSES.values(), ids=BROKEN_RESPONSES)
async def test_an_invalid_response_is_an_error_of_the_source(http: HttpClient, broken_response: bytes, method: str) -> None:
    """A response that is truncated in its head, or is not HTTP, is an error of the source after at most one retry."""
    connections = 0

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(broken_response)
        writer.close()

    async with await asyncio.start_server(respond, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(SourceFailed, match=f"127.0.0.1:{port}"):
            await send_query(http, f"http://127.0.0.1:{port}", method)
    assert connections in (1, 2)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_closed_idle_connection_is_reopened(http: HttpClient, method: str) -> None:
    """If a server has closed an idle connection, the next query opens another one, without an error for the caller."""
    connections = 0

    async def respond_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Respond to one request, and close the connection at the next one."""
        nonlocal connections
        connections += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(respond_once, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert [(await send_query(http, url, method)).status for _ in range(3)] == [200] * 3
        await http.close()
    assert connections == 3


async def test_an_unreachable_server_is_an_error(serve: Serve, http: HttpClient) -> None:
    """The error of an unreachable server has the address without user and password."""
    server = await serve(respond_with(b"{}"))
    url = server.url
    await server.server.close()
    with pytest.raises(SourceFailed, match=r"http://127\.0\.0\.1:\d+ did not respond: .*check the address") as error:
        await send_query(http, url.replace("://", f"://me:{SECRET}@"))
    assert SECRET not in str(error.value)


async def test_cookies_are_not_kept(serve: Serve, http: HttpClient) -> None:
    """A cookie of one response is not sent with the next query."""
    server = await serve(respond_with(b"{}", 200, **{"Set-Cookie": "a=b"}))
    for _ in range(2):
        await send_query(http, server.url)
    assert all("Cookie" not in request.headers for request in server.requests)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the file of a self-signed certificate for 127.0.0.1 with its key, and the certificate as text."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    text = certificate.public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate_file = tmp_path_factory.mktemp("tls") / "pair.pem"
    certificate_file.write_bytes(text + secret)
    return certificate_file, text.decode()


async def test_certificates_are_verified_as_configured(http: HttpClient, certificate: tuple[Path, str]) -> None:
    """A certificate is verified by the authorities of the system, by a configured one, or not at all.

    It must be valid for the name of the host, or for a configured name. A client certificate is sent if it is configured.
    """
    certificate_file, text = certificate
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=text)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(certificate_file)
    has_client_certificate = []

    async def handler(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        has_client_certificate.append(bool(request.transport.get_extra_info("peercert")))
        return web.Response(body=b"{}")

    application = web.Application()
    application.router.add_get("/{path:.*}", handler)
    server = TestServer(application, scheme="https")
    await server.start_server(ssl=context)
    url = str(server.make_url("/"))
    trusting_options: dict[str, Any] = {"json_data": {"tlsAuthWithCACert": True}, "secrets": {"tlsCACert": text}}
    with pytest.raises(SourceFailed, match="no trusted connection to https://127"):
        await send_query(http, url)
    assert (await send_query(http, url, version=2, **trusting_options)).status == 200
    with pytest.raises(SourceFailed, match="no trusted connection"):
        await send_query(
            http,
            url,
            version=3,
            json_data={**trusting_options["json_data"], "serverName": "other.example"},
            secrets=trusting_options["secrets"],
        )
    assert (await send_query(http, url, version=4, json_data={"tlsSkipVerify": True})).status == 200
    client_certificate = {"tlsClientCert": text, "tlsClientKey": certificate_file.read_text().removeprefix(text)}
    assert (
        await send_query(http, url, version=5, json_data={"tlsSkipVerify": True, "tlsAuth": True}, secrets=client_certificate)
    ).status == 200
    assert has_client_certificate == [False, False, True]
    await server.close()


async def test_a_server_without_tls_has_advice(serve: Serve, http: HttpClient) -> None:
    """The error for an https address of a plain HTTP server says to use http://."""
    server = await serve(respond_with(b"{}"))
    with pytest.raises(SourceFailed, match=r"https://127\.0\.0\.1:\d+ does not speak TLS .* use http://"):
        await send_query(http, server.url.replace("http://", "https://"))
