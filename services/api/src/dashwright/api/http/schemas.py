"""JSON Schemas of models for the OpenAPI document: a component for each model, by the model's name."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from dashwright.common.models.classic import ClassicBody
from dashwright.common.models.shape import Shape

Schema: TypeAlias = dict[str, Any]
Mode: TypeAlias = Literal["validation", "serialization"]

REFERENCE: Final = "#/components/schemas/"

_LEFT_OUT: Final = frozenset({"title", "ge", "gt", "le", "lt"})
"""Keywords that are dropped: names of models, and bounds that pydantic writes in addition to those of a validator."""

_SMALLEST_32, _LARGEST_32 = -(2**31), 2**31 - 1
_SMALLEST_64, _LARGEST_64 = -(2**63), 2**63 - 1


class Schemas:
    """The schemas of all types in operations; ``components`` holds the schemas that they refer to."""

    def __init__(self, wanted: Iterable[tuple[Any, Mode]]) -> None:
        """Generate the schemas of all types in one call, so that pydantic adds the module path to models of the same name."""
        self._keys: dict[int, str] = {}
        adapters: dict[tuple[str, Mode], TypeAdapter[Any]] = {}
        for described, mode in wanted:
            if described is not None and not isinstance(described, Mapping):
                key = self._keys.setdefault(id(described), str(len(self._keys)))
                adapters.setdefault((key, mode), TypeAdapter(described))
        inputs = [(key, mode, adapter) for (key, mode), adapter in adapters.items()]
        self._by_key, common = TypeAdapter.json_schemas(
            inputs, by_alias=True, ref_template=f"{REFERENCE}{{model}}", schema_generator=_OpenApi31
        )
        self.components: dict[str, Schema] = _untitled(common.get("$defs", {}))

    def of(self, described: Any, mode: Mode) -> Any:
        """Return the schema of a type; a mapping is a schema itself, and None stands for anything."""
        if described is None:
            return {}
        return dict(described) if isinstance(described, Mapping) else _untitled(self._by_key[self._keys[id(described)], mode])


@cache
def schema_of_parameter(described: Any) -> Mapping[str, Any]:
    """Return the schema of a parameter of a path or a query: a type of plain values, or a list of them."""
    found: Schema = _untitled(TypeAdapter(described).json_schema(schema_generator=_OpenApi31))
    return found


def reached(node: Any, schemas: Mapping[str, Any], *names: str) -> set[str]:
    """Return the names of the schemas that a part of a document, or ``names``, refers to, directly or indirectly."""
    found: set[str] = set()
    left = {*names, *_references(node)}
    while left:
        name = left.pop()
        found.add(name)
        left |= set(_references(schemas[name])) - found
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].removeprefix(REFERENCE)
        for part in node.values():
            yield from _references(part)
    elif isinstance(node, list):
        for part in node:
            yield from _references(part)


class _OpenApi31(GenerateJsonSchema):
    """Generator of JSON Schema with formats for numbers and without titles, which client generators take for names.

    In Shape and ClassicBody models null counts as missing, so their members are not nullable, unless a serializer writes null.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._models: list[type[Any]] = []

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        self._models.append(schema["cls"])
        try:
            return super().model_schema(schema)
        finally:
            self._models.pop()

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        is_missing = bool(self._models) and issubclass(self._models[-1], Shape | ClassicBody)
        return self.generate_inner(schema["schema"]) if is_missing else super().nullable_schema(schema)

    def ser_schema(self, schema: Any) -> JsonSchemaValue | None:
        self._models.append(object)  # null that a serializer makes is written
        try:
            return super().ser_schema(schema)
        finally:
            self._models.pop()

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        default = schema.get("default")
        if default is None or isinstance(default, BaseModel):
            return inner
        return {**inner, "default": self.encode_default(default)}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        expected = list(schema["expected"])
        return {"type": "string", "enum": expected} if all(isinstance(word, str) for word in expected) else super().literal_schema(schema)

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        least = schema.get("ge", schema.get("gt", _SMALLEST_64 - 1) + 1)
        most = schema.get("le", schema.get("lt", _LARGEST_64 + 1) - 1)
        is_short = least >= _SMALLEST_32 and most <= _LARGEST_32
        found: Schema = {"type": "integer", "format": "int32" if is_short else "int64"}
        if least > (_SMALLEST_32 if is_short else _SMALLEST_64):
            found["minimum"] = least
        if most < (_LARGEST_32 if is_short else _LARGEST_64):
            found["maximum"] = most
        return found

    def float_schema(self, _schema: core_schema.FloatSchema) -> JsonSchemaValue:
        return {"type": "number", "format": "double"}

    def field_title_should_be_set(self, _schema: object) -> bool:
        return False


def _untitled(node: Any) -> Any:
    """Return a schema without the titles of models and with code quoted as Markdown quotes it."""
    if isinstance(node, list):
        return [_untitled(item) for item in node]
    if not isinstance(node, dict):
        return node
    found = {key: _untitled(value) for key, value in node.items() if isinstance(value, dict) or key not in _LEFT_OUT}
    if isinstance(found.get("description"), str):
        found["description"] = " ".join(found["description"].replace("``", "`").split())
    return found
