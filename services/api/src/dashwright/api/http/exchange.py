"""The exchange of one request for a response: trace, dispatch, authentication, permission, handler, log and metrics.

Every error ends here: it becomes a response in the error shape of the route, or an HTML page for a browser.
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
from dashwright.api.http.addresses import PEERS, Addresses, client_network
from dashwright.api.http.authentication import NOT_A_MEMBER, ORGANIZATION_MISMATCH, Authenticator, Credentials, not_a_member
from dashwright.api.http.budget import ResponseOwner
from dashwright.api.http.call import Call, actor_of
from dashwright.api.http.dispatch import Dispatcher, Match
from dashwright.api.http.errors import ACCESS_DENIED, ErrorShape, error_response, error_shape_of, permission_denied
from dashwright.api.http.in_flight import Deadlines, InFlightRequests
from dashwright.api.http.origins import OWN, OriginPolicy
from dashwright.api.http.response import SAFE_HEADERS, Response
from dashwright.api.http.routing import Access, OrganizationInPath, OrganizationView, Permission
from dashwright.api.http.sending import Sender
from dashwright.common.errors import DashwrightError, DeadlineExceeded, Forbidden, Unauthorized
from dashwright.common.identity import Caller, Identity, Role, org_of
from dashwright.common.observability import metrics, tracing

log = structlog.get_logger()

SERVER: Final = f"Dashwright/{version('dashwright-api')}"
ANONYMOUS: Final = Identity(uid="anonymous", login="", org_id=1, role=Role.NONE, kind=Caller.ANONYMOUS)
_REQUEST_ID: Final = re.compile(r"\A[A-Za-z0-9._:-]{1,64}\Z")
_UNMATCHED: Final = "unmatched"
_FOREIGN: Final = frozenset({NOT_A_MEMBER, ORGANIZATION_MISMATCH})


class Refusals(Protocol):
    """A record of refused changes: responses 401 and 403 of routes that name an audit event."""

    def note(self, actor: Actor, action: str, *, org_id: int, status: int) -> None:
        """Record a refused change."""


class ObjectAccess(Protocol):
    """Access rules of single objects."""

    async def holds(self, identity: Identity, action: str) -> bool:
        """Return whether a caller may do ``action`` on at least one object of their organization."""
        ...


@dataclass(slots=True)
class _Outcome:
    """Data of a request for the log and the metrics, set as it becomes known."""

    request_id: str
    trace_id: str
    started: float = field(default_factory=time.perf_counter)
    template: str = _UNMATCHED
    is_routine: bool = False
    caller: Identity = ANONYMOUS
    shape: ErrorShape = ErrorShape.CLASSIC
    status: int = 0


class RequestMetrics:
    """Metrics of requests, labelled with the template of the route. The route table bounds the number of labels; paths would not."""

    def __init__(self) -> None:
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
        running: InFlightRequests,
        refusals: Refusals | None = None,
        addresses: Addresses = PEERS,
        objects: ObjectAccess | None = None,
        origins: OriginPolicy = OWN,
        headers: Mapping[str, str] = SAFE_HEADERS,
        identified: Callable[[Identity], None] = lambda _: None,
    ) -> None:
        """Create the handler.

        ``deadlines`` limit the time to the start of a response; a streamed body may take any time. ``identified`` is called with
        each caller, in the task of the request. Every response has ``headers``.
        """
        self._identified = identified
        self._headers = headers
        self._refusals = refusals
        self._origins = origins
        self._objects = objects
        self._addresses = addresses
        self._running = running
        self._dispatcher = dispatcher
        self._authenticator = authenticator
        self._sender = sender
        self._deadlines = deadlines
        self._metrics = RequestMetrics()
        self._access_log = log.bind()  # Bound once: structlog binds a module's logger again for each event.

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the response to a request after it was sent."""
        self._running.begin()
        try:
            response = await self._exchange(request)
        finally:
            self._running.end()
        if self._running.stopping:
            response.force_close()
        return response

    async def _exchange(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        trace = tracing.enter(headers.get(tracing.HEADER))
        request_id = headers.get("X-Request-Id")
        if request_id is None or not _REQUEST_ID.match(request_id):
            request_id = trace.span_id
        outcome = _Outcome(request_id, trace.trace_id)
        path = _path(request)
        bind_contextvars(request_id=request_id, method=request.method, path=_printable(path))
        response = await self._respond_to(request, path, outcome)
        outcome.status = response.status
        sent = await self._send(request, response, outcome)
        seconds = time.perf_counter() - outcome.started
        self._metrics.count(outcome.template, request.method, outcome.status, seconds)
        log_request = self._access_log.debug if outcome.is_routine and outcome.status < 400 else self._access_log.info
        log_request("request_completed", route=outcome.template, status=outcome.status, ms=round(seconds * 1000, 3))
        return sent

    async def _respond_to(self, request: web.BaseRequest, path: str, outcome: _Outcome) -> Response:
        match, failure = None, None
        outcome.shape = error_shape_of(path)
        try:
            match = self._dispatcher.find(request.method, path)
            outcome.template = match.route.path
            outcome.is_routine = match.route.is_routine
            outcome.shape, failure = match.shape, match.route.failure
            return await self._handle(request, match, outcome)
        except DashwrightError as error:
            if error.status == 500:
                log.exception("request_failed")
            elif error.status > 500:
                log.warning("request_refused", error=error.message, code=error.code, **error.details)
            elif error.message_id == ACCESS_DENIED:
                log.info("access_denied", needed=error.message)
            if match is not None and error.status in (401, 403):
                self._note_refusal(request, match, error.status, outcome)
            refusal: DashwrightError = error
        except Exception:
            log.exception("request_failed")
            refusal = DashwrightError("unexpected")
        response = error_response(refusal, outcome.shape, outcome.trace_id, failure=failure)
        if html.is_wanted(request.headers.get("Accept", "")):
            return html.error_page(refusal, response, outcome.trace_id)
        return response

    def _note_refusal(self, request: web.BaseRequest, match: Match, status: int, outcome: _Outcome) -> None:
        if self._refusals is not None and match.route.audit is not None:
            actor = actor_of(outcome.caller, self._address(request), outcome.request_id, outcome.trace_id)
            self._refusals.note(actor, match.route.audit, org_id=_refused_org(match, outcome.caller), status=status)

    async def _handle(self, request: web.BaseRequest, match: Match, outcome: _Outcome) -> Response:
        task = asyncio.current_task()
        assert task is not None
        self._deadlines.begin(task)
        try:
            return await self._call(request, match, outcome)
        except asyncio.CancelledError as error:
            if not self._deadlines.is_over(task):
                raise
            raise DeadlineExceeded(f"No response within {self._deadlines.seconds:g} seconds; request less data, or retry") from error
        finally:
            self._deadlines.end(task)

    async def _call(self, request: web.BaseRequest, match: Match, outcome: _Outcome) -> Response:
        route = match.route
        address = self._address(request)
        identity = evaluated = ANONYMOUS
        if route.needs is not Access.PUBLIC:
            self._origins.check(request.method, request.scheme, request.headers)
            identity = outcome.caller = await self._identify(request, match, address)
            self._identified(identity)
            evaluated = await self._evaluate(identity, match)
        call = Call(
            request,
            template=route.path,
            parameters=match.parameters,
            identity=identity,
            evaluated=evaluated,
            address=address,
            request_id=outcome.request_id,
            trace_id=outcome.trace_id,
            body_limit=route.body_limit,
            shape=match.shape,
        )
        return await route.handler(call)

    def _address(self, request: web.BaseRequest) -> str:
        return self._addresses.of(request.remote, request.headers.getall("X-Forwarded-For", ()))

    async def _identify(self, request: web.BaseRequest, match: Match, address: str) -> Identity:
        """Return the caller, in the organization of the path's namespace or else of the header."""
        given = request.headers.getall("Authorization", ())
        if len(given) != 1 or not given[0]:
            raise Unauthorized("Unauthorized")
        namespace = match.parameters.get("namespace")
        wanted = _header_org(request) if namespace is None else _namespace_org(namespace)
        try:
            identity = await self._authenticator.identify(Credentials(given[0], address, match.route.takes_weak_passwords), wanted)
        except Unauthorized as error:
            if namespace is None or error.message_id not in _FOREIGN:
                raise
            raise _not_in(namespace) from error
        bind_contextvars(user=identity.login)
        return identity

    async def _evaluate(self, identity: Identity, match: Match) -> Identity:
        """Return the caller in the view of the route's permission. Raises Forbidden if they do not have it."""
        needs = match.route.needs
        if not isinstance(needs, Permission):
            return identity
        where, evaluated = needs.organization, identity
        if where is OrganizationView.CURRENT:
            if not identity.org_id:
                raise not_a_member()
        elif where is OrganizationView.GLOBAL:
            evaluated = await self._authenticator.seen_in(identity, 0)
        else:
            evaluated = await self._authenticator.seen_in(identity, where.organization_id(match.parameters))
        if needs.any_scope or needs.by_object:
            is_allowed = evaluated.holds(needs.action)
            if not is_allowed and needs.by_object and self._objects is not None:
                is_allowed = await self._objects.holds(evaluated, needs.action)
        else:
            is_allowed = evaluated.may(needs.action, needs.scope_for(match.parameters, identity.org_id))
        if not is_allowed:
            raise permission_denied(needs.action)
        return evaluated

    async def _send(self, request: web.BaseRequest, response: Response, outcome: _Outcome) -> web.StreamResponse:
        headers = {"Server": SERVER, "X-Request-Id": outcome.request_id, **self._headers}
        try:
            return await self._sender.send(request, response, headers, self._owner(request, outcome.caller))
        except DashwrightError as error:
            log.warning("response_refused", error=error.message, code=error.code)
            refusal = error_response(error, outcome.shape, outcome.trace_id)
            outcome.status = refusal.status
            return await self._sender.send_refusal(request, refusal, headers)

    def _owner(self, request: web.BaseRequest, caller: Identity) -> ResponseOwner:
        if caller.kind is not Caller.ANONYMOUS:
            return ResponseOwner(caller.uid, caller.org_id)
        return ResponseOwner(client_network(self._address(request)), 0)


def _refused_org(match: Match, caller: Identity) -> int:
    """Return the organization of a refused change; 0 without one, and for a caller without credentials."""
    needs = match.route.needs
    where = needs.organization if isinstance(needs, Permission) else OrganizationView.CURRENT
    if where is OrganizationView.GLOBAL or caller.kind is Caller.ANONYMOUS:
        return 0
    return where.organization_id(match.parameters) if isinstance(where, OrganizationInPath) else caller.org_id


def _path(request: web.BaseRequest) -> str:
    """Return the path of the request line. The absolute form, which proxies use, has the host before it."""
    raw = request.raw_path
    if not raw.startswith("/"):
        return request.rel_url.raw_path
    return raw.partition("?")[0].partition("#")[0]


def _printable(path: str) -> str:
    return path if path.isascii() else path.encode("ascii", "backslashreplace").decode()


def _header_org(request: web.BaseRequest) -> int | None:
    """Return ``X-Grafana-Org-Id``, or None for anything but a positive integer, which existing clients expect to be ignored."""
    text = request.headers.get("X-Grafana-Org-Id", "")
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 19 else None


def _namespace_org(namespace: str) -> int:
    org_id = org_of(namespace)
    if org_id is None:
        raise _not_in(namespace)
    return org_id


def _not_in(namespace: str) -> Forbidden:
    return Forbidden(f'You are not in the namespace "{namespace}"; use "default" or "org-N" with an organization of yours')
