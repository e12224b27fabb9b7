"""The official description of the REST API, cut to the calls that the product uses."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import orjson

_SCHEMAS = "#/components/schemas/"
#: Keywords of a schema that restrict values. ``properties`` is handled separately: its keys are names.
_RESTRICTIONS = (
    *("type", "format", "enum", "items", "required", "additionalProperties", "allOf", "anyOf", "oneOf", "not"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"),
)

_REPOSITORY = "/repos/{owner}/{repo}"

#: Methods and path templates of the calls that the product uses.
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
        self._definitions = self._referenced_schemas()
        self._validators: dict[bytes, jsonschema_rs.Draft202012Validator] = {}
        #: Operations that were requested.
        self.requested_operations: set[tuple[str, str]] = set()

    def fault_of_request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> str | None:
        """Return the reason why the description does not permit a request, or None. Unknown properties are not permitted."""
        entry = self._operation(method, path)
        if entry is None:
            return f"{method} {path} is not in the description"
        template, operation = entry
        self.requested_operations.add((method, template))
        return self._fault_of_parameters(operation, path, template, query) or self._fault_of_body(operation, body)

    def check_response(self, method: str, path: str, status: int, body: Any) -> None:
        """Raise AssertionError for a response that differs from the description."""
        entry = self._operation(method, path)
        assert entry is not None, f"{method} {path} is not in the description"
        response = self._resolve(entry[1]["responses"][str(status)])
        if "content" not in response:
            assert body is None, f"{method} {path} has no body with status {status}"
            return
        faults = list(self._faults(_schema(response["content"]["application/json"]["schema"]), body))
        assert not faults, f"{method} {path}: {faults}"

    def _fault_of_parameters(self, operation: Mapping[str, Any], path: str, template: str, query: Mapping[str, str]) -> str | None:
        """Return the fault of a parameter in the path or the query, or None."""
        parameters = {item["name"]: item for item in map(self._resolve, operation.get("parameters", ()))}
        values = {**dict(zip(re.findall(r"{(\w+)}", template), _values(template, path), strict=True)), **query}
        for name, text in values.items():
            if name not in parameters:
                return f"{name} is not a parameter"
            schema = _schema(parameters[name]["schema"])
            value = int(text) if schema.get("type") == "integer" and text.isdigit() else text
            if faults := list(self._faults(schema, value)):
                return f"{name}: {faults}"
        return None

    def _fault_of_body(self, operation: Mapping[str, Any], body: Any) -> str | None:
        """Return the fault of the body of a request, or None."""
        if "requestBody" not in operation:
            return None if body is None else "there is no body"
        faults = list(self._faults(_close_schema(_schema(operation["requestBody"]["content"]["application/json"]["schema"])), body))
        return f"body: {faults}" if faults else None

    def _operation(self, method: str, path: str) -> tuple[str, Mapping[str, Any]] | None:
        """Return the template of a path and the description of its operation, or None for an undescribed call."""
        for (operation_method, template), operation in self._operations.items():
            if operation_method == method and _pattern(template).fullmatch(path):
                return template, operation
        return None

    def _referenced_schemas(self) -> dict[str, Any]:
        """Return the schemas that the used calls refer to."""
        schemas, referenced = self._document["components"]["schemas"], dict[str, Any]()
        responses = [self._resolve(response) for operation in self._operations.values() for response in operation["responses"].values()]
        remaining_names = [*_schema_names([list(self._operations.values()), responses])]
        while remaining_names:
            if (name := remaining_names.pop()) not in referenced:
                referenced[name] = _schema(schemas[name])
                remaining_names += _schema_names(schemas[name])
        return referenced

    def _faults(self, schema: Any, value: Any) -> Iterator[str]:
        """Return the differences of a value from a schema."""
        # Validators are cached, because they are slow to create.
        key = orjson.dumps(schema)
        if key not in self._validators:
            schema_with_definitions = {**schema, "$defs": self._definitions}
            self._validators[key] = jsonschema_rs.Draft202012Validator(schema_with_definitions, validate_formats=True)
        validator = self._validators[key]
        return (f"{'.'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value))

    def _resolve(self, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a part of the description, or the part that it refers to."""
        if "$ref" not in item:
            return item
        node: Any = self._document
        for part in item["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        return self._resolve(node)


def _schema_names(part: Any) -> list[str]:
    """Return the names of the schemas that a part of the description refers to."""
    return re.findall(rf'"{_SCHEMAS}([^"]+)"', orjson.dumps(part).decode())


def _schema(source: Any) -> Any:
    """Convert a schema of OpenAPI 3.0 to JSON Schema, which has no ``nullable``."""
    if isinstance(source, list):
        return [_schema(item) for item in source]
    if not isinstance(source, dict):
        return source
    if "$ref" in source:
        return {"$ref": source["$ref"].replace(_SCHEMAS, "#/$defs/")}
    converted: dict[str, Any] = {key: _schema(source[key]) for key in _RESTRICTIONS if key in source}
    if "properties" in source:
        converted["properties"] = {name: _schema(value) for name, value in source["properties"].items()}
    return {"anyOf": [converted, {"type": "null"}]} if source.get("nullable") is True else converted


def _close_schema(schema: Any) -> Any:
    """Return a schema that permits no properties other than those that it lists, also in the objects of these properties."""
    if not isinstance(schema, dict):
        return schema
    closed_schema: dict[str, Any] = {
        key: [_close_schema(item) for item in value] if key == "anyOf" else value for key, value in schema.items()
    }
    if "properties" not in closed_schema:
        return closed_schema
    properties = {name: _close_schema(value) for name, value in closed_schema["properties"].items()}
    return {**closed_schema, "properties": properties, "additionalProperties": False}


def _pattern(template: str) -> re.Pattern[str]:
    """Return the pattern of the paths of a template, with a group for each parameter."""
    return re.compile(re.sub(r"{\w+}", "([^/]+)", template))


def _values(template: str, path: str) -> tuple[str, ...]:
    """Return the values of the parameters in a path."""
    match = _pattern(template).fullmatch(path)
    assert match is not None
    return match.groups()
