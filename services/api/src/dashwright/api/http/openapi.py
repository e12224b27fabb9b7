"""The OpenAPI 3.1 document of a route table: requests, responses and needed permissions of each route."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.response import JSON
from dashwright.api.http.routing import Access, Content, Operation, Permission, Route, parse
from dashwright.api.http.schemas import REFERENCE, Mode, Schema, Schemas, schema_of_parameter
from dashwright.api.models.response import Error
from dashwright.common.models.meta import Status

_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
SECURITY: Final[Mapping[str, Any]] = {
    "basicAuth": {"type": "http", "scheme": "basic", "description": "login or e-mail, and password"},
    "bearerAuth": {"type": "http", "scheme": "bearer", "description": "the token of a service account, or an API key"},
}


class Example(NamedTuple):
    """Bodies of a request and its response (None: without body), and the parameters of the path."""

    request: Any
    response: Any
    path: Mapping[str, str] = MappingProxyType({})


def document(
    routes: Sequence[Route],
    *,
    version: str,
    server: str = "/",
    also: Sequence[Any] = (),
    tags: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    examples: Mapping[str, Example] = MappingProxyType({}),
) -> Schema:
    """Return the document.

    ``version`` is the product's, ``server`` the address that paths are relative to; ``also`` are models that no operation names.
    ``tags`` has the name and the description of each group of operations, ``examples`` those of operations by their ids.
    """
    described = [(route, route.operation) for route in routes if route.operation is not None]
    named = chain.from_iterable(_named(operation) for _, operation in described)
    schemas = Schemas([*named, (Error, "serialization"), (Status, "serialization"), *((model, "validation") for model in also)])
    paths: dict[str, Schema] = {}
    for route, operation in described:
        path = route.path.replace(":rest}", "}")
        found = _operation(route, operation, schemas)
        if operation.tag:
            found["tags"] = [tags.get(operation.tag, (operation.tag, ""))[0]]
        if operation.id in examples:
            _exemplify(found, examples[operation.id])
        paths.setdefault(path, {})[route.method.lower()] = found
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dashwright", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": server}],
        "tags": _tags({operation.tag for _, operation in described if operation.tag}, tags),
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.components.items())), "securitySchemes": dict(SECURITY)},
    }


def _tags(used: Iterable[str], tags: Mapping[str, tuple[str, str]]) -> list[Schema]:
    named = sorted(tags.get(tag, (tag, "")) for tag in used)
    return [{"name": name, "description": description} if description else {"name": name} for name, description in named]


def _exemplify(operation: Schema, example: Example) -> None:
    """Add an example to the JSON bodies and the parameters of an operation."""
    if example.request is not None:
        operation["requestBody"]["content"][JSON]["example"] = example.request
    if example.response is not None:
        success = next(response for status, response in operation["responses"].items() if status < "300")
        success["content"][JSON]["example"] = example.response
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and parameter["name"] in example.path:
            parameter["example"] = example.path[parameter["name"]]


def _named(operation: Operation) -> Iterable[tuple[Any, Mode]]:
    """Return the types of the bodies of an operation."""
    for content in _contents(operation.request):
        yield content.schema, "validation"
    for response in operation.responses.values():
        for content in _contents(response):
            yield content.schema, "serialization"


def _contents(described: Any) -> tuple[Content, ...]:
    if described is None:
        return ()
    if isinstance(described, tuple):
        return described
    return (described if isinstance(described, Content) else Content(described),)


def _operation(route: Route, operation: Operation, schemas: Schemas) -> Schema:
    described: Schema = {"operationId": operation.id, "summary": operation.summary}
    description = "\n\n".join(part for part in (operation.description, _needs(route)) if part)
    if description:
        described["description"] = description
    if operation.deprecated:
        described["deprecated"] = True
    if parameters := _parameters(route, operation):
        described["parameters"] = parameters
    if contents := _contents(operation.request):
        body = {"content": _body(operation.request, schemas, "validation")}
        described["requestBody"] = body if contents[0].optional else {"required": True, **body}
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


def _parameters(route: Route, operation: Operation) -> list[Schema]:
    found: list[Schema] = [
        {"name": segment.name, "in": "path", "required": True, "schema": _schema_of(operation, segment.name)}
        for segment in parse(route.path)
        if segment.is_parameter
    ]
    for name, text in operation.query.items():
        found.append({"name": name, "in": "query", "description": text, "schema": _schema_of(operation, name)})
    return found


def _schema_of(operation: Operation, parameter: str) -> Schema:
    return dict(schema_of_parameter(operation.parameters.get(parameter, str)))


def _body(described: Any, schemas: Schemas, mode: Mode) -> Schema:
    return {name: {"schema": schemas.of(content.schema, mode)} for content in _contents(described) for name in content.types}


def _responses(route: Route, operation: Operation, schemas: Schemas) -> Schema:
    responses: dict[int, Schema] = {}
    for status, response in operation.responses.items():
        responses[status] = {"description": HTTPStatus(status).phrase}
        if response is not None:
            responses[status]["content"] = _body(response, schemas, "serialization")
    component = "Status" if route.error_shape is ErrorShape.STATUS else "Error"
    content = {JSON: {"schema": {"$ref": f"{REFERENCE}{component}"}}}
    for status in _errors(route, operation):
        responses.setdefault(status, {"description": HTTPStatus(status).phrase, "content": content})
    return {str(status): responses[status] for status in sorted(responses)}


def _errors(route: Route, operation: Operation) -> set[int]:
    """Return the statuses of errors, in addition to those that an operation lists."""
    found = {400, 500, *operation.errors}
    if route.needs is not Access.PUBLIC:
        found |= {401, 429}
    if isinstance(route.needs, Permission) or "{namespace}" in route.path:
        found.add(403)
    if route.method in _WITH_BODY:
        found |= {413, 415}
    return found if route.failure is not None else found | {503, 504}
