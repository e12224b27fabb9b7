"""Routes of the health check of a data source, which the expressions worker runs."""

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.response import JSON, Response
from dashwright.api.http.routing import Operation, Route
from dashwright.api.models.response import Error
from dashwright.api.routes.data_sources import TAG, find, permission_on_any, permission_on_uid
from dashwright.api.routes.query import QUERY_ACTION, readable_uids
from dashwright.common.database.pool import Database
from dashwright.common.messaging.broker import Broker
from dashwright.common.messaging.rpc import RpcClient
from dashwright.common.models.data_source_shapes import DataSourceHealth
from dashwright.common.models.query_context import QueryContext, QueryEndpoint


def routes(database: Database, broker: Broker, rpc: RpcClient, *, seconds: float) -> list[Route]:
    """Return the routes. ``seconds`` is the time limit of a check."""
    queue = broker.topology.query

    async def health(call: Call) -> Response:
        data_source = await find(database, call, QUERY_ACTION)
        # A check must not return an earlier result from a cache.
        headers = QueryContext(QueryEndpoint.HEALTH, org_id=data_source.org_id, fresh=True, readable=readable_uids(call.identity)).headers()
        response = await rpc.call(queue, orjson.dumps({"uid": data_source.uid}), timeout=seconds, headers=headers)
        return Response(int(response.headers.get("status", 200)), await response.read(), JSON)

    def operation(operation_id: str, *, deprecated: bool = False) -> Operation:
        """Return the operation of a check. The path of the deprecated one has an id instead of a uid."""
        return Operation(
            operation_id,
            "check whether a data source works",
            TAG,
            responses={200: DataSourceHealth, 400: DataSourceHealth | Error},
            parameters={"id": int} if deprecated else {},
            errors=(404,),
            deprecated=deprecated,
            description="200 with status OK, or 400 with status ERROR and the reason.",
        )

    by_uid, by_id = "/api/datasources/uid/{uid}/health", "/api/datasources/{id}/health"
    return [
        Route("GET", by_uid, health, permission_on_uid(QUERY_ACTION), operation("checkDatasourceHealthWithUID")),
        Route("GET", by_id, health, permission_on_any(QUERY_ACTION), operation("checkDatasourceHealthByID", deprecated=True)),
    ]
