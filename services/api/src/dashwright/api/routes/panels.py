"""Routes of panels with expression targets: evaluate strictly, validate without running, and JSON Schemas."""

from functools import cache

import orjson

from dashwright.api.http.call import Call
from dashwright.api.http.response import Response
from dashwright.api.http.routing import Content, Operation, Route
from dashwright.api.models.queries import Panel, PanelValidation
from dashwright.api.models.schema import panel_schema, target_schema
from dashwright.api.routes.query import EXPLAIN, NEEDS, RESULTS, Evaluations
from dashwright.common.errors import NotFound
from dashwright.common.models.expressions import TARGETS
from dashwright.common.models.query_context import QueryEndpoint

_SCHEMA_TYPE = "application/schema+json"
_JSON_SCHEMA = {"type": "object", "additionalProperties": True, "description": "A JSON Schema, draft-04"}


def routes(evaluations: Evaluations, *, body_limit: int) -> list[Route]:
    """Return the routes. ``body_limit`` is the largest request in bytes."""
    summary = "evaluate a panel's targets, strictly"
    query = Operation("queryPanel", summary, "panels", Panel, RESULTS, EXPLAIN, parameters=dict.fromkeys(EXPLAIN, bool))
    validate = Operation("validatePanel", "report every fault of a panel and run nothing", "panels", Panel, {200: PanelValidation})
    found = {200: Content(_JSON_SCHEMA, (_SCHEMA_TYPE,))}
    schema = Operation("getPanelSchema", "JSON Schema of a panel", "panels", responses=found)
    target = Operation("getTargetSchema", "JSON Schema of one kind of expression target", "panels", responses=found, errors=(404,))
    return [
        Route("POST", "/api/panels/query", evaluations.handler_for(QueryEndpoint.PANEL), NEEDS, query, body_limit=body_limit),
        Route("POST", "/api/panels/validate", evaluations.handler_for(QueryEndpoint.VALIDATION), NEEDS, validate, body_limit=body_limit),
        Route("GET", "/api/panels/schema", _schema, NEEDS, schema),
        Route("GET", "/api/panels/schema/{type}", _schema, NEEDS, target),
    ]


async def _schema(call: Call) -> Response:
    kind = call.parameters.get("type", "")
    if kind and kind not in TARGETS:
        raise NotFound(f"unknown expression target {kind[:40]!r}; known are {', '.join(TARGETS)}")
    return Response(200, _document(kind), _SCHEMA_TYPE)


@cache
def _document(kind: str) -> bytes:
    """Return the schema of a target, or of the panel for the empty kind. It only changes with the program."""
    return orjson.dumps(target_schema(kind) if kind else panel_schema())
