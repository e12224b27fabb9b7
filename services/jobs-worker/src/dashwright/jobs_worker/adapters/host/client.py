"""One HTTP session for the APIs of all git hosts. It connects only to checked addresses and limits requests and sizes.

The library gidgethub was considered: it follows the next page to any address with the token, does not know status 429, and fails
unpredictably on unexpected JSON. Without those parts, only three headers of it are left.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.reach import Reach
from dashwright.jobs_worker.adapters.git.remote import Budget
from dashwright.jobs_worker.adapters.host.addresses import Api
from dashwright.jobs_worker.adapters.host.error_responses import Refused, error_for, is_throttled, retry_after

_SECONDS: Final = 30.0
_CONNECT_SECONDS: Final = 10.0
_MOST_BYTES: Final = 4 * 1024 * 1024
_CONNECTIONS: Final = 20
_AT_ONE_HOST: Final = 4
_REFUSALS: Final = 300
_VERSION: Final = "2022-11-28"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A successful response."""

    #: The parsed JSON, None without a body.
    data: Any
    #: There is a next page.
    has_more: bool


@dataclass(frozen=True, slots=True)
class _ApiRequest:
    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes | None


class HostClient:
    """A client of hosts' APIs.

    ``budget`` counts the requests. ``authorities`` is a file of certificates to trust instead of the system's.
    """

    def __init__(self, reach: Reach, budget: Budget | None = None, authorities: Path | None = None, *, seconds: float = _SECONDS) -> None:
        self._reach = reach
        self._budget = budget
        self._authorities = authorities
        self._seconds = seconds
        self._opened: aiohttp.ClientSession | None = None
        self._tls: ssl.SSLContext | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def request(
        self, method: str, api: Api, path: str, *, query: Mapping[str, int | str] | None = None, body: Any = None
    ) -> ApiResponse:
        """Send a request and return the response. ``path`` is below that of the repository, ``body`` is sent as JSON.

        Raises BadRequest if the host may not be reached or rejects the request, Forbidden, NotFound, Conflict, TooManyRequests while the
        host may not be called, SourceFailed if it fails, does not respond in time or does not send JSON.
        """
        url = URL(f"{api.address}/{api.repository}/{path}".rstrip("/"), encoded=True).with_query(query or {})
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": _VERSION}
        if api.authorization:
            headers["Authorization"] = api.authorization
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = _ApiRequest(method, url, headers, None if body is None else orjson.dumps(body))
        place = f"{url.host}:{url.port}"
        if self._budget is not None:
            await self._budget.take(place, api.namespace, 1)
        try:
            return await self._send(request)
        except Refused as refused:
            if is_throttled(refused) and self._budget is not None:
                raise await self._budget.pause(place, api.namespace, retry_after(refused)) from refused
            raise error_for(refused, api.secrets) from refused

    async def _send(self, request: _ApiRequest) -> ApiResponse:
        """Send a request. The next address is tried only if nothing was sent to the one before."""
        url = request.url
        addresses = await self._reach.resolve(url.host or "", url.port or 443, encrypted=url.scheme == "https")
        for number, address in enumerate(addresses, 1):
            try:
                return await self._exchange(request, address)
            except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
                text = f"the certificate of {url.host} is not trusted: name the file of its authority in DASHWRIGHT_GIT_AUTHORITIES"
                raise SourceFailed(text) from error
            except aiohttp.ClientConnectorError as error:
                if number == len(addresses):
                    raise _silent(url, "cannot be reached") from error
            except TimeoutError as error:
                raise _silent(url, "did not respond in time") from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, ConnectionError) as error:
                raise _silent(url, "closed the connection") from error
        raise AssertionError("there is at least one address")

    async def _exchange(self, request: _ApiRequest, address: Address) -> ApiResponse:
        url = request.url
        is_encrypted = url.scheme == "https"
        async with self._session.request(
            request.method,
            # The checked address, with the requested name in Host and SNI: a second lookup could lead elsewhere.
            url.with_host(str(address)),
            headers={**request.headers, "Host": url.host_port_subcomponent or ""},
            data=request.body,
            allow_redirects=False,
            ssl=self._trusted() if is_encrypted else True,
            server_hostname=url.raw_host if is_encrypted else None,
        ) as response:
            body = await _read(response, url)
            if response.status >= _REFUSALS:
                raise Refused(response.status, response.headers.copy(), body)
            return ApiResponse(_json(body, url), 'rel="next"' in response.headers.get("Link", ""))

    @property
    def _session(self) -> aiohttp.ClientSession:
        """The session, opened when it is first needed, on the loop that needs it."""
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_CONNECTIONS, limit_per_host=_AT_ONE_HOST),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._seconds, sock_connect=_CONNECT_SECONDS),
                headers={"Accept-Encoding": "gzip, deflate", "User-Agent": "dashwright"},
            )
        return self._opened

    def _trusted(self) -> ssl.SSLContext:
        """Return the TLS context. Raises SourceFailed for a file without certificates."""
        if self._tls is None:
            try:
                self._tls = ssl.create_default_context(cafile=self._authorities)
            except (OSError, ssl.SSLError) as error:
                raise SourceFailed("the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read") from error
        return self._tls


async def _read(response: aiohttp.ClientResponse, url: URL) -> bytes:
    """Return the decompressed body. The limit applies to the decompressed size."""
    body = bytearray()
    while piece := await response.content.readany():
        body += piece
        if len(body) > _MOST_BYTES:
            response.close()
            raise SourceFailed(f"the git host {url.host} sends more than {_MOST_BYTES} bytes")
    return bytes(body)


def _json(body: bytes, url: URL) -> Any:
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _silent(url, "does not respond with JSON") from error


def _silent(url: URL, what: str) -> DashwrightError:
    return SourceFailed(f"the API of the git host at {url.host} {what}")
