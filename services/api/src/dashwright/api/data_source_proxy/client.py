"""HTTP client of the proxy. It streams the responses of data sources within limits, and stores none of them."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from dashwright.api.data_source_proxy.parameters import Parameters
from dashwright.common.allowed_hosts import Address, AllowedHosts
from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, SourceFailed, TooLarge
from dashwright.common.fair_limiter import FairLimiter
from dashwright.common.host_resolver import HostResolver
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.settings import Settings
from dashwright.common.source_credentials import CredentialsCache, SourceCredentials, source_url
from dashwright.common.tls_failures import NOT_TLS_ADVICE, is_not_tls

# Errors quote names as ``!r:.80``, which escapes control characters and keeps at most 80 characters.
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
#: Bytes that a connection buffers before the data source must wait.
_BUFFER_BYTES: Final = 64 * 1024
_UNAUTHORIZED: Final = 401

# Both lists are short: any other header may contain credentials, of the client or of the data source.
_FORWARDED_REQUEST_HEADERS: Final = ("Accept", "Accept-Encoding", "Content-Type")
_RETURNED_HEADERS: Final = ("Content-Encoding", "Content-Length", "ETag", "Last-Modified", "Warning")


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """Limits of proxied requests."""

    response_bytes: int  #: Bytes of one response as the data source sends them.
    seconds: float  #: Duration of one request with its response.
    idle_seconds: float  #: Time that a data source may take until the next bytes.
    streams: int  #: Concurrent requests of one gateway; organizations and callers share them.


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """A checked request to a data source."""

    method: str
    path: str  #: Decoded, without a leading slash.
    query: Parameters
    body: bytes
    headers: Mapping[str, str]  #: The headers of the client, which are forwarded in part.
    caller: str  #: The key of the caller, whose requests share a limit.


class ProxiedBody:
    """The body of a response of a data source, which is read while it is sent."""

    def __init__(self, response: aiohttp.ClientResponse, name: str, limit: int, resources: AsyncExitStack) -> None:
        self._response = response
        self._name = name  #: Name of the data source, for errors.
        self._limit = limit  #: Limit in bytes.
        self._resources = resources  #: The connection and the slots, which are released at the end.
        self._received_bytes = 0

    def __aiter__(self) -> "ProxiedBody":
        return self

    async def __anext__(self) -> bytes:
        """Return the next bytes. Raises TooLarge above the limit, and SourceFailed or DeadlineExceeded if the source stops."""
        try:
            chunk = await self._response.content.readany()
        except TimeoutError as error:
            raise DeadlineExceeded(f"the data source {self._name!r:.80} did not complete its response in time") from error
        except (aiohttp.ClientError, ConnectionError) as error:
            raise SourceFailed(f"the data source {self._name!r:.80} did not complete its response") from error
        if not chunk:
            raise StopAsyncIteration
        self._received_bytes += len(chunk)
        if self._received_bytes > self._limit:
            raise _too_large(self._name, self._limit)
        return chunk

    async def aclose(self) -> None:
        """Release the connection, and the slots of the organization and the caller."""
        await self._resources.aclose()


@dataclass(frozen=True, slots=True)
class ProxiedResponse:
    """The response of a data source, with the headers that the client may receive."""

    status: int
    content_type: str
    headers: Mapping[str, str]
    body: ProxiedBody


class ProxyClient:
    """A client that sends requests to the permitted addresses of data sources, with their credentials."""

    def __init__(self, resolver: HostResolver, limits: ProxyLimits) -> None:
        self._resolver = resolver
        self._limits = limits
        self._credentials_cache = CredentialsCache()
        self._slots = FairLimiter(limits.streams, subject="requests to data sources")  #: Slots of organizations.
        self._slots_of_callers = FairLimiter(
            limits.streams, reserve=limits.streams // 2, subject="requests to data sources", owner="of yours"
        )
        self._open_session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._open_session is not None:
            await self._open_session.close()
            self._open_session = None

    async def send(self, record: SourceRecord, request: ProxyRequest) -> ProxiedResponse:
        """Send a request, and return the response, whose body the caller must close.

        Raises TooManyRequests if the caller or the organization has too many requests in progress, BadRequest if the settings of
        the data source are invalid, its address is forbidden or it refuses its credentials, TooLarge for a response above the
        limit, DeadlineExceeded if the data source takes too long, and SourceFailed for other failures.
        """
        credentials = self._credentials_cache.get(record)
        url = source_url(record, request.path).extend_query([*request.query])
        async with AsyncExitStack() as resources:
            await resources.enter_async_context(self._slots_of_callers.slot(request.caller))
            await resources.enter_async_context(self._slots.slot(record.org_id))
            response = await self._try_addresses(record, request, url, credentials)
            resources.callback(response.close)
            self._check_head(record, response)
            headers = {name: response.headers[name] for name in _RETURNED_HEADERS if name in response.headers}
            content_type = response.headers.get("Content-Type", "application/octet-stream")
            body = ProxiedBody(response, record.name, self._limits.response_bytes, resources.pop_all())
            return ProxiedResponse(response.status, content_type, headers, body)

    async def _try_addresses(
        self, record: SourceRecord, request: ProxyRequest, url: URL, credentials: SourceCredentials
    ) -> aiohttp.ClientResponse:
        """Send the request to the addresses of the host until one accepts the connection, and return the response."""
        assert url.host is not None
        assert url.port is not None
        addresses = await self._resolver.resolve(url.host, url.port, encrypted=url.scheme == "https")
        # The last address gets a second attempt, in case the server has closed an idle connection: aiohttp does not repeat a POST itself.
        # That is safe, since the forwarded requests change nothing.
        attempts = [*addresses, addresses[-1]]
        for number, address in enumerate(attempts, 1):
            is_last_attempt = number == len(attempts)
            try:
                return await self._exchange(request, url, address, credentials)
            except TimeoutError as error:
                raise DeadlineExceeded(
                    f"the data source {record.name!r:.80} did not respond in time; narrow the request, or check the server"
                ) from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, ConnectionError) as error:
                if is_not_tls(error):
                    raise SourceFailed(f"the data source {record.name!r:.80} {NOT_TLS_ADVICE}") from error
                is_connection_error = isinstance(error, aiohttp.ClientConnectionError | ConnectionError)
                if is_last_attempt or not is_connection_error:
                    raise SourceFailed(
                        f"the data source {record.name!r:.80} did not respond; check its address, its certificate, and that it runs"
                    ) from error
        raise AssertionError("there is at least one attempt")

    async def _exchange(self, request: ProxyRequest, url: URL, address: Address, credentials: SourceCredentials) -> aiohttp.ClientResponse:
        """Send the request to one address, and return the response, whose body is not read yet."""
        forwarded_headers = {name: request.headers[name] for name in _FORWARDED_REQUEST_HEADERS if name in request.headers}
        # Without the header, aiohttp would accept compression that the client may not support.
        forwarded_headers.setdefault("Accept-Encoding", "identity")
        return await self._session.request(
            request.method,
            # The checked address, because a second resolution could return another one (DNS rebinding).
            url.with_host(str(address)),
            headers={**forwarded_headers, **credentials.headers, "Host": url.host_port_subcomponent or ""},
            data=request.body or None,
            allow_redirects=False,
            ssl=credentials.tls_for(url),
            server_hostname=credentials.server_name_for(url),
        )

    def _check_head(self, record: SourceRecord, response: aiohttp.ClientResponse) -> None:
        """Raise DashwrightError for a response that the client must not receive."""
        error: DashwrightError | None = None
        # A client would take 401 for a refusal of its own credentials.
        if response.status == _UNAUTHORIZED:
            error = BadRequest("Authentication to data source failed")
        elif 300 <= response.status < 400 and response.status != 304:
            error = SourceFailed(f"the data source {record.name!r:.80} redirects; set the URL of the data source to its final address")
        elif response.status < 200:
            error = SourceFailed(f"the data source {record.name!r:.80} sent the status {response.status}, which the proxy does not support")
        elif (response.content_length or 0) > self._limits.response_bytes:
            error = _too_large(record.name, self._limits.response_bytes)
        if error is not None:
            raise error

    @property
    def _session(self) -> aiohttp.ClientSession:
        """The connections to all data sources."""
        # Created on first use, because it belongs to the running event loop.
        if self._open_session is None:
            limits = self._limits
            self._open_session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=limits.streams),
                # Cookies of one data source must not reach another.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=limits.seconds, sock_connect=_CONNECT_TIMEOUT_SECONDS, sock_read=limits.idle_seconds),
                headers={"User-Agent": "dashwright"},
                # The client decompresses: the bytes are sent as they were received.
                auto_decompress=False,
                read_bufsize=_BUFFER_BYTES,
            )
        return self._open_session


def proxy_client(settings: Settings) -> ProxyClient:
    """Return a client with the limits and the permitted addresses of the settings."""
    limits = ProxyLimits(settings.proxy_max_bytes, settings.proxy_seconds, settings.query_seconds, settings.proxy_streams)
    return ProxyClient(HostResolver(AllowedHosts.parse(settings.allowed_hosts)), limits)


def _too_large(name: str, limit: int) -> TooLarge:
    return TooLarge(
        f"the response of the data source {name!r:.80} has more than {limit} bytes (DASHWRIGHT_PROXY_MAX_BYTES); narrow the request"
    )
