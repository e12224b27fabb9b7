"""Conversion of the OpenAPI 3.1 document to earlier specifications for older tools: OpenAPI 3.0 and Swagger 2.0."""

from collections.abc import Mapping
from typing import Any, Final

from dashwright.api.http.response import JSON
from dashwright.api.http.schemas import REFERENCE, Schema

_SCHEMA_MAP_KEYWORDS: Final = frozenset({"properties", "patternProperties"})
"""Keywords whose value is a mapping of names to subschemas."""
_SCHEMA_KEYWORDS: Final = frozenset({"items", "additionalProperties", "not"})
"""Keywords whose value is a subschema."""
_SCHEMA_LIST_KEYWORDS: Final = frozenset({"anyOf", "oneOf", "allOf"})
"""Keywords whose value is a list of subschemas."""
_EXCLUSIVE_BOUNDS: Final = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
"""Keywords of exclusive bounds. In OpenAPI 3.0 they are flags, and the keyword of the inclusive bound has the number."""
_MISSING_IN_OPENAPI_30: Final = frozenset({"propertyNames", "examples", "contentMediaType", "$defs", "prefixItems", "title"})
"""Keywords that are omitted from OpenAPI 3.0; ``title`` because client generators mistake titles for names."""
_MISSING_IN_SWAGGER_20: Final = frozenset({"anyOf", "oneOf", "not", "nullable", "discriminator"})
"""Keywords that are omitted from Swagger 2.0."""
_DEFINITIONS: Final = "#/definitions/"
_SECURITY_20: Final = {
    "basicAuth": {"type": "basic"},
    "bearerAuth": {"type": "apiKey", "in": "header", "name": "Authorization"},
}
"""The security schemes. Swagger 2.0 has no bearer scheme, so tokens are described as a value of the header."""


def openapi_30(document: Mapping[str, Any]) -> Schema:
    """Return an OpenAPI 3.1 document as OpenAPI 3.0. A null member counts as missing, so no type is nullable."""
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
    """Return an operation with the schemas of its parameters and bodies converted to OpenAPI 3.0."""
    converted = dict(operation)
    if "parameters" in operation:
        converted["parameters"] = [{**parameter, "schema": _schema_30(parameter["schema"])} for parameter in operation["parameters"]]
    if "requestBody" in operation:
        converted["requestBody"] = _body_30(operation["requestBody"])
    converted["responses"] = {status: _body_30(response) for status, response in operation["responses"].items()}
    return converted


def _body_30(body: Schema) -> Schema:
    """Return the body of a request or response with its schemas converted to OpenAPI 3.0."""
    if "content" not in body:
        return body
    contents = body["content"].items()
    return {**body, "content": {media_type: {**content, "schema": _schema_30(content["schema"])} for media_type, content in contents}}


def _schema_30(schema: Schema) -> Schema:
    """Return a schema of OpenAPI 3.1 as one of OpenAPI 3.0."""
    converted: Schema = {}
    for keyword, value in schema.items():
        if keyword == "const":
            converted["enum"] = [value]
        elif keyword in _EXCLUSIVE_BOUNDS:
            converted |= {_EXCLUSIVE_BOUNDS[keyword]: value, keyword: True}
        elif keyword not in _MISSING_IN_OPENAPI_30:
            converted[keyword] = _converted_value(keyword, value)
    if len(converted.get("anyOf", ())) == 1:  # The other alternative was null.
        converted |= converted.pop("anyOf")[0]
    if "$ref" in converted and len(converted) > 1:  # OpenAPI 3.0 ignores keywords next to a reference.
        converted = {"allOf": [{"$ref": converted.pop("$ref")}], **converted}
    return converted


def _converted_value(keyword: str, value: Any) -> Any:
    """Return the value of a keyword with its subschemas converted to OpenAPI 3.0."""
    if keyword in _SCHEMA_MAP_KEYWORDS:
        return {name: _schema_30(subschema) for name, subschema in value.items()}
    if keyword in _SCHEMA_LIST_KEYWORDS:
        return [_schema_30(subschema) for subschema in value if subschema.get("type") != "null"]
    return _schema_30(value) if keyword in _SCHEMA_KEYWORDS and isinstance(value, dict) else value


def swagger_20(document: Mapping[str, Any]) -> Schema:
    """Return an OpenAPI 3.0 document as Swagger 2.0. A schema of alternatives (``anyOf``, ``oneOf``) becomes any value."""
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
    """Return an operation of OpenAPI 3.0 as one of Swagger 2.0, in which the body of the request is a parameter."""
    converted = {keyword: value for keyword, value in operation.items() if keyword not in ("requestBody", "parameters", "responses")}
    parameters = [_parameter_20(parameter) for parameter in operation.get("parameters", ())]
    if body := operation.get("requestBody"):
        required = {"required": True} if body.get("required") else {}
        parameters.append({"name": "body", "in": "body", **required, "schema": _schema_20(_body_schema(body["content"]))})
        converted["consumes"] = list(body["content"])
    if parameters:
        converted["parameters"] = parameters
    media_types = dict.fromkeys(media_type for response in operation["responses"].values() for media_type in response.get("content", ()))
    if media_types:
        converted["produces"] = list(media_types)
    return converted | {"responses": {status: _response_20(response) for status, response in operation["responses"].items()}}


def _parameter_20(parameter: Schema) -> Schema:
    """Return a parameter of OpenAPI 3.0 as one of Swagger 2.0, in which the keywords of its schema are members of its own."""
    schema = _schema_20(parameter["schema"])
    converted = {keyword: value for keyword, value in parameter.items() if keyword not in ("schema", "example")}
    if schema.get("type") == "array":
        converted["collectionFormat"] = "multi"  # The parameter is repeated for each item.
    return {"type": "string", **converted, **schema}


def _response_20(response: Schema) -> Schema:
    """Return a response of OpenAPI 3.0 as one of Swagger 2.0, in which it has one schema for all media types."""
    if not (content := response.get("content")):
        return {"description": response["description"]}
    return {"description": response["description"], "schema": _schema_20(_body_schema(content))}


def _body_schema(content: Schema) -> Schema:
    """Return the only schema that Swagger 2.0 permits for a body: that of JSON, or else the first."""
    schema: Schema = content.get(JSON, next(iter(content.values())))["schema"]
    return schema


def _schema_20(node: Any) -> Any:
    """Return a schema, or a part of one, of OpenAPI 3.0 as one of Swagger 2.0."""
    if isinstance(node, list):
        return [_schema_20(item) for item in node]
    if not isinstance(node, dict):
        return node
    converted = {}
    for keyword, value in node.items():
        if keyword == "properties":
            converted[keyword] = {name: _schema_20(subschema) for name, subschema in value.items()}
        elif keyword == "$ref":
            converted[keyword] = value.replace(REFERENCE, _DEFINITIONS)
        elif keyword not in _MISSING_IN_SWAGGER_20:
            converted[keyword] = _schema_20(value) if keyword in {*_SCHEMA_KEYWORDS, "allOf"} else value
    return converted
