"""``POST /api/ds/query``: hands the request to the expressions service and the worker's bytes to the client, both untouched."""

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
NEEDS = Permission(QUERY, any_scope=True)
"""Which data sources it may be is for the worker to see, which reads the queries."""


Handler = Callable[[Call], Awaitable[Response]]
_FLAGS = {"": False, "false": False, "true": True}
FRAMES = (Content(QueryResults), Content(BINARY, (ARROW,)))
RESULTS = {200: FRAMES, 400: (Content(QueryResults | QueryRefusal), Content(BINARY, (ARROW,)))}
_MOST_UIDS = 1_000
"""They travel in a header of the message."""

EXPLAIN = {"explain": "Whether meta.explain says how the results came about"}


class Evaluations:
    """Asks the expressions service; ``seconds`` is the deadline of a query."""

    def __init__(self, broker: Broker, rpc: RpcClient, *, seconds: float) -> None:
        self._queue = broker.topology.query
        self._rpc = rpc
        self._seconds = seconds

    def handler_for(self, endpoint: QueryEndpoint) -> Handler:
        """A handler for requests that come by ``endpoint``."""

        async def ask(call: Call) -> Response:
            started = time.perf_counter()
            headers = _context(call, endpoint).headers()
            reply = await self._rpc.call(self._queue, await call.body(), timeout=self._seconds, headers=headers)
            status = int(reply.headers.get("status", 200))
            content_type = str(reply.headers.get("content_type", "application/json"))
            metrics.rpc_seconds.labels(queue=self._queue, outcome="first-piece").observe(time.perf_counter() - started)
            complete = reply.complete
            return Response(status, complete if complete is not None else _pieces(reply), content_type)

        return ask


def routes(evaluations: Evaluations, *, body_limit: int) -> list[Route]:
    """``body_limit``: the bytes of a request."""
    flags = {"lenient": "Whether an unlisted property of a target is a warning and no error", **EXPLAIN}
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
    # The worker decides what it can encode.
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
    """The data sources that the caller may query, None for all."""
    uids = caller.names(QUERY, "datasources:uid:")
    if uids is not None and len(uids) > _MOST_UIDS:
        raise Forbidden(f"You may query more than {_MOST_UIDS} data sources one by one; have {QUERY} granted on datasources:uid:* instead")
    return uids


def readable_by(caller: Identity) -> frozenset[str] | None:
    """Return the data sources whose settings the caller may read, None for all; none where they are too many to list."""
    uids = caller.names("datasources:read", "datasources:uid:")
    return uids if uids is None or len(uids) <= _MOST_UIDS else frozenset()


def _flag(call: Call, name: str) -> bool:
    given = call.query.get(name, "")
    if given not in _FLAGS:
        raise BadRequest(f"The parameter {name} is {given[:40]!r}; give true or false")
    return _FLAGS[given]


async def _pieces(reply: RpcResponse) -> AsyncIterator[bytes]:
    """The pieces at the client's pace; a client that leaves stops the worker."""
    async with aclosing(reply):
        async for piece in reply.chunks():
            yield piece
