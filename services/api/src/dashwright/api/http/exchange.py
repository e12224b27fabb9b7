"""The handling of one request: trace, dispatch, authentication, permission, handler, response, log and metrics.

Every error becomes a response in the error shape of the route, or an HTML page for a browser.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from typing import Final, Protocol

import structlog
from aiohttp import web
from prometheus_client import Counter, Histogram
from structlog.contextvars import bind_contextvars

from dashwright.api.domain.actor import Actor
from dashwright.api.http import html
from dashwright.api.http.addresses import NO_PROXIES, TrustedProxies, client_network
from dashwright.api.http.authentication import NOT_A_MEMBER, ORGANIZATION_MISMATCH, Authenticator, Credentials, not_a_member
from dashwright.api.http.call import Call, actor_of
from dashwright.api.http.dispatch import Dispatcher, Match
from dashwright.api.http.errors import ACCESS_DENIED, ErrorShape, error_response, error_shape_of, permission_denied
from dashwright.api.http.in_flight import Deadlines, InFlightRequests
from dashwright.api.http.origins import DEFAULT_ORIGIN_POLICY, OriginPolicy
from dashwright.api.http.response import SAFE_HEADERS, Response
from dashwright.api.http.response_budget import ResponseOwner
from dashwright.api.http.routing import Access, OrganizationInPath, OrganizationScope, Permission
from dashwright.api.http.sending import Sender
from dashwright.common.errors import DashwrightError, DeadlineExceeded, Forbidden, Unauthorized
from dashwright.common.identity import CallerType, Identity, Role, org_of
from dashwright.common.observability import metrics, tracing

log = structlog.get_logger()

SERVER: Final = f"Dashwright/{version('dashwright-api')}"
"""Value of the header ``Server``."""
ANONYMOUS: Final = Identity(uid="anonymous", login="", org_id=1, role=Role.NONE, kind=CallerType.ANONYMOUS)
"""The caller of a public route, and of a request whose credentials are invalid or not yet checked."""
_REQUEST_ID: Final = re.compile(r"\A[A-Za-z0-9._:-]{1,64}\Z")
"""The request ids of clients that logs and responses may contain. Others are replaced."""
_UNMATCHED_TEMPLATE: Final = "unmatched"
"""The template, in metrics and logs, of requests that match no route."""
_WRONG_ORGANIZATION_IDS: Final = frozenset({NOT_A_MEMBER, ORGANIZATION_MISMATCH})
"""Message ids of errors for valid credentials that do not apply in the requested organization."""
_MAX_ORG_ID_DIGITS: Final = 18
"""Largest number of digits with which every decimal number fits into 64 bits."""


class Refusals(Protocol):
    """A record of refused changes: requests that received 401 or 403, for routes with an audit event."""

    def record(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        """Record a refused change."""


class ObjectAccess(Protocol):
    """Access rules of single objects."""

    async def may_on_any(self, identity: Identity, action: str) -> bool:
        """Return whether a caller may do ``action`` on at least one object of their organization."""
        ...


@dataclass(slots=True)
class _RequestRecord:
    """The data of a request for its log event and metrics. The exchange sets each field when it knows the value."""

    request_id: str
    trace_id: str
    started_at: float = field(default_factory=time.perf_counter)
    template: str = _UNMATCHED_TEMPLATE  #: Path template of the route.
    is_routine: bool = False  #: Whether programs request the route every few seconds; a success is then logged at level debug.
    caller: Identity = ANONYMOUS
    error_shape: ErrorShape = ErrorShape.CLASSIC
    status: int = 0


class RequestMetrics:
    """Metrics of requests by path template. The route table limits the number of templates; paths are unlimited."""

    def __init__(self) -> None:
        # Cached, since the Prometheus client looks up the metric for a tuple of labels under a lock.
        self._counter = lru_cache(maxsize=4096)(_counter)
        self._histogram = lru_cache(maxsize=1024)(_histogram)

    def count(self, template: str, method: str, status: int, seconds: float) -> None:
        """Count a response that took ``seconds``."""
        self._counter(template, method, status).inc()
        self._histogram(template).observe(seconds)


def _counter(template: str, method: str, status: int) -> Counter:
    return metrics.http_requests.labels(template, method, str(status))


def _histogram(template: str) -> Histogram:
    return metrics.http_seconds.labels(template)


class Exchange:
    """The handler of all requests of a listener."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        authenticator: Authenticator,
        sender: Sender,
        deadlines: Deadlines,
        in_flight: InFlightRequests,
        refusals: Refusals | None = None,
        proxies: TrustedProxies = NO_PROXIES,
        object_access: ObjectAccess | None = None,
        origins: OriginPolicy = DEFAULT_ORIGIN_POLICY,
        headers: Mapping[str, str] = SAFE_HEADERS,
        on_identified: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Create the handler.

        ``deadlines`` limit the time to the start of a response; a streamed body may take any time. ``on_identified`` is called with
        the uid of each authenticated caller, in the task of the request. ``headers`` are added to every response.
        """
        self._on_identified = on_identified
        self._headers = headers
        self._refusals = refusals
        self._origins = origins
        self._object_access = object_access
        self._proxies = proxies
        self._in_flight = in_flight
        self._dispatcher = dispatcher
        self._authenticator = authenticator
        self._sender = sender
        self._deadlines = deadlines
        self._metrics = RequestMetrics()
        self._access_log = log.bind()  # Bound once, because structlog binds an unbound logger again for each event.

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send the response to a request, and return it."""
        self._in_flight.begin()
        try:
            response = await self._exchange(request)
        finally:
            self._in_flight.end()
        if self._in_flight.is_stopping:
            response.force_close()
        return response

    async def _exchange(self, request: web.BaseRequest) -> web.StreamResponse:
        """Send the response to a request in its trace, and record the log event and the metrics."""
        headers = request.headers
        trace_context = tracing.enter(headers.get(tracing.HEADER))
        request_id = headers.get("X-Request-Id")
        if request_id is None or not _REQUEST_ID.match(request_id):
            request_id = trace_context.span_id
        record = _RequestRecord(request_id, trace_context.trace_id)
        path = _request_path(request)
        bind_contextvars(request_id=request_id, method=request.method, path=_printable(path))
        response = await self._respond_to(request, path, record)
        record.status = response.status
        sent_response = await self._send(request, response, record)
        seconds = time.perf_counter() - record.started_at
        self._metrics.count(record.template, request.method, record.status, seconds)
        log_request = self._access_log.debug if record.is_routine and record.status < 400 else self._access_log.info
        log_request("request_completed", route=record.template, status=record.status, ms=round(seconds * 1000, 3))
        return sent_response

    async def _respond_to(self, request: web.BaseRequest, path: str, record: _RequestRecord) -> Response:
        """Return the response of the handler, or the response for the error that prevented one."""
        match, failure_message = None, None
        try:
            match = self._dispatcher.find(request.method, path)
            record.template = match.route.path
            record.is_routine = match.route.is_routine
            record.error_shape, failure_message = match.error_shape, match.route.failure_message
            return await self._call_within_deadline(request, match, record)
        except DashwrightError as error:
            if error.status == 500:
                log.exception("request_failed")
            elif error.status > 500:
                log.warning("request_refused", error=error.message, code=error.code, **error.details)
            elif error.message_id == ACCESS_DENIED:
                log.info("access_denied", needed=error.message)
            if match is not None and error.status in (401, 403):
                self._record_refusal(request, match, error.status, record)
            reported_error: DashwrightError = error
        except Exception:
            log.exception("request_failed")
            reported_error = DashwrightError("unexpected")
        # Without a route, the path shows which format of errors the client understands.
        if match is None:
            record.error_shape = error_shape_of(path)
        response = error_response(reported_error, record.error_shape, record.trace_id, failure_message=failure_message)
        if html.has_error_pages(path) and html.accepts_html(request.headers.get("Accept", "")):
            return html.error_page(reported_error, response, record.trace_id, path)
        return response

    def _record_refusal(self, request: web.BaseRequest, match: Match, status: int, record: _RequestRecord) -> None:
        """Record a response 401 or 403 for the audit, if the route has an audit event."""
        if self._refusals is not None and match.route.audit is not None:
            actor = actor_of(record.caller, self._address(request), record.request_id, record.trace_id)
            self._refusals.record(actor, match.route.audit, org_id=_refused_org(match, record.caller), status=status)

    async def _call_within_deadline(self, request: web.BaseRequest, match: Match, record: _RequestRecord) -> Response:
        """Return the response of the handler. Raises DeadlineExceeded at the time limit."""
        task = asyncio.current_task()
        assert task is not None
        self._deadlines.begin(task)
        try:
            return await self._call_handler(request, match, record)
        except asyncio.CancelledError as error:
            if not self._deadlines.has_expired(task):
                raise
            raise DeadlineExceeded(f"No response within {self._deadlines.seconds:g} seconds; request less data, or retry") from error
        finally:
            self._deadlines.end(task)

    async def _call_handler(self, request: web.BaseRequest, match: Match, record: _RequestRecord) -> Response:
        """Check origin, credentials and permission, which public routes do not need, and return the response of the handler."""
        route = match.route
        address = self._address(request)
        identity = authorized_identity = ANONYMOUS
        if route.required_access is not Access.PUBLIC:
            # Browsers add a user's credentials also to requests that a page of another site sends.
            self._origins.check(request.method, request.scheme, request.headers)
            identity = record.caller = await self._identify(request, match, address)
            self._on_identified(identity.uid)
            authorized_identity = await self._authorize(identity, match)
        call = Call(
            request,
            template=route.path,
            parameters=match.parameters,
            identity=identity,
            authorized_identity=authorized_identity,
            address=address,
            request_id=record.request_id,
            trace_id=record.trace_id,
            body_limit=route.body_limit,
            error_shape=match.error_shape,
            restart_deadline=self._restart_deadline,
        )
        return await route.handler(call)

    def _restart_deadline(self) -> None:
        """Start the time limit of the current request again."""
        task = asyncio.current_task()
        assert task is not None
        self._deadlines.restart(task)

    def _address(self, request: web.BaseRequest) -> str:
        """Return the address of the client, also of one behind a trusted proxy."""
        return self._proxies.client_address(request.remote, request.headers.getall("X-Forwarded-For", ()))

    async def _identify(self, request: web.BaseRequest, match: Match, address: str) -> Identity:
        """Return the caller in the organization of the path's namespace, or of ``X-Grafana-Org-Id`` for a path without namespace."""
        authorization = request.headers.getall("Authorization", ())
        # Of several headers, a proxy before this server may have checked another one.
        if len(authorization) != 1 or not authorization[0]:
            raise Unauthorized("Unauthorized")
        namespace = match.parameters.get("namespace")
        org_id = _header_org(request) if namespace is None else _namespace_org(namespace)
        try:
            identity = await self._authenticator.identify(
                Credentials(authorization[0], address, match.route.accepts_weak_passwords), org_id
            )
        except Unauthorized as error:
            if namespace is None or error.message_id not in _WRONG_ORGANIZATION_IDS:
                raise
            raise _namespace_forbidden(namespace) from error
        bind_contextvars(user=identity.login)
        return identity

    async def _authorize(self, identity: Identity, match: Match) -> Identity:
        """Return the caller in the organization that the permission is about. Raises Forbidden if they lack the permission."""
        required_access = match.route.required_access
        if not isinstance(required_access, Permission):
            return identity
        organization, authorized_identity = required_access.organization, identity
        if organization is OrganizationScope.CURRENT:
            if not identity.org_id:  # The caller is a member of no organization.
                raise not_a_member()
        elif organization is OrganizationScope.GLOBAL:
            authorized_identity = await self._authenticator.identity_in(identity, 0)  # Only permissions for the whole server.
        else:
            authorized_identity = await self._authenticator.identity_in(identity, organization.organization_id(match.parameters))
        # With these, the handler checks the right to each object, which is known only after the object has been read.
        if required_access.any_scope_suffices or required_access.object_rules_suffice:
            is_allowed = authorized_identity.has_action(required_access.action)
            if not is_allowed and required_access.object_rules_suffice and self._object_access is not None:
                is_allowed = await self._object_access.may_on_any(authorized_identity, required_access.action)
        else:
            is_allowed = authorized_identity.may(required_access.action, required_access.scope_for(match.parameters, identity.org_id))
        if not is_allowed:
            raise permission_denied(required_access.action)
        return authorized_identity

    async def _send(self, request: web.BaseRequest, response: Response, record: _RequestRecord) -> web.StreamResponse:
        """Send a response, or the refusal of a response that exceeds the budget of memory."""
        headers = {"Server": SERVER, "X-Request-Id": record.request_id, **self._headers}
        try:
            return await self._sender.send(request, response, headers, self._owner(request, record.caller))
        except DashwrightError as error:
            log.warning("response_refused", error=error.message, code=error.code)
            refusal = error_response(error, record.error_shape, record.trace_id)
            record.status = refusal.status
            return await self._sender.send_refusal(request, refusal, headers)

    def _owner(self, request: web.BaseRequest, caller: Identity) -> ResponseOwner:
        """Return the owner of the response in the budget of memory."""
        if caller.kind is not CallerType.ANONYMOUS:
            return ResponseOwner(caller.uid, caller.org_id)
        return ResponseOwner(client_network(self._address(request)), 0)


def _refused_org(match: Match, caller: Identity) -> int:
    """Return the id of the organization that a refused change is about.

    It is 0 for a change of the whole server, and for an anonymous caller.
    """
    required_access = match.route.required_access
    organization = required_access.organization if isinstance(required_access, Permission) else OrganizationScope.CURRENT
    if organization is OrganizationScope.GLOBAL or caller.kind is CallerType.ANONYMOUS:
        return 0
    return organization.organization_id(match.parameters) if isinstance(organization, OrganizationInPath) else caller.org_id


def _request_path(request: web.BaseRequest) -> str:
    """Return the path of the request line, which proxies may send as an absolute URL."""
    raw = request.raw_path
    if not raw.startswith("/"):
        return request.rel_url.raw_path
    return raw.partition("?")[0].partition("#")[0]


def _printable(path: str) -> str:
    """Return a path with escapes in place of non-ASCII characters: logs cannot encode aiohttp's surrogates for invalid UTF-8."""
    return path if path.isascii() else path.encode("ascii", "backslashreplace").decode()


def _header_org(request: web.BaseRequest) -> int | None:
    """Return ``X-Grafana-Org-Id``, or None if it is not a positive integer, as Grafana ignores other values."""
    value = request.headers.get("X-Grafana-Org-Id", "")
    is_number = value.isascii() and value.isdigit() and len(value) <= _MAX_ORG_ID_DIGITS
    if not is_number:
        return None
    return int(value) or None  # 0 is the id of no organization.


def _namespace_org(namespace: str) -> int:
    """Return the organization id of a namespace. Raises Forbidden for an invalid one, as for that of another organization."""
    org_id = org_of(namespace)
    if org_id is None:
        raise _namespace_forbidden(namespace)
    return org_id


def _namespace_forbidden(namespace: str) -> Forbidden:
    return Forbidden(f'You are not a member of the namespace "{namespace}"; use "default" or "org-N" with an organization of yours')
