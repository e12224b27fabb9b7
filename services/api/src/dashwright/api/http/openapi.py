"""The OpenAPI 3.1 document of a route table: requests, responses and required permissions of each route."""

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from dashwright.api.http.errors import ErrorShape
from dashwright.api.http.response import JSON
from dashwright.api.http.routing import Access, Content, Operation, Permission, Route, parse_template
from dashwright.api.http.schemas import REFERENCE, Mode, Schema, Schemas, schema_of_parameter
from dashwright.api.models.response import Error
from dashwright.common.models.meta import Status

_METHODS_WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
SECURITY: Final[Mapping[str, Any]] = {
    "basicAuth": {"type": "http", "scheme": "basic", "description": "login or e-mail, and password"},
    "bearerAuth": {"type": "http", "scheme": "bearer", "description": "the token of a service account, or an API key"},
}
"""Security schemes by name."""


class Example(NamedTuple):
    """Bodies of a request and its response (None: without body), and the values of the path parameters by name."""

    request: Any
    response: Any
    path_parameters: Mapping[str, str] = MappingProxyType({})


def openapi_document(
    routes: Sequence[Route],
    *,
    version: str,
    server: str = "/",
    extra_models: Sequence[Any] = (),
    tags: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    examples: Mapping[str, Example] = MappingProxyType({}),
) -> Schema:
    """Return the OpenAPI 3.1 document of all routes that have an operation.

    ``version`` is the product's. ``server`` is the base URL of the paths. ``extra_models`` are documented in addition to the bodies
    of operations. ``tags`` has the name and description of each group of operations, by tag. ``examples`` are by operation id.
    """
    operations = [(route, route.operation) for route in routes if route.operation is not None]
    body_types = chain.from_iterable(_body_types(operation) for _, operation in operations)
    extra_types: list[tuple[Any, Mode]] = [(model, "validation") for model in extra_models]
    schemas = Schemas([*body_types, (Error, "serialization"), (Status, "serialization"), *extra_types])
    paths: dict[str, Schema] = {}
    for route, operation in operations:
        path = route.path.replace(":rest}", "}")  # OpenAPI cannot mark a parameter that may contain slashes.
        operation_object = _operation_object(route, operation, schemas)
        if operation.tag:
            tag_name, _ = tags.get(operation.tag, (operation.tag, ""))
            operation_object["tags"] = [tag_name]
        if operation.id in examples:
            _add_examples(operation_object, examples[operation.id])
        paths.setdefault(path, {})[route.method.lower()] = operation_object
    return {
        "openapi": "3.1.0",
        "info": {"title": "Dashwright", "version": version, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": server}],
        "tags": _tag_objects({operation.tag for _, operation in operations if operation.tag}, tags),
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.components.items())), "securitySchemes": dict(SECURITY)},
    }


def _tag_objects(used_tags: Iterable[str], tags: Mapping[str, tuple[str, str]]) -> list[Schema]:
    """Return the member ``tags`` of the document: name and description of each group, sorted by name."""
    names_and_descriptions = sorted(tags.get(tag, (tag, "")) for tag in used_tags)
    return [{"name": name, "description": description} if description else {"name": name} for name, description in names_and_descriptions]


def _add_examples(operation: Schema, example: Example) -> None:
    """Add an example to the JSON bodies and the parameters of an operation."""
    if example.request is not None:
        operation["requestBody"]["content"][JSON]["example"] = example.request
    if example.response is not None:
        success = next(response for status, response in operation["responses"].items() if status < "300")
        success["content"][JSON]["example"] = example.response
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "path" and parameter["name"] in example.path_parameters:
            parameter["example"] = example.path_parameters[parameter["name"]]


def _body_types(operation: Operation) -> Iterable[tuple[Any, Mode]]:
    """Yield the types of the bodies of an operation, each with the mode of its schema."""
    for content in _contents(operation.request):
        yield content.schema, "validation"
    for response in operation.responses.values():
        for content in _contents(response):
            yield content.schema, "serialization"


def _contents(body: Any) -> tuple[Content, ...]:
    """Return the contents of a body, which is None or in one of the forms that ``Operation`` describes."""
    if body is None:
        return ()
    if isinstance(body, tuple):
        return body
    return (body if isinstance(body, Content) else Content(body),)


def _operation_object(route: Route, operation: Operation, schemas: Schemas) -> Schema:
    """Return the Operation Object of a route, without tags and examples."""
    operation_object: Schema = {"operationId": operation.id, "summary": operation.summary}
    description = "\n\n".join(filter(None, (operation.description, _access_sentence(route))))
    if description:
        operation_object["description"] = description
    if operation.deprecated:
        operation_object["deprecated"] = True
    if parameters := _parameters(route, operation):
        operation_object["parameters"] = parameters
    if contents := _contents(operation.request):
        body = {"content": _content_schemas(operation.request, schemas, "validation")}
        operation_object["requestBody"] = body if contents[0].is_optional else {"required": True, **body}
    operation_object["responses"] = _responses(route, operation, schemas)
    operation_object["security"] = [] if route.required_access is Access.PUBLIC else [{name: []} for name in operation.security]
    return operation_object


def _access_sentence(route: Route) -> str:
    """Return the sentence about the permission that a route requires; empty for a public route."""
    required_access = route.required_access
    if required_access is Access.PUBLIC:
        return ""
    if not isinstance(required_access, Permission):
        return "Needs valid credentials and no permission."
    return f"Needs the permission {required_access.action}{'' if required_access.scope == '*' else f' on {required_access.scope}'}."


def _parameters(route: Route, operation: Operation) -> list[Schema]:
    """Return the Parameter Objects of an operation: those of the path, then those of the query."""
    parameters: list[Schema] = [
        {"name": segment.name, "in": "path", "required": True, "schema": _schema_of(operation, segment.name)}
        for segment in parse_template(route.path)
        if segment.is_parameter
    ]
    for name, description in operation.query.items():
        parameters.append({"name": name, "in": "query", "description": description, "schema": _schema_of(operation, name)})
    return parameters


def _schema_of(operation: Operation, parameter: str) -> Schema:
    return dict(schema_of_parameter(operation.parameters.get(parameter, str)))


def _content_schemas(body: Any, schemas: Schemas, mode: Mode) -> Schema:
    """Return the member ``content`` of a body: its schema by media type."""
    return {name: {"schema": schemas.schema_of(content.schema, mode)} for content in _contents(body) for name in content.media_types}


def _responses(route: Route, operation: Operation, schemas: Schemas) -> Schema:
    """Return the Response Objects of an operation, by status: those that it lists, and those of its errors."""
    responses: dict[int, Schema] = {}
    for status, response in operation.responses.items():
        responses[status] = {"description": HTTPStatus(status).phrase}
        if response is not None:
            responses[status]["content"] = _content_schemas(response, schemas, "serialization")
    component = "Status" if route.error_shape is ErrorShape.STATUS else "Error"
    content = {JSON: {"schema": {"$ref": f"{REFERENCE}{component}"}}}
    for status in _error_statuses(route, operation):
        responses.setdefault(status, {"description": HTTPStatus(status).phrase, "content": content})
    return {str(status): responses[status] for status in sorted(responses)}


def _error_statuses(route: Route, operation: Operation) -> set[int]:
    """Return the error statuses of an operation: the listed ones, and those that every route of this type has."""
    statuses = {400, 500, *operation.errors}
    if route.required_access is not Access.PUBLIC:
        statuses |= {401, 429}
    if isinstance(route.required_access, Permission) or "{namespace}" in route.path:
        statuses.add(403)
    if route.method in _METHODS_WITH_BODY:
        statuses |= {413, 415}
    # With a failure message, every internal error has status 500.
    return statuses if route.failure_message is not None else statuses | {503, 504}
