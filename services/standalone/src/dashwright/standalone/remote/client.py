"""An HTTP client of a server: requests and streams of JSON objects, with the server's errors."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson
from yarl import URL

from dashwright.common.errors import (
    BadRequest,
    Conflict,
    DashwrightError,
    Forbidden,
    NotFound,
    SourceFailed,
    TooLarge,
    TooManyRequests,
    Unauthorized,
)
from dashwright.common.kinds.kind import Kind
from dashwright.common.tls_failures import NOT_TLS_ADVICE, is_not_tls
from dashwright.standalone.remote.login import Login

#: The duration in seconds of a watch, after which the server ends it.
WATCH_SECONDS: Final = 300
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_RESPONSE_TIMEOUT_SECONDS: Final = 60.0
#: The largest response, and the largest line of a stream, in bytes.
_MAX_BYTES: Final = 16 * 1024 * 1024

_ERRORS_BY_STATUS: Final[Mapping[int, type[DashwrightError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    429: TooManyRequests,
}


class ServerClient:
    """A client of one namespace of a server, opened with ``async with``.

    Every method raises BadRequest, Unauthorized, Forbidden, NotFound, Conflict or TooManyRequests with the server's message,
    TooLarge for a response of more than 16 MiB, and SourceFailed if there is no valid response.
    """

    def __init__(self, login: Login) -> None:
        """Raise BadRequest for an invalid address, or a user without a password."""
        self._base_url = _parse_address(login.url)
        self._namespace = login.namespace
        self._headers = {"Accept": "application/json", "User-Agent": "dashwright"} | _authorization_header(login)
        self._client_session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # A watch without changes sends nothing until the server ends it.
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_TIMEOUT_SECONDS, sock_read=WATCH_SECONDS + _RESPONSE_TIMEOUT_SECONDS
        )
        jar = aiohttp.DummyCookieJar()
        # The size of the buffer limits the length of a line of a stream.
        self._client_session = aiohttp.ClientSession(headers=self._headers, timeout=timeout, cookie_jar=jar, read_bufsize=_MAX_BYTES)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._client_session is not None:
            await self._client_session.close()

    def url_of(self, kind: Kind) -> URL:
        """Return the URL of the objects of a kind in the namespace."""
        return self._base_url / "apis" / kind.group / kind.version / "namespaces" / self._namespace / kind.plural

    async def request(
        self, method: str, url: URL, *, query: Mapping[str, str] | None = None, body: Any = None, accept: str = "application/json"
    ) -> dict[str, Any]:
        """Return the JSON object of the response. ``body`` is sent as JSON."""
        timeout = aiohttp.ClientTimeout(total=_RESPONSE_TIMEOUT_SECONDS, sock_connect=_CONNECT_TIMEOUT_SECONDS)
        try:
            # Redirects are not followed, because the credentials are for this server only.
            async with self._session.request(
                method, url, params=query, json=body, headers={"Accept": accept}, timeout=timeout, allow_redirects=False
            ) as response:
                await _raise_for_status(response)
                return _json_object(await _read(response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._connection_error(error) from error

    async def download(self, path: str, query: Sequence[tuple[str, str]]) -> bytes:
        """Return the body of the response to a GET, of any media type."""
        timeout = aiohttp.ClientTimeout(total=_RESPONSE_TIMEOUT_SECONDS, sock_connect=_CONNECT_TIMEOUT_SECONDS)
        try:
            async with self._session.get(
                self._base_url.joinpath(*path.strip("/").split("/")),
                params=query,
                headers={"Accept": "*/*"},
                timeout=timeout,
                allow_redirects=False,
            ) as response:
                await _raise_for_status(response)
                return await _read(response)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._connection_error(error) from error

    async def stream(self, url: URL, query: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
        """Yield the JSON objects of a response that has one on each line."""
        try:
            async with self._session.get(url, params=query, allow_redirects=False) as response:
                await _raise_for_status(response)
                while line := await response.content.readline():
                    yield _json_object(line)
        # ``readline`` raises ValueError for a line of more than _MAX_BYTES bytes.
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise self._connection_error(error) from error

    async def exchange(
        self, url: URL, query: Mapping[str, str], parts: AsyncIterable[bytes], *, media_type: str
    ) -> AsyncIterator[dict[str, Any]]:
        """Send a body in parts by POST, and yield the JSON objects of a response that has one on each line."""
        try:
            async with self._session.post(
                url, params=query, data=parts, headers={"Content-Type": media_type, "Accept": media_type}, allow_redirects=False
            ) as response:
                await _raise_for_status(response)
                while line := await response.content.readline():
                    yield _json_object(line)
        # ValueError is raised as in ``stream``.
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise self._connection_error(error) from error

    @property
    def _session(self) -> aiohttp.ClientSession:
        assert self._client_session is not None, "open the client with async with"
        return self._client_session

    def _connection_error(self, error: Exception) -> SourceFailed:
        """Return the error of a failed connection, with what to do about it."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return SourceFailed(f"the certificate of {self._base_url} is not trusted: set SSL_CERT_FILE to a file with the CA certificate")
        if is_not_tls(error):
            return SourceFailed(f"{self._base_url} {NOT_TLS_ADVICE}")
        reason = "did not respond in time" if isinstance(error, TimeoutError) else f"cannot be reached ({error})"
        return SourceFailed(f"{self._base_url} {reason}: set the server with --url or DASHWRIGHT_URL")


def _parse_address(value: str) -> URL:
    """Return the address of a server without query and fragment. Raises BadRequest if it is invalid or has credentials."""
    try:
        url = URL(value)
    except ValueError as error:
        raise BadRequest(f"invalid server address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise BadRequest("the server address must begin with http:// or https:// and name a host")
    if url.user is not None or url.password is not None:
        raise BadRequest("the server address must not contain a user or password: use DASHWRIGHT_USER")
    return url.with_query(None).with_fragment(None)


def _authorization_header(login: Login) -> dict[str, str]:
    """Return the header with the credentials; empty without any. Raises BadRequest for a user without a password."""
    if login.token:
        return {"Authorization": f"Bearer {login.token}"}
    if not login.user:
        return {}
    name, colon, password = login.user.partition(":")
    if not colon:
        raise BadRequest("the user must be given as name:password")
    return {"Authorization": aiohttp.encode_basic_auth(name, password)}


async def _raise_for_status(response: aiohttp.ClientResponse) -> None:
    """Raise the error that a response describes, unless its status is 2xx. A redirect is an error, too."""
    if response.status < 300:
        return
    try:
        reason = str(_json_object(await _read(response)).get("message") or "")
    except SourceFailed:
        reason = ""
    if response.status == HTTPStatus.UNAUTHORIZED and "Authorization" not in response.request_info.headers:
        raise Unauthorized("the server requires credentials: set DASHWRIGHT_TOKEN, or DASHWRIGHT_USER to name:password")
    error_type = _ERRORS_BY_STATUS.get(response.status, SourceFailed if response.status >= 500 else BadRequest)
    raise error_type(reason or f"the server responded with status {response.status}: is it a Dashwright server?")


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body. Raises TooLarge if it has more than 16 MiB."""
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise TooLarge(f"the server's response has more than {_MAX_BYTES} bytes")
    return bytes(body)


def _json_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body. Raises SourceFailed if the body is not a JSON object."""
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise SourceFailed("the server's response is not JSON: is it a Dashwright server?") from error
    if not isinstance(tree, dict):
        raise SourceFailed("the server's response is not a JSON object: is it a Dashwright server?")
    return tree
