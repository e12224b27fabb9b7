"""HTTP client with one session for all data sources of a worker.

It connects to allowed addresses only, and limits the size of responses, which may be endless, incomplete or compressed gigabytes.
"""

import asyncio
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import Final
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.source_credentials import CredentialsCache, SourceCredentials, source_url
from dashwright.common.tls_failures import NOT_TLS_ADVICE, is_not_tls
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sources.privacy import confidential_errors

_MAX_REDIRECTS: Final = 3
_REDIRECT_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_SEE_OTHER: Final = 303
_MIN_ERROR_STATUS: Final = 400
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_MAX_CONNECTIONS: Final = 100

#: The value of the header ``Accept-Encoding``.
_ACCEPTED_ENCODING: Final = "gzip"

_FORM_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded"}

_GZIP_NAMES: Final = frozenset({"gzip", "x-gzip"})
#: zlib's ``wbits`` for the largest window, and 16 for the format gzip.
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
#: The maximum number of bytes that are decompressed in one step, which takes less than a millisecond of the event loop.
_STEP_BYTES: Final = 256 * 1024
#: The maximum number of bytes of an error that are read. Messages for users are smaller.
_MAX_ERROR_BYTES: Final = 1024 * 1024
#: The maximum number of characters of a reason that a message quotes.
_MAX_REASON_LENGTH: Final = 200


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The status and the body of a response."""

    status: int
    body: bytes  #: Decompressed. Of an error (400 and above), possibly only the beginning.


@dataclass(frozen=True, slots=True)
class _HttpRequest:
    """A request to a data source, or to the target of its redirect."""

    source_name: str
    method: str
    url: URL
    form: bytes | None  #: The encoded parameters in the body of a POST; None for a GET, whose URL has them.
    credentials: SourceCredentials


class HttpClient:
    """A client that opens at most ``connections`` connections to one host.

    Further requests wait for a connection until their timeout.
    """

    def __init__(self, resolver: HostResolver, *, connections: int) -> None:
        self._resolver = resolver
        self._connections = connections
        self._credentials_cache = CredentialsCache()
        self._open_session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        if self._open_session is not None:
            await self._open_session.close()
            self._open_session = None

    async def request(self, record: SourceRecord, method: str, path: str, parameters: Mapping[str, str], limits: Limits) -> HttpResponse:
        """Return the response to a request. ``parameters`` are sent in the URL or, with POST, as a form.

        A request may be sent again after an error of the connection, because queries change nothing. Raises BadRequest if
        the settings of the data source are invalid or its address is forbidden, SourceFailed if it does not respond or its
        response is invalid, and TooLarge for a body above the limit. BadRequest and SourceFailed are confidential, because
        they may name the address.
        """
        with confidential_errors():
            credentials = self._credentials_cache.get(record)
            url = source_url(record, path)
            if method == "POST":
                # urlencode is much faster than aiohttp, which takes as long to encode a form as to send it.
                request = _HttpRequest(record.name, method, url, urlencode(parameters).encode(), credentials)
            else:
                request = _HttpRequest(record.name, method, url.extend_query(parameters), None, credentials)
            for _ in range(_MAX_REDIRECTS + 1):
                response_or_redirect = await self._send(request, limits)
                if isinstance(response_or_redirect, HttpResponse):
                    return response_or_redirect
                request = response_or_redirect
            raise SourceFailed(
                f"the data source {record.name!r:.80} redirects more than {_MAX_REDIRECTS} times; give its final address as the URL"
            )

    @property
    def _session(self) -> aiohttp.ClientSession:
        # Created on first use, because it belongs to the running event loop.
        if self._open_session is None:
            connector = aiohttp.TCPConnector(limit=_MAX_CONNECTIONS, limit_per_host=self._connections)
            self._open_session = aiohttp.ClientSession(
                connector=connector,
                # Cookies of one data source must not reach another.
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_TIMEOUT_SECONDS),
                headers={"Accept-Encoding": _ACCEPTED_ENCODING, "User-Agent": "dashwright"},
                # aiohttp does not notice if a gzip stream ends early.
                auto_decompress=False,
            )
        return self._open_session

    async def _send(self, request: _HttpRequest, limits: Limits) -> HttpResponse | _HttpRequest:
        """Return the response, or the request for the target of a redirect."""
        url = request.url
        assert url.host is not None
        assert url.port is not None
        addresses = await self._resolver.resolve(url.host, url.port, encrypted=url.scheme == "https")
        # If the server has closed an idle connection, aiohttp repeats a GET, but not a POST. So a POST gets one more attempt.
        attempted_addresses = addresses if request.method == "GET" else [*addresses, addresses[-1]]
        for attempt, address in enumerate(attempted_addresses, 1):
            try:
                return await self._exchange(request, address, limits)
            except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
                if is_not_tls(error):
                    raise SourceFailed(f"{_origin(url)} {NOT_TLS_ADVICE}") from error
                raise SourceFailed(
                    f"no trusted connection to {_origin(url)}: {_reason(error)}; set tlsCACert to the certificate of the "
                    "authority that signed the certificate of the host, or correct the address"
                ) from error
            except (aiohttp.ClientConnectionError, ConnectionError, TimeoutError) as error:
                if attempt == len(attempted_addresses):
                    raise SourceFailed(
                        f"{_origin(url)} did not respond: {_reason(error)}; check the address, and that the server runs"
                    ) from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError) as error:
                raise SourceFailed(
                    f"the data source {request.source_name!r:.80} sent an invalid HTTP response from {_origin(url)}: "
                    f"{_protocol_error(error)}; check that the address is that of the server"
                ) from error
        raise AssertionError("there is at least one attempt")

    async def _exchange(self, request: _HttpRequest, address: Address, limits: Limits) -> HttpResponse | _HttpRequest:
        """Send the request to one address of its host. Return the response, or the request for the target of a redirect."""
        url, credentials = request.url, request.credentials
        host = url.host_port_subcomponent or ""
        async with self._session.request(
            request.method,
            # The checked address, because a second resolution could return another one (DNS rebinding).
            url.with_host(str(address)),
            headers={**(_FORM_HEADERS if request.form else {}), **credentials.headers, "Host": host},
            data=request.form,
            allow_redirects=False,
            ssl=credentials.tls_for(url),
            server_hostname=credentials.server_name_for(url),
        ) as response:
            if response.status in _REDIRECT_STATUSES and "Location" in response.headers:
                return await self._redirect(request, response)
            reader = _BodyReader(response, request.source_name, limits)
            body = await (reader.read_error() if response.status >= _MIN_ERROR_STATUS else reader.read())
            return HttpResponse(response.status, body)

    async def _redirect(self, request: _HttpRequest, response: aiohttp.ClientResponse) -> _HttpRequest:
        """Return the request for the target of a redirect. Raises SourceFailed if its address is invalid or forbidden."""
        try:
            target = request.url.join(URL(response.headers["Location"]))
            is_http = target.scheme in {"http", "https"} and target.host is not None and target.port is not None
        except ValueError as error:
            raise SourceFailed(f"{_origin(request.url)} redirects to an address that cannot be read; correct the URL") from error
        if not is_http:
            raise SourceFailed(f"{_origin(request.url)} redirects to something that is not HTTP; correct the URL")
        try:
            await self._resolver.resolve(target.host or "", target.port or 0, encrypted=target.scheme == "https")
        except DashwrightError as error:
            raise SourceFailed(f"{_origin(request.url)} redirects to {_origin(target)}: {error.message}") from error
        # Credentials are for the data source, not for other hosts to which it redirects. A user in the target is not sent either.
        credentials = request.credentials if target.origin() == request.url.origin() else SourceCredentials()
        # Only 303 requires a GET (RFC 9110). After other redirects, a GET without the form would lose the query.
        if response.status == _SEE_OTHER:
            return replace(request, method="GET", url=target.with_user(None), form=None, credentials=credentials)
        return replace(request, url=target.with_user(None), credentials=credentials)


class _BodyReader:
    """A reader of the body of one response of the data source ``name``.

    The body grows in one buffer, which is returned without a copy. Memory is reserved before the buffer grows.
    """

    def __init__(self, response: aiohttp.ClientResponse, name: str, limits: Limits) -> None:
        self._response = response
        self._limits = limits
        self._subject = f"the response of the data source {name!r:.80}"
        self._encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        self._gzip = zlib.decompressobj(_GZIP_WINDOW) if self._encoding in _GZIP_NAMES else None
        # Unlike bytearray, BytesIO returns its buffer as bytes without a copy.
        self._body = BytesIO()

    async def read(self) -> bytes:
        """Return the decompressed body.

        Raises TooLarge if it has, or will have by its header, more bytes than allowed, and SourceFailed if it is incomplete
        or cannot be decompressed.
        """
        limit = self._limits.source_bytes
        if (announced := self._response.content_length or 0) > limit:
            raise self._too_large(f"has {announced} bytes")
        if not await self._read_up_to(limit):
            raise self._too_large(f"has at least {limit + 1} bytes{' when decompressed' if self._gzip else ''}")
        return self._body.getvalue()

    async def read_error(self) -> bytes:
        """Return the decompressed body of an error, or its beginning if it is too large, incomplete or cannot be decompressed."""
        with suppress(SourceFailed):
            await self._read_up_to(min(self._limits.source_bytes, _MAX_ERROR_BYTES))
        return self._body.getvalue()

    async def _read_up_to(self, limit: int) -> bool:
        """Read the body until it exceeds the limit. Return whether it was read completely."""
        if self._gzip is None and self._encoding != "identity":
            raise self._failure(f"has the content encoding {self._encoding!r:.40}, but gzip was requested")
        content = self._response.content
        try:
            while received := await content.readany():
                for part in self._decompress(received):
                    if self._body.tell() + len(part) > limit:
                        return False
                    self._limits.memory.reserve(len(part))
                    self._body.write(part)
                    self._limits.deadline.check()
                    if self._gzip:
                        # A few kilobytes may decompress to very many parts, between which other requests get the event loop.
                        await asyncio.sleep(0)
        except aiohttp.ClientPayloadError as error:
            announced = "" if self._response.content_length is None else f"of {self._response.content_length} "
            raise self._failure(f"ends early, after {content.total_bytes} {announced}bytes") from error
        if self._gzip and content.total_bytes and not self._gzip.eof:
            raise self._failure("ends early, within its gzip stream")
        return True

    def _decompress(self, received: bytes) -> Iterator[bytes]:
        """Yield the next parts of the body. The parts of compressed data are of bounded size."""
        if self._gzip is None:
            yield received
            return
        part = b""
        # zlib may have more output than fits into a full part, even if it has read all input.
        while received or len(part) == _STEP_BYTES:
            try:
                part = self._gzip.decompress(received, _STEP_BYTES)
            except zlib.error as error:
                raise self._failure(f"cannot be decompressed: {error}") from error
            if self._gzip.unused_data:
                raise self._failure("has data after the end of its gzip stream")
            received = self._gzip.unconsumed_tail
            yield part

    def _too_large(self, problem: str) -> DashwrightError:
        return self._limits.refusal("source_bytes", f"{self._subject} {problem}", "ask for fewer series or less time")

    def _failure(self, problem: str) -> SourceFailed:
        return SourceFailed(f"{self._subject} {problem}; try again, or check the server and the proxies in front of it")


def _origin(url: URL) -> str:
    """Return scheme, host and port of a URL, because the other parts may be secret."""
    return f"{url.scheme}://{url.host_port_subcomponent}"


def _reason(error: BaseException) -> str:
    """Return the reason of an error, in the words of the operating system if available."""
    cause = getattr(error, "os_error", error)
    reason: str = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    return reason[:_MAX_REASON_LENGTH]


def _protocol_error(error: aiohttp.ClientError | aiohttp.http.HttpProcessingError) -> str:
    """Return the first line of the message of an error. The other lines quote the response."""
    message: str = getattr(error, "message", "") or str(error) or type(error).__name__
    return message.splitlines()[0].rstrip(":")[:_MAX_REASON_LENGTH]
