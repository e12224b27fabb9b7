"""JSON Schema draft-04 documents of the panel and the six expression targets.

They are generated from the models, so that schema and validation agree.
"""

from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from dashwright.common.models.expressions import TARGETS, SourceQuery
from dashwright.common.models.values import EXPRESSION_UIDS

SCHEMA_DRAFT: Final = "http://json-schema.org/draft-04/schema#"

_DEFINITIONS = "#/definitions/"
_MODELS = (*TARGETS.values(), SourceQuery)
"""The models of expression targets, and that of ordinary queries."""
_TIME: Final = {"type": ["string", "integer", "null"], "description": "epoch milliseconds, an ISO 8601 time, or date math such as now-6h"}


class _Draft04(GenerateJsonSchema):
    """A schema generator that does not use ``const``, which draft-04 lacks. Optional properties may also be null."""

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return {"type": "string", "enum": list(schema["expected"])}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner_schema = self.generate_inner(schema["schema"])
        if schema["schema"]["type"] != "nullable":
            inner_schema = self.get_union_of_schemas([inner_schema, {"type": "null"}])
        default = schema.get("default")
        return inner_schema if default is None else {**inner_schema, "default": default}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def target_schema(target_type: str) -> dict[str, Any]:
    """Return the JSON Schema of targets of one of the six types, a key of ``TARGETS``."""
    model = TARGETS[target_type]
    definitions = _definitions()
    document = definitions.pop(model.__name__)
    return {"$schema": SCHEMA_DRAFT, **document, "definitions": _referenced_definitions(document, definitions)}


def panel_schema() -> dict[str, Any]:
    """Return the JSON Schema of a panel in a request of ``/api/panels/query``."""
    definitions = _definitions()
    # In a panel, an ordinary query must name its data source, but needs no refId.
    definitions[SourceQuery.__name__] |= {"required": ["datasource"]}
    definitions[SourceQuery.__name__]["properties"] |= {"datasource": _data_source_schema(), "refId": {"type": ["string", "null"]}}
    query_list = {"type": "array", "items": {"oneOf": [{"$ref": f"{_DEFINITIONS}{model.__name__}"} for model in _MODELS]}}
    return {
        "$schema": SCHEMA_DRAFT,
        "type": "object",
        "required": ["type", "targets"],
        "properties": {
            "type": {"type": "string"},
            "targets": query_list,
            "queries": {"anyOf": [query_list, {"type": "null"}]},
            "from": _TIME,
            "to": _TIME,
        },
        "definitions": definitions,
    }


def _data_source_schema() -> dict[str, Any]:
    """Return the schema of a reference to a data source by uid, type or both. The expression data source is not allowed."""
    non_empty_string = {"type": "string", "minLength": 1}
    expression_references = [{"properties": {"type": {"enum": ["__expr__"]}}, "required": ["type"]}]
    expression_references += [{"properties": {"uid": {"enum": sorted(EXPRESSION_UIDS)}}, "required": ["uid"]}]
    nullable_string = {"type": ["string", "null"]}
    reference_object = {
        "type": "object",
        "properties": {"type": nullable_string, "uid": nullable_string},
        "anyOf": [{"properties": {name: non_empty_string}, "required": [name]} for name in ("type", "uid")],
        "not": {"anyOf": expression_references},
    }
    return {"anyOf": [{**non_empty_string, "not": {"enum": sorted(EXPRESSION_UIDS)}}, reference_object]}


def _definitions() -> dict[str, Any]:
    """Return the schema of every model, by the model's name."""
    inputs = [(model, "validation") for model in _MODELS]
    _, schema = models_json_schema(inputs, by_alias=True, ref_template=f"{_DEFINITIONS}{{model}}", schema_generator=_Draft04)  # type: ignore[arg-type]
    definitions: dict[str, Any] = schema["$defs"]
    return definitions


def _referenced_definitions(document: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that the document refers to, directly or indirectly."""
    referenced_definitions: dict[str, Any] = {}
    for name in sorted(_referenced_names(document)):
        referenced_definitions |= {name: definitions[name]} | _referenced_definitions(definitions[name], definitions)
    return referenced_definitions


def _referenced_names(document: Any) -> set[str]:
    """Return the names of the definitions that a document refers to directly."""
    if isinstance(document, list):
        return {name for item in document for name in _referenced_names(item)}
    if not isinstance(document, dict):
        return set()
    own_reference = {document["$ref"].removeprefix(_DEFINITIONS)} if "$ref" in document else set()
    return own_reference | {name for item in document.values() for name in _referenced_names(item)}
