"""The OpenAPI 3.1 document of a route table: what each route takes, what it answers, and who may call it."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from dashwright.api.http.answer import JSON
from dashwright.api.http.routing import Access, Content, Operation, Permission, Route, parse
from dashwright.api.http.shapes import Shape

Mode = Literal["validation", "serialization"]

_REFERENCE: Final = "#/components/schemas/"
_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
_TYPES: Final[Mapping[type, Mapping[str, str]]] = {
    int: {"type": "integer", "format": "int64"},
    bool: {"type": "boolean"},
    str: {"type": "string"},
}
_TEXT: Final = {"type": "string"}
_SCHEMAS: Final[Mapping[str, Any]] = {
    "Error": {
        "type": "object",
        "required": ["message"],
        "description": "messageId, statusCode and traceID come together; accessErrorId and title with a permission that is lacking",
        "properties": {
            "message": _TEXT,
            "messageId": _TEXT,
            "statusCode": {"type": "integer"},
            "traceID": _TEXT,
            "extra": {"type": "object"},
            "accessErrorId": _TEXT,
            "title": _TEXT,
        },
    },
    "Status": {
        "type": "object",
        "required": ["kind", "apiVersion", "metadata", "status"],
        "description": "The Status object of the Kubernetes API conventions",
        "properties": {
            "kind": {"const": "Status"},
            "apiVersion": {"const": "v1"},
            "metadata": {"type": "object"},
            "status": {"enum": ["Success", "Failure"]},
            "message": _TEXT,
            "reason": _TEXT,
            "code": {"type": "integer"},
            "details": {
                "type": "object",
                "properties": {
                    "name": _TEXT,
                    "group": _TEXT,
                    "kind": _TEXT,
                    "uid": _TEXT,
                    "retryAfterSeconds": {"type": "integer"},
                    "causes": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"field": _TEXT, "reason": _TEXT, "message": _TEXT}},
                    },
                },
            },
        },
    },
}
SECURITY: Final[Mapping[str, Any]] = {
    "basicAuth": {"type": "http", "scheme": "basic", "description": "login or e-mail, and password"},
    "bearerAuth": {"type": "http", "scheme": "bearer", "description": "the token of a service account, or an API key"},
}


def document(routes: Sequence[Route], *, version: str, server: str = "/") -> dict[str, Any]:
    """The document. ``version`` is the product's, ``server`` the address that paths are relative to."""
    described = [(route, route.operation) for route in routes if route.operation is not None]
    schemas, components = _schemas_of(operation for _, operation in described)
    paths: dict[str, dict[str, Any]] = {}
    for route, operation in described:
        path = route.path.replace(":rest}", "}")
        paths.setdefault(path, {})[route.method.lower()] = _operation(route, operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dashwright", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": server}],
        "tags": [{"name": tag} for tag in sorted({operation.tag for _, operation in described if operation.tag})],
        "paths": paths,
        "components": {"schemas": {**_SCHEMAS, **components}, "securitySchemes": dict(SECURITY)},
    }


class _Schemas:
    """The JSON Schemas of everything that operations name, with what they have in common as components."""

    def __init__(self, by_key: Mapping[tuple[str, Mode], Any], keys: Mapping[int, str]) -> None:
        self._by_key = by_key
        self._keys = keys

    def of(self, schema: Any, mode: Mode) -> Any:
        if schema is None:
            return {}
        return schema if isinstance(schema, Mapping) else self._by_key[self._keys[id(schema)], mode]


def _schemas_of(operations: Iterable[Operation]) -> tuple[_Schemas, dict[str, Any]]:
    """Asks pydantic once for all, so that two models of one name get two names."""
    keys: dict[int, str] = {}
    wanted: dict[tuple[str, Mode], TypeAdapter[Any]] = {}
    for operation in operations:
        answers: list[tuple[Any, Mode]] = [(answer, "serialization") for answer in operation.answers.values()]
        for told, mode in [(operation.request, "validation"), *answers]:
            schema = _content(told).schema
            if schema is not None and not isinstance(schema, Mapping):
                key = keys.setdefault(id(schema), str(len(keys)))
                wanted.setdefault((key, mode), TypeAdapter(schema))
    inputs = [(key, mode, adapter) for (key, mode), adapter in wanted.items()]
    by_key, common = TypeAdapter.json_schemas(inputs, by_alias=True, ref_template=f"{_REFERENCE}{{model}}")
    return _Schemas(by_key, keys), dict(common.get("$defs", {}))


def _content(told: Any) -> Content:
    return told if isinstance(told, Content) else Content(told)


def _operation(route: Route, operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {"operationId": operation.id, "summary": operation.summary}
    description = "\n\n".join(part for part in (operation.description, _needs(route)) if part)
    if description:
        described["description"] = description
    if operation.tag:
        described["tags"] = [operation.tag]
    if operation.deprecated:
        described["deprecated"] = True
    if parameters := _parameters(route, operation):
        described["parameters"] = parameters
    if operation.request is not None:
        described["requestBody"] = {"content": _body(_content(operation.request), schemas, "validation")}
    described["responses"] = _responses(route, operation, schemas)
    described["security"] = [] if route.needs is Access.PUBLIC else [{name: []} for name in operation.security]
    return described


def _needs(route: Route) -> str:
    needs = route.needs
    if needs is Access.PUBLIC:
        return ""
    if not isinstance(needs, Permission):
        return "Needs valid credentials and no permission."
    return f"Needs the permission {needs.action}{'' if needs.scope == '*' else f' on {needs.scope}'}."


def _parameters(route: Route, operation: Operation) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"name": segment.name, "in": "path", "required": True, "schema": dict(_TYPES[operation.parameters.get(segment.name, str)])}
        for segment in parse(route.path)
        if segment.is_parameter
    ]
    for name, text in operation.query.items():
        found.append({"name": name, "in": "query", "description": text, "schema": dict(_TYPES[operation.parameters.get(name, str)])})
    return found


def _body(content: Content, schemas: _Schemas, mode: Mode) -> dict[str, Any]:
    schema = schemas.of(content.schema, mode)
    return {media_type: {"schema": schema} for media_type in content.types}


def _responses(route: Route, operation: Operation, schemas: _Schemas) -> dict[str, Any]:
    responses: dict[int, dict[str, Any]] = {}
    for status, told in operation.answers.items():
        responses[status] = {"description": HTTPStatus(status).phrase}
        if told is not None:
            responses[status]["content"] = _body(_content(told), schemas, "serialization")
    component = "Status" if route.error_shape is Shape.STATUS else "Error"
    content = {JSON: {"schema": {"$ref": f"{_REFERENCE}{component}"}}}
    for status in _errors(route, operation):
        responses.setdefault(status, {"description": HTTPStatus(status).phrase, "content": content})
    return {str(status): responses[status] for status in sorted(responses)}


def _errors(route: Route, operation: Operation) -> set[int]:
    """The statuses of failures, beside those that an operation names itself."""
    found = {400, 500, *operation.errors}
    if route.needs is not Access.PUBLIC:
        found |= {401, 429}
    if isinstance(route.needs, Permission) or "{namespace}" in route.path:
        found.add(403)
    if route.method in _WITH_BODY:
        found |= {413, 415}
    return found if route.failure is not None else found | {503, 504}
