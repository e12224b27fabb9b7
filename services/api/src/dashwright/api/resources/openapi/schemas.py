"""The shapes of kinds as OpenAPI 3.0 has them, with what Kubernetes adds: ``x-kubernetes-…``. Made from the models."""

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from dashwright.common.kinds.kind import Kind, SubResource
from dashwright.common.models.meta import DeleteOptions, ListMeta, ObjectMeta, Status

Schema = dict[str, Any]

REFERENCE: Final = "#/components/schemas/"
GROUP_VERSION_KIND: Final = "x-kubernetes-group-version-kind"
OPEN: Final = "x-kubernetes-preserve-unknown-fields"

_LIST_TYPE: Final = "x-kubernetes-list-type"
_SMALLEST_32, _LARGEST_32 = -(2**31), 2**31 - 1
_API_VERSION: Final = "The group and version that the object is written in"
_KIND: Final = "What the object is"


def reference(name: str) -> Schema:
    return {"$ref": f"{REFERENCE}{name}"}


def components(kinds: Iterable[Kind], subresources: Iterable[SubResource], version: str) -> dict[str, Schema]:
    """Every shape that a version of a group has, by the names of kinds and models."""
    kinds, subresources = list(kinds), list(subresources)
    models = {model for kind in kinds for model in (_spec(kind), _status(kind)) if model is not None}
    models |= {sub.model for sub in subresources if sub.model is not None}
    found = _definitions([ObjectMeta, ListMeta, DeleteOptions, Status, *sorted(models, key=lambda model: model.__name__)])
    for kind in kinds:
        found |= _object(kind, version, found)
        _mark_sets(kind, found)
    group = kinds[0].group
    for sub in subresources:
        found.setdefault(sub.kind, {"type": "object", OPEN: True})
        if sub.model is not None:
            found[sub.kind] = _enveloped(found[sub.model.__name__])
        found[sub.kind][GROUP_VERSION_KIND] = [_kind_of(group, version, sub.kind)]
    found["DeleteOptions"][GROUP_VERSION_KIND] = [_kind_of("", "v1", "DeleteOptions"), _kind_of(group, version, "DeleteOptions")]
    found["Status"][GROUP_VERSION_KIND] = [_kind_of("", "v1", "Status")]
    return dict(sorted(found.items()))


def _kind_of(group: str, version: str, kind: str) -> Schema:
    return {"group": group, "version": version, "kind": kind}


def _spec(kind: Kind) -> type[BaseModel] | None:
    return kind.shown_spec or kind.spec


def _status(kind: Kind) -> type[BaseModel] | None:
    return kind.shown_status or kind.status


def _object(kind: Kind, version: str, found: dict[str, Schema]) -> dict[str, Schema]:
    """The kind and its list."""
    spec, status = _spec(kind), _status(kind)
    properties: Schema = {
        **_envelope(ObjectMeta),
        "spec": {"type": "object", OPEN: True, "description": "Any JSON object"} if spec is None else _told(spec, "What is wanted"),
        **({} if status is None else {"status": _told(status, "What the server has found")}),
    }
    items = {"type": "array", "items": reference(kind.kind)}
    own = {"type": "object", "description": kind.description, "properties": properties, "required": ["spec"]}
    listed = {
        "type": "object",
        "description": f"A list of {kind.plural}",
        "properties": {**_envelope(ListMeta), "items": items},
        "required": ["items"],
    }
    return {
        kind.kind: {**own, GROUP_VERSION_KIND: [_kind_of(kind.group, version, kind.kind)]},
        f"{kind.kind}List": {**listed, GROUP_VERSION_KIND: [_kind_of(kind.group, version, f"{kind.kind}List")]},
    }


def _envelope(metadata: type[BaseModel]) -> Schema:
    return {
        "apiVersion": {"type": "string", "description": _API_VERSION},
        "kind": {"type": "string", "description": _KIND},
        "metadata": _told(
            metadata, "What there is to know about any object" if metadata is ObjectMeta else "What there is to know about any list"
        ),
    }


def _told(model: type[BaseModel], description: str) -> Schema:
    return {"allOf": [reference(model.__name__)], "description": description}


def _enveloped(schema: Schema) -> Schema:
    """The answer of a sub-resource with what all objects have described as everywhere."""
    told: Schema = schema["properties"]
    envelope = _envelope(ListMeta if "items" in told else ObjectMeta)
    return {**schema, "properties": {**told, **{name: shape for name, shape in envelope.items() if name in told}}}


def _mark_sets(kind: Kind, found: dict[str, Schema]) -> None:
    for path in kind.set_lists:
        node = found[kind.kind]
        for step in path:
            node = node["properties"][step]
            for part in node.get("allOf", ()):
                node = found[part["$ref"].removeprefix(REFERENCE)]
        node[_LIST_TYPE] = "set"


def _definitions(models: list[type[BaseModel]]) -> dict[str, Schema]:
    _, schema = models_json_schema(
        [(model, "validation") for model in models], by_alias=True, ref_template=f"{REFERENCE}{{model}}", schema_generator=_OpenApi30
    )
    definitions: dict[str, Schema] = _plain(schema["$defs"])
    return definitions


class _OpenApi30(GenerateJsonSchema):
    """JSON Schema as OpenAPI 3.0 and Kubernetes' readers of it have it. Null is as missing, so nothing is nullable."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        return inner if default is None else {**inner, "default": self.encode_default(default)}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return {"type": "string", "enum": list(schema["expected"])}

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        is_short = schema.get("ge", _SMALLEST_32 - 1) >= _SMALLEST_32 and schema.get("lt", _LARGEST_32 + 2) <= _LARGEST_32 + 1
        return {"type": "integer", "format": "int32" if is_short else "int64"}

    def float_schema(self, _schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"type": "number", "format": "double"}

    def any_schema(self, _schema: core_schema.AnySchema) -> JsonSchemaValue:
        return {OPEN: True}

    def field_title_should_be_set(self, _schema: object) -> bool:
        return False


def _plain(node: Any) -> Any:
    """A schema without the titles of models, with a reference standing alone, and with what is open said in Kubernetes' word."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, dict):
        return node
    told = {key: _plain(value) for key, value in node.items() if not (key == "title" and isinstance(value, str))}
    if told.get("additionalProperties") in (True, {OPEN: True}):
        del told["additionalProperties"]
        told[OPEN] = True
    if isinstance(told.get("description"), str):
        told["description"] = told["description"].replace("``", "")
    if "$ref" in told and len(told) > 1:
        told = {"allOf": [{"$ref": told.pop("$ref")}], **told}
    return told
