"""One HTTP session for the APIs of all git hosts. It connects only to checked addresses and limits requests and sizes.

The library gidgethub is not used: it sends the token to any address that a response names as the next page, does not know status 429,
and fails unpredictably on unexpected JSON. Without these parts, it would provide only three headers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import aiohttp
import orjson
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.common.tls_failures import NOT_TLS_ADVICE, is_not_tls
from dashwright.jobs_worker.adapters.git.remote import RequestBudget
from dashwright.jobs_worker.adapters.host.addresses import Api
from dashwright.jobs_worker.adapters.host.error_responses import ErrorResponse, error_for, is_throttled, retry_after
from dashwright.jobs_worker.adapters.host_session import HostRequest, HostSession

_TIMEOUT_SECONDS: Final = 30.0
_FIRST_ERROR_STATUS: Final = 300
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_MAX_HOPS: Final = 3
"""Limit on the requests that one chain of redirects may cause, including the first one."""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A successful response."""

    #: The parsed JSON, None without a body.
    data: Any
    headers: Mapping[str, str]


class NotJson(SourceFailed):
    """A successful response that is not JSON."""


class HostClient:
    """A client of hosts' APIs.

    ``budget`` counts the requests. ``authorities`` is a file of certificates to trust instead of the system's.
    """

    def __init__(
        self,
        resolver: HostResolver,
        budget: RequestBudget | None = None,
        authorities: Path | None = None,
        *,
        seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        self._resolver = resolver
        self._budget = budget
        self._session = HostSession(authorities, seconds=seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def request(
        self, method: str, api: Api, path: str, *, query: Mapping[str, int | str] | None = None, body: Any = None
    ) -> ApiResponse:
        """Send a request and return the response. ``path`` is relative to the repository, and ``body`` is sent as JSON.

        A GET follows redirects to other paths of the same repository.

        Raises BadRequest if requests to the host are forbidden or the host rejects the request, TooManyRequests while requests to the host
        are paused, and SourceFailed if the host fails, does not respond in time or does not send JSON. A response with status 401 or 403 is
        raised as Forbidden, 404 or 410 as NotFound, and 409 as Conflict.
        """
        url = URL(f"{api.root}/{path}".rstrip("/"), encoded=True).with_query(query or {})
        return await self._request(method, api, url, None if body is None else orjson.dumps(body))

    async def follow(self, api: Api, link: str) -> ApiResponse:
        """Send a GET to a link of an earlier response. Raises SourceFailed for a link that leaves the repository, and like ``request``."""
        url = api.inner_url(link)
        if url is None:
            raise SourceFailed("the git host's API names a next page at another address")
        return await self._request("GET", api, url, None)

    async def probe(self, url: URL, namespace: str) -> tuple[int, Any]:
        """Send a GET without a token, and return the status and the parsed JSON of the response; None for other content.

        Raises BadRequest if requests to the host are forbidden, TooManyRequests while requests are paused, and SourceFailed if the host
        fails.
        """
        await self._charge(url, namespace)
        try:
            response = await self._send(HostRequest("GET", url, {"Accept": "application/json"}, None))
        except NotJson:
            return HTTPStatus.OK, None
        except ErrorResponse as error:
            if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR or is_throttled(error):
                raise await self._error(error, url, namespace, ()) from error
            return error.status, error.json()
        return HTTPStatus.OK, response.data

    async def _request(self, method: str, api: Api, url: URL, body: bytes | None) -> ApiResponse:
        headers = dict(api.host.rest_api.headers)
        if api.authorization:
            headers["Authorization"] = api.authorization
        if body is not None:
            headers["Content-Type"] = "application/json"
        for _ in range(_MAX_HOPS):
            await self._charge(url, api.namespace)
            try:
                return await self._send(HostRequest(method, url, headers, body))
            except ErrorResponse as response:
                target = api.inner_url(response.headers.get("Location", "")) if response.status in _REDIRECTS else None
                if method != "GET" or target is None:
                    raise await self._error(response, url, api.namespace, api.secrets) from response
                # Some hosts leave the query out of the address to which they redirect.
                url = target.update_query({name: value for name, value in url.query.items() if name not in target.query})
        raise _failure(url, "redirects too often")

    async def _charge(self, url: URL, namespace: str) -> None:
        if self._budget is not None:
            await self._budget.charge(_host_and_port(url), namespace, 1)

    async def _error(self, response: ErrorResponse, url: URL, namespace: str, secrets: Sequence[str]) -> DashwrightError:
        """Return the error for a response. If the host limits requests, the requests of the organization are paused."""
        if is_throttled(response) and self._budget is not None:
            return await self._budget.pause(_host_and_port(url), namespace, retry_after(response))
        return error_for(response, secrets)

    async def _send(self, request: HostRequest) -> ApiResponse:
        """Send a request to the first address of the host that accepts a connection, and return the response."""
        url = request.url
        addresses = await self._resolver.resolve(url.host or "", url.port or 443, encrypted=url.scheme == "https")
        for attempt, address in enumerate(addresses, 1):
            try:
                return await self._exchange(request, address)
            except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
                if is_not_tls(error):
                    raise _failure(url, NOT_TLS_ADVICE) from error
                message = f"the certificate of {url.host} is not trusted: name the file of its authority in DASHWRIGHT_GIT_AUTHORITIES"
                raise SourceFailed(message) from error
            except aiohttp.ClientConnectorError as error:
                # Only after this error the next address is tried: after any other error, the host may have handled the request.
                if attempt == len(addresses):
                    raise _failure(url, "cannot be reached") from error
            except TimeoutError as error:
                raise _failure(url, "did not respond in time") from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, ConnectionError) as error:
                raise _failure(url, "closed the connection") from error
        raise AssertionError("there is at least one address")

    async def _exchange(self, request: HostRequest, address: Address) -> ApiResponse:
        response = await self._session.exchange(request, address)
        if response.status >= _FIRST_ERROR_STATUS:
            raise ErrorResponse(response.status, response.headers, response.body)
        return ApiResponse(_json(response.body, request.url), response.headers)


def _json(body: bytes, url: URL) -> Any:
    """Return the parsed body of a response; None without a body. Raises NotJson."""
    if not body:
        return None
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NotJson(f"the API of the git host at {url.host} does not respond with JSON") from error


def _host_and_port(url: URL) -> str:
    return f"{url.host}:{url.port}"


def _failure(url: URL, problem: str) -> DashwrightError:
    return SourceFailed(f"the API of the git host at {url.host} {problem}")
