"""Requests to the webhooks of tenants. They go to checked addresses only, follow no redirects, and the bodies of responses are not read."""

from collections.abc import Mapping
from typing import Final

import aiohttp
from yarl import URL

from dashwright.common.allowed_hosts import Address
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.host_resolver import HostResolver
from dashwright.common.tls_failures import NOT_TLS_ADVICE, is_not_tls
from dashwright.jobs_worker.ports import WebhookResponse

_TIMEOUT_SECONDS: Final = 15.0
_CONNECT_SECONDS: Final = 5.0


class WebhookClient:
    """Client that sends signed requests. It implements ``ports.Webhooks``. ``seconds`` is the time limit of a request."""

    def __init__(self, resolver: HostResolver, *, seconds: float = _TIMEOUT_SECONDS) -> None:
        self._resolver = resolver
        self._seconds = seconds
        self._client_session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close the connections."""
        if self._client_session is not None:
            await self._client_session.close()
            self._client_session = None

    async def post(self, address: str, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        """Send a request to the first address of the host that accepts a connection.

        Raises BadRequest if requests to the host are forbidden, and SourceFailed if the webhook fails or does not respond in time.
        """
        url = URL(address, encoded=True)
        addresses = await self._resolver.resolve(url.host or "", url.port or 443, encrypted=url.scheme == "https")
        for attempt, resolved_address in enumerate(addresses, 1):
            try:
                return await self._exchange(url, resolved_address, headers, body)
            except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError) as error:
                raise _failure(url, NOT_TLS_ADVICE if is_not_tls(error) else "has no trusted certificate") from error
            except aiohttp.ClientConnectorError as error:
                if attempt == len(addresses):
                    raise _failure(url, "cannot be reached") from error
            except TimeoutError as error:
                raise _failure(url, f"did not respond within {self._seconds:g} s") from error
            except (aiohttp.ClientError, aiohttp.http.HttpProcessingError, ConnectionError) as error:
                raise _failure(url, "closed the connection") from error
        raise AssertionError("there is at least one address")

    async def _exchange(self, url: URL, address: Address, headers: Mapping[str, str], body: bytes) -> WebhookResponse:
        is_encrypted = url.scheme == "https"
        async with self._session.post(
            # The checked address, with the requested name in Host and SNI: a second lookup could lead elsewhere.
            url.with_host(str(address)),
            headers={**headers, "Host": url.host_port_subcomponent or ""},
            data=body,
            allow_redirects=False,
            server_hostname=url.raw_host if is_encrypted else None,
        ) as response:
            retry_after = response.headers.get("Retry-After", "")
            # The body is not needed, and may be endless or, of an internal service, secret.
            response.close()
            return WebhookResponse(response.status, float(retry_after) if retry_after.isascii() and retry_after.isdigit() else None)

    @property
    def _session(self) -> aiohttp.ClientSession:
        """The session. It is opened at the first request, because it belongs to the running event loop."""
        if self._client_session is None:
            self._client_session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=True),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=self._seconds, sock_connect=_CONNECT_SECONDS),
                headers={"User-Agent": "dashwright"},
            )
        return self._client_session


def _failure(url: URL, problem: str) -> DashwrightError:
    # The path of a URL may contain a secret.
    return SourceFailed(f"the webhook at {url.host} {problem}")
