"""One HTTP session for all data sources of a worker. It connects to checked addresses only, and reads bounded bodies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.reach import Reach
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.http.credentials import CredentialsCache, HttpCredentials, address_of

_REDIRECTS: Final = 3
_FOLLOWED: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
_CONNECT_SECONDS: Final = 10.0
_ALL_CONNECTIONS: Final = 100


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The status and the body of a response."""

    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class _HttpRequest:
    method: str
    url: URL
    form: Mapping[str, str] | None
    access: HttpCredentials


class HttpClient:
    """Sends queries to data sources, over at most ``connections`` to one host.

    Further requests wait for a connection within their time.
    """

    def __init__(self, reach: Reach, *, connections: int) -> None:
        self._reach = reach
        self._connections = connections
        self._accesses = CredentialsCache()
        self._opened: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def ask(self, record: SourceRecord, method: str, path: str, parameters: Mapping[str, str], limits: Limits) -> HttpResponse:
        """Return the response to a request. ``parameters`` go into the address or, with POST, into a form.

        A query has no effect, so it may be sent twice. Raises BadRequest if the data source is configured wrongly or
        must not be reached, SourceFailed if it does not respond, TooLarge.
        """
        access = self._accesses.of(record)
        url = address_of(record, path)
        posted = method == "POST"
        wanted = _HttpRequest(method, url if posted else url.extend_query(parameters), parameters if posted else None, access)
        for _ in range(_REDIRECTS + 1):
            outcome = await self._sent(wanted, limits)
            if isinstance(outcome, HttpResponse):
                return outcome
            wanted = outcome
        raise SourceFailed(f"the data source {record.name!r:.80} redirects more than {_REDIRECTS} times; give its final address as the URL")

    @property
    def _session(self) -> aiohttp.ClientSession:
        # Created on first use, because it belongs to the running event loop.
        if self._opened is None:
            connector = aiohttp.TCPConnector(limit=_ALL_CONNECTIONS, limit_per_host=self._connections)
            self._opened = aiohttp.ClientSession(
                connector=connector,
                # Cookies of one data source must not reach another.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS),
                headers={"Accept-Encoding": "gzip, deflate", "User-Agent": "dashwright"},
            )
        return self._opened

    async def _sent(self, wanted: _HttpRequest, limits: Limits) -> HttpResponse | _HttpRequest:
        """Return the response, or the request that a redirect asks for."""
        url = wanted.url
        assert url.host is not None
        assert url.port is not None
        addresses = await self._reach.resolve(url.host, url.port, encrypted=url.scheme == "https")
        # aiohttp repeats a GET by itself if a kept connection was closed just then.
        attempts = addresses if wanted.method == "GET" else [*addresses, addresses[-1]]
        for number, address in enumerate(attempts, 1):
            try:
                return await self._exchange(wanted, address, limits)
            except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
                raise SourceFailed(
                    f"no trusted connection to {_place(url)}: {_reason(error)}; give the certificate that signed the host's as tlsCACert, "
                    "or correct the address"
                ) from error
            except (aiohttp.ClientConnectionError, ConnectionError, TimeoutError) as error:
                if number == len(attempts):
                    raise SourceFailed(
                        f"{_place(url)} did not respond: {_reason(error)}; check the address, and that the server runs"
                    ) from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError) as error:
                raise SourceFailed(f"{_place(url)} sent an invalid or incomplete HTTP response: {_reason(error)}") from error
        raise AssertionError("there is at least one attempt")

    async def _exchange(self, wanted: _HttpRequest, address: Address, limits: Limits) -> HttpResponse | _HttpRequest:
        url, access = wanted.url, wanted.access
        encrypted = url.scheme == "https"
        host = url.host_port_subcomponent or ""
        async with self._session.request(
            wanted.method,
            # Connecting to the checked address: resolving the name again could lead elsewhere (DNS rebinding).
            url.with_host(str(address)),
            headers={**access.headers, "Host": host},
            data=wanted.form,
            allow_redirects=False,
            ssl=(access.tls or True) if encrypted else True,
            server_hostname=(access.server_name or url.raw_host) if encrypted else None,
        ) as response:
            if response.status in _FOLLOWED and "Location" in response.headers:
                return await self._redirected(wanted, response)
            return HttpResponse(response.status, await _read(response, limits))

    async def _redirected(self, wanted: _HttpRequest, response: aiohttp.ClientResponse) -> _HttpRequest:
        try:
            target = wanted.url.join(URL(response.headers["Location"]))
            served = target.scheme in {"http", "https"} and target.host is not None and target.port is not None
        except ValueError as error:
            raise SourceFailed(f"{_place(wanted.url)} redirects to an address that cannot be read; correct the URL") from error
        if not served:
            raise SourceFailed(f"{_place(wanted.url)} redirects to something that is not HTTP; correct the URL")
        try:
            await self._reach.resolve(target.host or "", target.port or 0, encrypted=target.scheme == "https")
        except DashwrightError as error:
            raise SourceFailed(f"{_place(wanted.url)} redirects to {_place(target)}: {error.message}") from error
        # Credentials are for the data source on record, not for other hosts that it redirects to.
        access = wanted.access if target.origin() == wanted.url.origin() else HttpCredentials()
        seen = response.status == _SEE_OTHER
        return _HttpRequest("GET" if seen else wanted.method, target.with_user(None), None if seen else wanted.form, access)


async def _read(response: aiohttp.ClientResponse, limits: Limits) -> bytes:
    """Return the decompressed body. Raises TooLarge by its decompressed size."""
    body = bytearray()
    while piece := await response.content.readany():
        limits.memory.take(len(piece))
        body += piece
        if len(body) > limits.source_bytes:
            response.close()
            raise limits.refusal(
                "source_bytes",
                f"the data source's response has more than {limits.source_bytes} bytes",
                "ask for fewer series or less time",
            )
        limits.deadline.check()
    return bytes(body)


def _place(url: URL) -> str:
    """Return an address without parts that may be secret."""
    return f"{url.scheme}://{url.host_port_subcomponent}"


def _reason(error: BaseException) -> str:
    """Return the reason of an error, in the words of the system if it has some."""
    cause = getattr(error, "os_error", error)
    reason: str = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return reason[:200]
