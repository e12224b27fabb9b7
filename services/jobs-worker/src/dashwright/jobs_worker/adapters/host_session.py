"""An HTTP session for git hosts, which connects only to addresses that were checked before."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import SourceFailed

_CONNECT_SECONDS: Final = 10.0
_MAX_RESPONSE_BYTES: Final = 4 * 1024 * 1024
_MAX_CONNECTIONS: Final = 20
_MAX_CONNECTIONS_PER_HOST: Final = 4


@dataclass(frozen=True, slots=True)
class HostRequest:
    """A request with its complete headers and encoded body."""

    method: str
    url: URL
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(frozen=True, slots=True)
class HostResponse:
    """A response of any status, with its decompressed body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HostSession:
    """A session that is opened at the first request, because it belongs to the running event loop.

    ``authorities`` is a file of certificates to trust instead of the system's. A request may take ``seconds``.
    """

    def __init__(self, authorities: Path | None, *, seconds: float) -> None:
        self._authorities = authorities
        self._seconds = seconds
        #: None before the first request.
        self._opened: aiohttp.ClientSession | None = None
        self._cached_tls_context: ssl.SSLContext | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def exchange(self, request: HostRequest, address: Address) -> HostResponse:
        """Send a request to an address of its host, and return the response. Redirects are not followed.

        Raises aiohttp.ClientError, TimeoutError and OSError like aiohttp, and SourceFailed for a response of more than 4 MiB and for a
        file without certificates.
        """
        url = request.url
        is_encrypted = url.scheme == "https"
        async with self._session.request(
            request.method,
            # The checked address, with the requested name in Host and SNI: a second lookup could lead elsewhere.
            url.with_host(str(address)),
            headers={**request.headers, "Host": url.host_port_subcomponent or ""},
            data=request.body,
            allow_redirects=False,
            ssl=self._tls_context() if is_encrypted else True,
            server_hostname=url.raw_host if is_encrypted else None,
        ) as response:
            return HostResponse(response.status, response.headers.copy(), await _read_body(response, url))

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_MAX_CONNECTIONS, limit_per_host=_MAX_CONNECTIONS_PER_HOST),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._seconds, sock_connect=_CONNECT_SECONDS),
                headers={"Accept-Encoding": "gzip, deflate", "User-Agent": "dashwright"},
            )
        return self._opened

    def _tls_context(self) -> ssl.SSLContext:
        """Return the TLS context. Raises SourceFailed for a file without certificates."""
        if self._cached_tls_context is None:
            try:
                self._cached_tls_context = ssl.create_default_context(cafile=self._authorities)
            except (OSError, ssl.SSLError) as error:
                raise SourceFailed("the file of DASHWRIGHT_GIT_AUTHORITIES holds no certificates that can be read") from error
        return self._cached_tls_context


async def _read_body(response: aiohttp.ClientResponse, url: URL) -> bytes:
    """Return the decompressed body. The limit applies to the decompressed size."""
    body = bytearray()
    while chunk := await response.content.readany():
        body += chunk
        if len(body) > _MAX_RESPONSE_BYTES:
            response.close()
            raise SourceFailed(f"the git host {url.host} sends more than {_MAX_RESPONSE_BYTES} bytes")
    return bytes(body)
