"""A client of the jobs of a server, over its HTTP API."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import orjson
from pydantic import ValidationError
from yarl import URL

from dashwright.common.errors import BadRequest, DashwrightError, Forbidden, NotFound, SourceFailed, TooLarge, TooManyRequests, Unauthorized
from dashwright.common.kinds.registry import JOB, REPOSITORY
from dashwright.common.models.provisioning import JobSpec, JobStatus, State

_CONNECT_SECONDS: Final = 10.0
_RESPONSE_SECONDS: Final = 60.0
_WATCH_SECONDS: Final = 300
#: The largest response, and the largest event, in bytes.
_MAX_BYTES: Final = 16 * 1024 * 1024

_PAGE_SIZE: Final = 500
_ERRORS_BY_STATUS: Final[Mapping[int, type[DashwrightError]]] = {401: Unauthorized, 403: Forbidden, 404: NotFound, 429: TooManyRequests}


@dataclass(frozen=True, slots=True)
class Login:
    """The address of a server, and the credentials: a token, or ``name:password``, or none."""

    url: str
    namespace: str
    token: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the server returned it."""

    name: str
    version: str
    created: str
    spec: JobSpec
    status: JobStatus
    document: Mapping[str, Any]  #: The whole object, as the server returned it.

    @property
    def has_ended(self) -> bool:
        """True for a job that succeeded or failed."""
        return self.status.state in (State.SUCCESS, State.ERROR)


class JobsClient:
    """A client of one server.

    Every method raises BadRequest, Unauthorized, Forbidden, NotFound or TooManyRequests with the server's message,
    and SourceFailed if there is no valid response.
    """

    def __init__(self, login: Login) -> None:
        """Raise BadRequest for an invalid address, or a user without a password."""
        self._base_url = _address(login.url)
        self._api = self._base_url / "apis" / JOB.group / JOB.version / "namespaces" / login.namespace
        self._headers = {"Accept": "application/json", "User-Agent": "dashwright"} | _authorization(login)
        self._client_session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_WATCH_SECONDS + _RESPONSE_SECONDS)
        jar = aiohttp.DummyCookieJar()
        self._client_session = aiohttp.ClientSession(headers=self._headers, timeout=timeout, cookie_jar=jar, read_bufsize=_MAX_BYTES)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._client_session is not None:
            await self._client_session.close()

    async def jobs(self, repository: str = "") -> AsyncIterator[Job]:
        """Yield the jobs ordered by name; only those of ``repository``, if given."""
        query = {"limit": str(_PAGE_SIZE)} | ({"labelSelector": f"repository={repository}"} if repository else {})
        while True:
            page = await self._request("GET", self._api / JOB.plural, query)
            for item in page.get("items") or []:
                yield _job(item)
            continue_token = (page.get("metadata") or {}).get("continue")
            if not continue_token:
                return
            query["continue"] = continue_token

    async def has_repository(self, name: str) -> bool:
        """Return False only if the repository does not exist; True also if the caller is forbidden to read repositories."""
        try:
            await self._request("GET", self._api / REPOSITORY.plural / name)
        except NotFound:
            return False
        except Forbidden:
            pass
        return True

    async def job(self, name: str) -> Job:
        """Return a job."""
        return _job(await self._request("GET", self._api / JOB.plural / name))

    async def sync(self, repository: str, *, incremental: bool) -> Job:
        """Request a sync and return its job, which may be an equivalent one that was already pending."""
        return _job(await self._request("POST", self._api / REPOSITORY.plural / repository / "sync", body={"incremental": incremental}))

    async def cancel(self, job: Job) -> None:
        """Cancel a job."""
        await self._request("DELETE", self._api / JOB.plural / job.name)

    async def changes(self, job: Job) -> AsyncIterator[Job]:
        """Yield the job after each change, for a few minutes at most. Raises NotFound if it is deleted."""
        query = {"watch": "true", "fieldSelector": f"metadata.name={job.name}", "resourceVersion": job.version}
        query["timeoutSeconds"] = str(_WATCH_SECONDS)
        try:
            async with self._session.get(self._api / JOB.plural, params=query, allow_redirects=False) as response:
                await _check(response)
                while line := await response.content.readline():
                    event = _json_object(line)
                    match event.get("type"):
                        case "ADDED" | "MODIFIED":
                            yield _job(event.get("object"))
                        case "DELETED":
                            raise NotFound(f"the job {job.name} was deleted")
                        case "ERROR":
                            return
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise self._connection_error(error) from error

    async def _request(self, method: str, url: URL, query: Mapping[str, str] | None = None, body: Any = None) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=_RESPONSE_SECONDS, sock_connect=_CONNECT_SECONDS)
        try:
            # Redirects are not followed, because the credentials are for this server only.
            async with self._session.request(method, url, params=query, json=body, timeout=timeout, allow_redirects=False) as response:
                await _check(response)
                return _json_object(await _read(response))
        except (aiohttp.ClientError, TimeoutError) as error:
            raise self._connection_error(error) from error

    @property
    def _session(self) -> aiohttp.ClientSession:
        assert self._client_session is not None, "open the client with async with"
        return self._client_session

    def _connection_error(self, error: Exception) -> SourceFailed:
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return SourceFailed(f"the certificate of {self._base_url} is not trusted: set SSL_CERT_FILE to a file with the CA certificate")
        reason = "did not respond in time" if isinstance(error, TimeoutError) else f"cannot be reached ({error})"
        return SourceFailed(f"{self._base_url} {reason}: set the server with --url or DASHWRIGHT_URL")


def _address(text: str) -> URL:
    try:
        url = URL(text)
    except ValueError as error:
        raise BadRequest(f"invalid server address: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise BadRequest("the server address must begin with http:// or https:// and name a host")
    if url.user is not None or url.password is not None:
        raise BadRequest("the server address must not contain a user or password: use DASHWRIGHT_USER")
    return url.with_query(None).with_fragment(None)


def _authorization(login: Login) -> dict[str, str]:
    if login.token:
        return {"Authorization": f"Bearer {login.token}"}
    if not login.user:
        return {}
    name, colon, password = login.user.partition(":")
    if not colon:
        raise BadRequest("the user must be given as name:password")
    return {"Authorization": aiohttp.encode_basic_auth(name, password)}


async def _check(response: aiohttp.ClientResponse) -> None:
    if response.status < 300:
        return
    try:
        reason = str(_json_object(await _read(response)).get("message") or "")
    except SourceFailed:
        reason = ""
    if response.status == HTTPStatus.UNAUTHORIZED and "Authorization" not in response.request_info.headers:
        raise Unauthorized("the server requires credentials: set DASHWRIGHT_TOKEN, or DASHWRIGHT_USER to name:password")
    kind = _ERRORS_BY_STATUS.get(response.status, SourceFailed if response.status >= 500 else BadRequest)
    raise kind(reason or f"the server responded with status {response.status}: is it a Dashwright server?")


async def _read(response: aiohttp.ClientResponse) -> bytes:
    """Return the body. Raises TooLarge."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > _MAX_BYTES:
            raise TooLarge(f"the server's response has more than {_MAX_BYTES} bytes")
    return bytes(body)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        tree = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise SourceFailed("the server's response is not JSON: is it a Dashwright server?") from error
    if not isinstance(tree, dict):
        raise SourceFailed("the server's response is not a JSON object: is it a Dashwright server?")
    return tree


def _job(item: Any) -> Job:
    try:
        metadata = item["metadata"]
        spec, status = JobSpec.model_validate(item["spec"]), JobStatus.model_validate(item.get("status") or {})
        return Job(metadata["name"], metadata["resourceVersion"], metadata["creationTimestamp"], spec, status, item)
    except (KeyError, TypeError, ValidationError) as error:
        raise SourceFailed("the server returned a job in an unknown format: is it a different version?") from error
