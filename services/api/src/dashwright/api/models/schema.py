"""JSON Schema draft-04 documents of the panel and the six expression targets.

They are generated from the models, so that schema and validation agree.
"""

from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from dashwright.common.models.expressions import TARGETS, SourceQuery
from dashwright.common.models.values import EXPRESSION_UIDS

DRAFT: Final = "http://json-schema.org/draft-04/schema#"

_DEFINITIONS = "#/definitions/"
_MODELS = (*TARGETS.values(), SourceQuery)
_TIME: Final = {"type": ["string", "integer", "null"], "description": "epoch milliseconds, an ISO 8601 time, or date math such as now-6h"}


class _Draft04(GenerateJsonSchema):
    """A generator without ``const``, which draft-04 lacks. Optional properties may be null, which counts as missing."""

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        return {"type": "string", "enum": list(schema["expected"])}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        if schema["schema"]["type"] != "nullable":
            inner = self.get_union_of_schemas([inner, {"type": "null"}])
        default = schema.get("default")
        return inner if default is None else {**inner, "default": default}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def target_schema(kind: str) -> dict[str, Any]:
    """Return the document of one of the six targets, by its ``type``."""
    model = TARGETS[kind]
    definitions = _definitions()
    document = definitions.pop(model.__name__)
    return {"$schema": DRAFT, **document, "definitions": _needed(document, definitions)}


def panel_schema() -> dict[str, Any]:
    """Return the document of a panel, as ``/api/panels/query`` takes it."""
    definitions = _definitions()
    definitions[SourceQuery.__name__] |= {"required": ["datasource"]}
    definitions[SourceQuery.__name__]["properties"] |= {"datasource": _source_schema(), "refId": {"type": ["string", "null"]}}
    queries = {"type": "array", "items": {"oneOf": [{"$ref": f"{_DEFINITIONS}{model.__name__}"} for model in _MODELS]}}
    return {
        "$schema": DRAFT,
        "type": "object",
        "required": ["type", "targets"],
        "properties": {
            "type": {"type": "string"},
            "targets": queries,
            "queries": {"anyOf": [queries, {"type": "null"}]},
            "from": _TIME,
            "to": _TIME,
        },
        "definitions": definitions,
    }


def _source_schema() -> dict[str, Any]:
    """Return the schema of a data source reference: by uid, type or both, and not the expression data source."""
    named = {"type": "string", "minLength": 1}
    expression = [{"properties": {"type": {"enum": ["__expr__"]}}, "required": ["type"]}]
    expression += [{"properties": {"uid": {"enum": sorted(EXPRESSION_UIDS)}}, "required": ["uid"]}]
    text = {"type": ["string", "null"]}
    by_object = {
        "type": "object",
        "properties": {"type": text, "uid": text},
        "anyOf": [{"properties": {name: named}, "required": [name]} for name in ("type", "uid")],
        "not": {"anyOf": expression},
    }
    return {"anyOf": [{**named, "not": {"enum": sorted(EXPRESSION_UIDS)}}, by_object]}


def _definitions() -> dict[str, Any]:
    """Return every model by its name."""
    inputs = [(model, "validation") for model in _MODELS]
    _, schema = models_json_schema(inputs, by_alias=True, ref_template=f"{_DEFINITIONS}{{model}}", schema_generator=_Draft04)  # type: ignore[arg-type]
    definitions: dict[str, Any] = schema["$defs"]
    return definitions


def _needed(document: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the definitions that the document refers to, directly or indirectly."""
    names = sorted(_references(document))
    found: dict[str, Any] = {}
    for name in names:
        found |= {name: definitions[name]} | _needed(definitions[name], definitions)
    return found


def _references(document: Any) -> set[str]:
    if isinstance(document, list):
        return {name for item in document for name in _references(item)}
    if not isinstance(document, dict):
        return set()
    own = {document["$ref"].removeprefix(_DEFINITIONS)} if "$ref" in document else set()
    return own | {name for item in document.values() for name in _references(item)}
