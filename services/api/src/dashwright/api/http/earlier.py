"""Conversion of the description to earlier specifications for older tools: OpenAPI 3.0 and Swagger 2.0."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.api.http.response import JSON
from dashwright.api.http.schemas import REFERENCE, Schema

_BY_NAME: Final = frozenset({"properties", "patternProperties"})
_ONE: Final = frozenset({"items", "additionalProperties", "not"})
_SEVERAL: Final = frozenset({"anyOf", "oneOf", "allOf"})
_BOUNDS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_ONLY_IN_31: Final = frozenset({"propertyNames", "examples", "contentMediaType", "$defs", "prefixItems", "title"})
_ONLY_FROM_30: Final = frozenset({"anyOf", "oneOf", "not", "nullable", "discriminator"})
_DEFINITIONS: Final = "#/definitions/"
_SECURITY_20: Final = {
    "basicAuth": {"type": "basic"},
    "bearerAuth": {"type": "apiKey", "in": "header", "name": "Authorization"},
}


def openapi_30(document: Mapping[str, Any]) -> Schema:
    """Return an OpenAPI 3.1 document as OpenAPI 3.0. Null counts as missing, so that nothing is nullable."""
    info = {**document["info"], "license": {"name": document["info"]["license"]["name"]}}
    components = {name: _schema_30(schema) for name, schema in document["components"]["schemas"].items()}
    paths = {
        path: {method: _operation_30(operation) for method, operation in methods.items()} for path, methods in document["paths"].items()
    }
    return {
        **document,
        "openapi": "3.0.0",
        "info": info,
        "paths": paths,
        "components": {**document["components"], "schemas": components},
    }


def _operation_30(operation: Schema) -> Schema:
    found = dict(operation)
    if "parameters" in operation:
        found["parameters"] = [{**parameter, "schema": _schema_30(parameter["schema"])} for parameter in operation["parameters"]]
    if "requestBody" in operation:
        found["requestBody"] = _body_30(operation["requestBody"])
    found["responses"] = {status: _body_30(response) for status, response in operation["responses"].items()}
    return found


def _body_30(body: Schema) -> Schema:
    if "content" not in body:
        return body
    contents = body["content"].items()
    return {**body, "content": {media: {**content, "schema": _schema_30(content["schema"])} for media, content in contents}}


def _schema_30(schema: Schema) -> Schema:
    found: Schema = {}
    for word, value in schema.items():
        if word == "const":
            found["enum"] = [value]
        elif word in _BOUNDS:
            found |= {_BOUNDS[word]: value, word: True}
        elif word not in _ONLY_IN_31:
            found[word] = _parts(word, value)
    if len(found.get("anyOf", ())) == 1:
        found |= found.pop("anyOf")[0]
    if "$ref" in found and len(found) > 1:
        found = {"allOf": [{"$ref": found.pop("$ref")}], **found}
    return found


def _parts(word: str, value: Any) -> Any:
    """Return the schemas below one word of a schema."""
    if word in _BY_NAME:
        return {name: _schema_30(part) for name, part in value.items()}
    if word in _SEVERAL:
        return [_schema_30(part) for part in value if part.get("type") != "null"]
    return _schema_30(value) if word in _ONE and isinstance(value, dict) else value


def swagger_20(document: Mapping[str, Any]) -> Schema:
    """Return an OpenAPI 3.0 document as Swagger 2.0, where a choice of several types becomes any type."""
    return {
        "swagger": "2.0",
        "info": document["info"],
        "basePath": "/",
        "tags": document.get("tags", []),
        "paths": {
            path: {method: _operation_20(operation) for method, operation in methods.items()} for path, methods in document["paths"].items()
        },
        "definitions": {name: _schema_20(schema) for name, schema in document["components"]["schemas"].items()},
        "securityDefinitions": _SECURITY_20,
    }


def _operation_20(operation: Schema) -> Schema:
    found = {word: value for word, value in operation.items() if word not in ("requestBody", "parameters", "responses")}
    parameters = [_parameter_20(parameter) for parameter in operation.get("parameters", ())]
    if body := operation.get("requestBody"):
        required = {"required": True} if body.get("required") else {}
        parameters.append({"name": "body", "in": "body", **required, "schema": _schema_20(_chosen(body["content"]))})
        found["consumes"] = list(body["content"])
    if parameters:
        found["parameters"] = parameters
    media = {name: None for response in operation["responses"].values() for name in response.get("content", ())}
    if media:
        found["produces"] = list(media)
    return found | {"responses": {status: _response_20(response) for status, response in operation["responses"].items()}}


def _parameter_20(parameter: Schema) -> Schema:
    schema = _schema_20(parameter["schema"])
    found = {word: value for word, value in parameter.items() if word not in ("schema", "example")}
    if schema.get("type") == "array":
        found["collectionFormat"] = "multi"
    return {"type": "string", **found, **schema}


def _response_20(response: Schema) -> Schema:
    if not (content := response.get("content")):
        return {"description": response["description"]}
    return {"description": response["description"], "schema": _schema_20(_chosen(content))}


def _chosen(content: Schema) -> Schema:
    """Return the only schema that Swagger 2.0 permits for a body: that of JSON, or else the first."""
    chosen: Schema = content.get(JSON, next(iter(content.values())))["schema"]
    return chosen


def _schema_20(node: Any) -> Any:
    if isinstance(node, list):
        return [_schema_20(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {}
    for word, value in node.items():
        if word == "properties":
            found[word] = {name: _schema_20(part) for name, part in value.items()}
        elif word == "$ref":
            found[word] = value.replace(REFERENCE, _DEFINITIONS)
        elif word not in _ONLY_FROM_30:
            found[word] = _schema_20(value) if word in {*_ONE, "allOf"} else value
    return found
