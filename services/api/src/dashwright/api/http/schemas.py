"""JSON Schemas of models for the OpenAPI document: a component for each model, by the model's name."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.classic import ClassicBody

Schema: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["validation", "serialization"]
"""The mode of a schema, in pydantic's terms: *validation* for request bodies, *serialization* for response bodies."""

REFERENCE: Final = "#/components/schemas/"
"""Prefix of references to components."""

_HAS_DEFAULT: Final = "x-has-default"
"""Keyword of the members of an ApiModel that responses always contain, because they have a default other than None."""

_DROPPED_KEYWORDS: Final = frozenset({"title", "ge", "gt", "le", "lt", _HAS_DEFAULT})
"""Keywords that are omitted: titles of models, the bounds that pydantic repeats under its own names, and ``x-has-default``."""

_MIN_INT32, _MAX_INT32 = -(2**31), 2**31 - 1
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1


class Schemas:
    """The schemas of the types of all operations. ``components`` has the schemas that these schemas refer to."""

    def __init__(self, described_types: Iterable[tuple[Any, Mode]]) -> None:
        """Generate the schemas of all types in one call, so that pydantic adds the module path to models of the same name."""
        self._keys: dict[int, str] = {}  #: Keys of ``_by_key``, by the ``id()`` of the type.
        adapters: dict[tuple[str, Mode], TypeAdapter[Any]] = {}
        for described_type, mode in described_types:
            if described_type is not None and not isinstance(described_type, Mapping):
                key = self._keys.setdefault(id(described_type), str(len(self._keys)))
                adapters.setdefault((key, mode), TypeAdapter(described_type))
        inputs = [(key, mode, adapter) for (key, mode), adapter in adapters.items()]
        self._by_key, shared_schema = TypeAdapter.json_schemas(
            inputs, by_alias=True, ref_template=f"{REFERENCE}{{model}}", schema_generator=_OpenApi31
        )
        components = shared_schema.get("$defs", {})
        bodies = [schema for (_, mode), schema in self._by_key.items() if mode == "validation"]
        names_in_requests = referenced_names(bodies, components)
        # A schema that requests use, too, cannot require these members.
        for name in components.keys() - names_in_requests:
            _require_members_with_defaults(components[name])
        self.components: dict[str, Schema] = _simplified(components)

    def schema_of(self, described_type: Any, mode: Mode) -> Any:
        """Return the schema of a type. A mapping is returned as it is, and None as the schema of any value."""
        if described_type is None:
            return {}
        if isinstance(described_type, Mapping):
            return dict(described_type)
        return _simplified(self._by_key[self._keys[id(described_type)], mode])


@cache
def schema_of_parameter(described_type: Any) -> Mapping[str, Any]:
    """Return the schema of a path or query parameter of a scalar type or a list of scalars."""
    schema: Schema = _simplified(TypeAdapter(described_type).json_schema(schema_generator=_OpenApi31))
    return schema


def referenced_names(node: Any, schemas: Mapping[str, Any], *names: str) -> set[str]:
    """Return ``names`` and the names of all schemas that these schemas or ``node`` refer to, directly or indirectly."""
    reached_names: set[str] = set()
    pending_names = {*names, *_direct_references(node)}
    while pending_names:
        name = pending_names.pop()
        reached_names.add(name)
        pending_names |= set(_direct_references(schemas[name])) - reached_names
    return reached_names


def _require_members_with_defaults(schema: Schema) -> None:
    """Add the members that responses always contain to the required ones. In requests they may be missing."""
    names = [name for name, member in schema.get("properties", {}).items() if member.get(_HAS_DEFAULT)]
    if names:
        schema["required"] = [*schema.get("required", ()), *names]


def _direct_references(node: Any) -> Iterator[str]:
    """Yield the names of the schemas in the ``$ref`` members of a node, at any depth."""
    if isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(REFERENCE)
        for child in node.values():
            yield from _direct_references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _direct_references(child)


class _OpenApi31(GenerateJsonSchema):
    """Generator of JSON Schema with formats for numbers and without titles: client generators mistake titles for names.

    ApiModel and ClassicBody models treat null as a missing member. Their members are therefore not nullable, unless a serializer may
    write null.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._models: list[type[Any]] = []  #: The models that contain the current schema, the innermost last.

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        self._models.append(schema["cls"])
        try:
            return super().model_schema(schema)
        finally:
            self._models.pop()

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        null_is_missing = bool(self._models) and issubclass(self._models[-1], ApiModel | ClassicBody)
        return self.generate_inner(schema["schema"]) if null_is_missing else super().nullable_schema(schema)

    def ser_schema(self, schema: Any) -> JsonSchemaValue | None:
        self._models.append(object)  # A serializer may write null, even in an ApiModel.
        try:
            return super().ser_schema(schema)
        finally:
            self._models.pop()

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner_schema = self.generate_inner(schema["schema"])
        default = schema.get("default")
        has_default = default is not None or "default_factory" in schema
        if has_default and self._models and issubclass(self._models[-1], ApiModel):
            inner_schema = {**inner_schema, _HAS_DEFAULT: True}
        if default is None or isinstance(default, BaseModel):
            return inner_schema
        return {**inner_schema, "default": self.encode_default(default)}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        expected = list(schema["expected"])
        return {"type": "string", "enum": expected} if all(isinstance(value, str) for value in expected) else super().literal_schema(schema)

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        # An exclusive bound of an integer (``gt``, ``lt``) becomes the nearest inclusive one.
        minimum = schema.get("ge", schema.get("gt", _MIN_INT64 - 1) + 1)
        maximum = schema.get("le", schema.get("lt", _MAX_INT64 + 1) - 1)
        is_int32 = minimum >= _MIN_INT32 and maximum <= _MAX_INT32
        result: Schema = {"type": "integer", "format": "int32" if is_int32 else "int64"}
        if minimum > (_MIN_INT32 if is_int32 else _MIN_INT64):
            result["minimum"] = minimum
        if maximum < (_MAX_INT32 if is_int32 else _MAX_INT64):
            result["maximum"] = maximum
        return result

    def float_schema(self, _schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"type": "number", "format": "double"}

    def field_title_should_be_set(self, _schema: object) -> bool:
        return False


def _simplified(node: Any) -> Any:
    """Return a schema without the dropped keywords, and with the double backticks of docstrings as Markdown's single ones."""
    if isinstance(node, list):
        return [_simplified(item) for item in node]
    if not isinstance(node, dict):
        return node
    # The value of a dropped keyword is never a mapping: ``title`` with a mapping is a property of that name.
    schema = {key: _simplified(value) for key, value in node.items() if isinstance(value, dict) or key not in _DROPPED_KEYWORDS}
    if isinstance(schema.get("description"), str):
        schema["description"] = " ".join(schema["description"].replace("``", "`").split())
    return schema
