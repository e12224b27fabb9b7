"""``POST /api/ds/query``: passes the request to the expressions service and its response to the client, both unchanged."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Operation, Permission, Route
from dashwright.api.models.queries import QueryRefusal, QueryRequest, QueryResults
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.media import ARROW
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient, RpcResponse
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.observability import metrics

QUERY = "datasources:query"
#: The worker checks which data sources: it parses the queries, the gateway does not.
NEEDS = Permission(QUERY, any_scope=True)


Handler = Callable[[Call], Awaitable[Response]]
_FLAGS = {"": False, "false": False, "true": True}
FRAMES = (Content(QueryResults), Content(BINARY, (ARROW,)))
RESULTS = {200: FRAMES, 400: (Content(QueryResults | QueryRefusal), Content(BINARY, (ARROW,)))}
#: The uids travel in a message header, whose size is limited.
_MOST_UIDS = 1_000

EXPLAIN = {"explain": "add meta.explain: how the results were calculated"}


class Evaluations:
    """The client of the expressions service. ``seconds`` is the time limit of a query."""

    def __init__(self, broker: Broker, rpc: RpcClient, *, seconds: float) -> None:
        self._queue = broker.topology.query
        self._rpc = rpc
        self._seconds = seconds

    def handler_for(self, endpoint: QueryEndpoint) -> Handler:
        """Return a handler for requests to ``endpoint``."""

        async def ask(call: Call) -> Response:
            started = time.perf_counter()
            headers = _context(call, endpoint).headers()
            reply = await self._rpc.call(self._queue, await call.body(), timeout=self._seconds, headers=headers)
            status = int(reply.headers.get("status", 200))
            content_type = str(reply.headers.get("content_type", "application/json"))
            metrics.rpc_seconds.labels(queue=self._queue, outcome="first-piece").observe(time.perf_counter() - started)
            # A response of one piece is sent with its length, a longer one in chunks as they arrive.
            complete = reply.complete
            return Response(status, complete if complete is not None else _pieces(reply), content_type)

        return ask


def routes(evaluations: Evaluations, *, body_limit: int) -> list[Route]:
    """Return the route. ``body_limit`` is the largest request in bytes."""
    flags = {"lenient": "report unknown properties of a target as warnings instead of errors", **EXPLAIN}
    operation = Operation(
        "queryMetricsWithExpressions",
        "evaluate queries and expressions",
        "ds",
        request=QueryRequest,
        responses=RESULTS,
        query=flags,
        parameters=dict.fromkeys(flags, bool),
    )
    return [Route("POST", "/api/ds/query", evaluations.handler_for(QueryEndpoint.QUERY), NEEDS, operation, body_limit=body_limit)]


def _context(call: Call, endpoint: QueryEndpoint) -> QueryContext:
    # The Accept header is passed on: the worker decides which formats it can encode.
    caller = call.identity
    return QueryContext(
        endpoint,
        lenient=_flag(call, "lenient"),
        explain=_flag(call, "explain"),
        accept=call.accept,
        org_id=caller.org_id,
        uids=uids_of(caller),
        readable=readable_by(caller),
        fresh=any("no-cache" in value or "no-store" in value for value in call.headers.getall("Cache-Control", [])),
    )


def uids_of(caller: Identity) -> frozenset[str] | None:
    """Return the data sources that the caller may query; None: all. Raises Forbidden for too many to list."""
    uids = caller.names(QUERY, "datasources:uid:")
    if uids is not None and len(uids) > _MOST_UIDS:
        raise Forbidden(f"you have {QUERY} on more than {_MOST_UIDS} single data sources; have it granted on datasources:uid:* instead")
    return uids


def readable_by(caller: Identity) -> frozenset[str] | None:
    """Return the data sources whose settings the caller may read; None: all. Empty if there are too many to list."""
    uids = caller.names("datasources:read", "datasources:uid:")
    return uids if uids is None or len(uids) <= _MOST_UIDS else frozenset()


def _flag(call: Call, name: str) -> bool:
    given = call.query.get(name, "")
    if given not in _FLAGS:
        raise BadRequest(f"the parameter {name} must be true or false, not {given[:40]!r}")
    return _FLAGS[given]


async def _pieces(reply: RpcResponse) -> AsyncIterator[bytes]:
    """Yield the pieces at the client's pace. When the client disconnects, closing the reply stops the worker."""
    async with aclosing(reply):
        async for piece in reply.chunks():
            yield piece
