"""The official description of the REST API, cut to the calls that the product uses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import orjson

_SCHEMAS = "#/components/schemas/"
#: Keywords of a schema that restrict values. ``properties`` is handled separately: its keys are names.
_APPLIED = (
    *("type", "format", "enum", "items", "required", "additionalProperties", "allOf", "anyOf", "oneOf", "not"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"),
)

_REPOSITORY = "/repos/{owner}/{repo}"

USED_CALLS = frozenset(
    {
        ("GET", f"{_REPOSITORY}/pulls/{{pull_number}}"),
        ("GET", f"{_REPOSITORY}/pulls/{{pull_number}}/files"),
        ("GET", f"{_REPOSITORY}/issues/{{issue_number}}/comments"),
        ("POST", f"{_REPOSITORY}/issues/{{issue_number}}/comments"),
        ("PATCH", f"{_REPOSITORY}/issues/comments/{{comment_id}}"),
        ("POST", f"{_REPOSITORY}/statuses/{{sha}}"),
        ("GET", f"{_REPOSITORY}/hooks"),
        ("POST", f"{_REPOSITORY}/hooks"),
        ("PATCH", f"{_REPOSITORY}/hooks/{{hook_id}}"),
        ("DELETE", f"{_REPOSITORY}/hooks/{{hook_id}}"),
    }
)


class Description:
    """A check of requests and responses against the description."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._operations = {(method, template): document["paths"][template][method.lower()] for method, template in USED_CALLS}
        self._definitions = self._reached()
        self._validators: dict[bytes, jsonschema_rs.Draft202012Validator] = {}
        #: Operations that were requested.
        self.seen: set[tuple[str, str]] = set()

    def fault_of_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> str | None:
        """Return the reason why the description does not permit a request, or None. Unknown properties are not permitted."""
        described = self._operation(method, path)
        if described is None:
            return f"{method} {path} is not in the description"
        template, operation = described
        self.seen.add((method, template))
        return self._fault_of_parameters(operation, path, template, query) or self._fault_of_body(operation, body)

    def check_response(self, method: str, path: str, status: int, body: Any) -> None:
        """Raise AssertionError for a response that differs from the description."""
        described = self._operation(method, path)
        assert described is not None, f"{method} {path} is not in the description"
        response = self._whole(described[1]["responses"][str(status)])
        if "content" not in response:
            assert body is None, f"{method} {path} answers {status} without a body"
            return
        faults = list(self._faults(_schema(response["content"]["application/json"]["schema"]), body))
        assert not faults, f"{method} {path}: {faults}"

    def _fault_of_parameters(self, operation: Mapping[str, Any], path: str, template: str, query: Mapping[str, str]) -> str | None:
        described = {item["name"]: item for item in map(self._whole, operation.get("parameters", ()))}
        values = {**dict(zip(re.findall(r"{(\w+)}", template), _values(template, path), strict=True)), **query}
        for name, text in values.items():
            if name not in described:
                return f"{name} is no parameter"
            schema = _schema(described[name]["schema"])
            value = int(text) if schema.get("type") == "integer" and text.isdigit() else text
            if faults := list(self._faults(schema, value)):
                return f"{name}: {faults}"
        return None

    def _fault_of_body(self, operation: Mapping[str, Any], body: Any) -> str | None:
        if "requestBody" not in operation:
            return None if body is None else "there is no body"
        faults = list(self._faults(_close_schema(_schema(operation["requestBody"]["content"]["application/json"]["schema"])), body))
        return f"body: {faults}" if faults else None

    def _operation(self, method: str, path: str) -> tuple[str, Mapping[str, Any]] | None:
        for (described, template), operation in self._operations.items():
            if described == method and _pattern(template).fullmatch(path):
                return template, operation
        return None

    def _reached(self) -> dict[str, Any]:
        """Return the schemas that the used calls refer to."""
        schemas, reached = self._document["components"]["schemas"], dict[str, Any]()
        responses = [self._whole(response) for operation in self._operations.values() for response in operation["responses"].values()]
        waiting = [*_schema_names([list(self._operations.values()), responses])]
        while waiting:
            if (name := waiting.pop()) not in reached:
                reached[name] = _schema(schemas[name])
                waiting += _schema_names(schemas[name])
        return reached

    def _faults(self, schema: Any, value: Any) -> Iterator[str]:
        key = orjson.dumps(schema)
        if key not in self._validators:
            complete = {**schema, "$defs": self._definitions}
            self._validators[key] = jsonschema_rs.Draft202012Validator(complete, validate_formats=True)
        validator = self._validators[key]
        return (f"{'.'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value))

    def _whole(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in item:
            return item
        node: Any = self._document
        for part in item["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        return self._whole(node)


def _schema_names(described: Any) -> list[str]:
    """Return the names of the schemas that a part of the description refers to."""
    return re.findall(rf'"{_SCHEMAS}([^"]+)"', orjson.dumps(described).decode())


def _schema(described: Any) -> Any:
    """Convert a schema of OpenAPI 3.0 to JSON Schema, which has no ``nullable``."""
    if isinstance(described, list):
        return [_schema(item) for item in described]
    if not isinstance(described, dict):
        return described
    if "$ref" in described:
        return {"$ref": described["$ref"].replace(_SCHEMAS, "#/$defs/")}
    converted: dict[str, Any] = {key: _schema(described[key]) for key in _APPLIED if key in described}
    if "properties" in described:
        converted["properties"] = {name: _schema(value) for name, value in described["properties"].items()}
    return {"anyOf": [converted, {"type": "null"}]} if described.get("nullable") is True else converted


def _close_schema(schema: Any) -> Any:
    """Return the schema without permission for further properties."""
    if not isinstance(schema, dict):
        return schema
    closed: dict[str, Any] = {key: [_close_schema(item) for item in value] if key == "anyOf" else value for key, value in schema.items()}
    if "properties" not in closed:
        return closed
    named = {name: _close_schema(value) for name, value in closed["properties"].items()}
    return {**closed, "properties": named, "additionalProperties": False}


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"{\w+}", "([^/]+)", template))


def _values(template: str, path: str) -> tuple[str, ...]:
    match = _pattern(template).fullmatch(path)
    assert match is not None
    return match.groups()
