"""Routes of panels with expression targets: evaluate strictly, validate without running, and JSON Schemas."""

from functools import cache

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Route
from dashwright.api.models.queries import Panel, PanelValidation
from dashwright.api.models.schema import panel_schema, target_schema
from dashwright.api.routes.query import EXPLAIN, QUERY_PERMISSION, RESULTS, TRANSFORM, QueryClient
from dashwright.common.errors import NotFound
from dashwright.common.models.expressions import TARGETS
from dashwright.common.models.query_context import QueryEndpoint

_SCHEMA_MEDIA_TYPE = "application/schema+json"
_ANY_SCHEMA = {"type": "object", "additionalProperties": True, "description": "A JSON Schema, draft-04"}


def routes(query_client: QueryClient, *, body_limit: int) -> list[Route]:
    """Return the routes. ``body_limit`` is the largest request in bytes."""
    summary = "evaluate a panel's targets, strictly"
    flags = {**EXPLAIN, **TRANSFORM}
    query_operation = Operation("queryPanel", summary, "panels", Panel, RESULTS, flags, parameters=dict.fromkeys(flags, bool))
    validate_operation = Operation(
        "validatePanel", "report every fault of a panel and run nothing", "panels", Panel, {200: PanelValidation}
    )
    schema_responses = {200: Content(_ANY_SCHEMA, (_SCHEMA_MEDIA_TYPE,))}
    schema_operation = Operation("getPanelSchema", "JSON Schema of a panel", "panels", responses=schema_responses)
    target_operation = Operation(
        "getTargetSchema", "JSON Schema of one kind of expression target", "panels", responses=schema_responses, errors=(404,)
    )
    return [
        Route(
            "POST",
            "/api/panels/query",
            query_client.handler_for(QueryEndpoint.PANEL),
            QUERY_PERMISSION,
            query_operation,
            body_limit=body_limit,
        ),
        Route(
            "POST",
            "/api/panels/validate",
            query_client.handler_for(QueryEndpoint.VALIDATION),
            QUERY_PERMISSION,
            validate_operation,
            body_limit=body_limit,
        ),
        Route("GET", "/api/panels/schema", _get_schema, QUERY_PERMISSION, schema_operation),
        Route("GET", "/api/panels/schema/{type}", _get_schema, QUERY_PERMISSION, target_operation),
    ]


async def _get_schema(call: Call) -> Response:
    target_type = call.parameters.get("type", "")
    if target_type and target_type not in TARGETS:
        raise NotFound(f"unknown expression target {target_type[:40]!r}; known are {', '.join(TARGETS)}")
    return Response(200, _schema_document(target_type), _SCHEMA_MEDIA_TYPE)


@cache
def _schema_document(target_type: str) -> bytes:
    """Return the JSON Schema of a type of targets, or of panels if ``target_type`` is empty."""
    return orjson.dumps(target_schema(target_type) if target_type else panel_schema())
