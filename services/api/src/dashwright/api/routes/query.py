"""``POST /api/ds/query``. The gateway sends the request to the expressions worker and returns its response unchanged."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import BINARY, Content, Handler, Operation, Permission, Route
from dashwright.api.models.queries import QueryRefusal, QueryRequest, QueryResults
from dashwright.common.errors import BadRequest, Forbidden
from dashwright.common.identity import Identity
from dashwright.common.media import ARROW, wants_arrow
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient, RpcResponse
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.observability import metrics

QUERY_ACTION = "datasources:query"
#: The worker checks the permission on each data source, because only the worker parses the queries.
QUERY_PERMISSION = Permission(QUERY_ACTION, any_scope_suffices=True)

_FLAG_VALUES = {"": False, "false": False, "true": True}
FRAMES = (Content(QueryResults), Content(BINARY, (ARROW,)))
RESULTS = {200: FRAMES, 400: (Content(QueryResults | QueryRefusal), Content(BINARY, (ARROW,)))}
#: Limit on the uids of data sources in a message header, whose size is limited.
_MAX_UIDS = 1_000

EXPLAIN = {"explain": "add meta.explain: how the results were calculated"}
TRANSFORM = {"transform": "add transformed: the frames after the transformations of the panel"}


class QueryClient:
    """A client of the expressions worker. ``seconds`` is the time limit of a request to it."""

    def __init__(self, broker: Broker, rpc: RpcClient, *, seconds: float) -> None:
        self._queue = broker.topology.query
        self._rpc = rpc
        self._seconds = seconds

    def handler_for(self, endpoint: QueryEndpoint) -> Handler:
        """Return a handler for requests to ``endpoint``."""

        async def handler(call: Call) -> Response:
            started_at = time.perf_counter()
            headers = _query_context(call, endpoint).headers()
            response = await self._rpc.call(self._queue, await call.body(), timeout=self._seconds, headers=headers)
            status = int(response.headers.get("status", 200))
            content_type = str(response.headers.get("content_type", "application/json"))
            # ``call`` has waited for the first chunk.
            metrics.rpc_seconds.labels(queue=self._queue, outcome="first-piece").observe(time.perf_counter() - started_at)
            # A response of one chunk is sent with its length, a longer one chunk by chunk.
            complete_body = response.complete_body
            return Response(status, complete_body if complete_body is not None else _response_chunks(response), content_type)

        return handler


def routes(query_client: QueryClient, *, body_limit: int) -> list[Route]:
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
    return [
        Route("POST", "/api/ds/query", query_client.handler_for(QueryEndpoint.QUERY), QUERY_PERMISSION, operation, body_limit=body_limit)
    ]


def _query_context(call: Call, endpoint: QueryEndpoint) -> QueryContext:
    """Return the options of a request and the permissions of its caller, for the worker. Raises BadRequest and Forbidden."""
    # The context contains the Accept header, because the worker decides which formats it can encode.
    caller = call.identity
    return QueryContext(
        endpoint,
        lenient=_query_flag(call, "lenient"),
        explain=_query_flag(call, "explain"),
        transform=_transforms(call, endpoint),
        accept=call.accept,
        org_id=caller.org_id,
        uids=queryable_uids(caller),
        readable=readable_uids(caller),
        fresh=any("no-cache" in value or "no-store" in value for value in call.headers.getall("Cache-Control", [])),
    )


def _transforms(call: Call, endpoint: QueryEndpoint) -> bool:
    """Return whether the client requests transformed frames of a panel. Raises BadRequest if it accepts only Arrow streams."""
    is_requested = endpoint is QueryEndpoint.PANEL and _query_flag(call, "transform")
    if is_requested and wants_arrow(call.accept):
        raise BadRequest("transformed frames are JSON only; send Accept: application/json, or leave out the parameter transform")
    return is_requested


def queryable_uids(caller: Identity) -> frozenset[str] | None:
    """Return the uids of the data sources that the caller may query, or None for all. Raises Forbidden for too many uids."""
    uids = caller.names(QUERY_ACTION, "datasources:uid:")
    if uids is not None and len(uids) > _MAX_UIDS:
        raise Forbidden(
            f"you have {QUERY_ACTION} on more than {_MAX_UIDS} single data sources; have it granted on datasources:uid:* instead"
        )
    return uids


def readable_uids(caller: Identity) -> frozenset[str] | None:
    """Return the uids of the data sources whose settings the caller may read, or None for all.

    The worker uses them only to show addresses in errors. The result is empty if there are too many uids for a message header.
    """
    uids = caller.names("datasources:read", "datasources:uid:")
    return uids if uids is None or len(uids) <= _MAX_UIDS else frozenset()


def _query_flag(call: Call, name: str) -> bool:
    """Return a boolean parameter, false if it is missing. Raises BadRequest for any other value."""
    value = call.query.get(name, "")
    if value not in _FLAG_VALUES:
        raise BadRequest(f"the parameter {name} must be true or false, not {value[:40]!r}")
    return _FLAG_VALUES[value]


async def _response_chunks(response: RpcResponse) -> AsyncIterator[bytes]:
    """Yield the chunks of a response. When the client disconnects, the response is closed, which stops the worker."""
    async with aclosing(response):
        async for chunk in response.chunks():
            yield chunk
