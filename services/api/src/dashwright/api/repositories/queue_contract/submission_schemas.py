"""JSON Schemas (draft 7) of the submissions that ``submissions.read_submission`` accepts.

They are generated from the models and from the descriptions of the actions, and are stricter: unknown members are
refused, and a job has the options of its action only.

Four accepted forms are not described: null and ``""`` for a missing value, empty values of other types, numbers of more
than 64 bits, and members by their names in Python.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args

from pydantic import AliasChoices, BaseModel

from dashwright.api.domain import names, unknown_fields
from dashwright.api.domain.submissions import MAX_JOBS
from dashwright.api.http.schemas import REFERENCE, Schema, Schemas
from dashwright.common.job_actions import ACTIONS
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.naming import OBJECT_NAME_LENGTH, OBJECT_NAME_PATTERN
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.meta import ObjectMeta
from dashwright.common.models.provisioning import JobSpec

JOB_SPEC: Final = "SubmittedJobSpec"
JOB_SPECS: Final = "SubmittedJobSpecs"
JOB_OBJECT: Final = "SubmittedJob"
EVALUATION_OBJECT: Final = "SubmittedEvaluation"
EVALUATION_SPEC: Final = "SubmittedEvaluationSpec"

_JOB_METADATA: Final = "SubmittedJobMetadata"
_EVALUATION_METADATA: Final = "SubmittedEvaluationMetadata"
_STORED_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations")
"""Members of the metadata that a submission sets. The others are ignored."""

# Keywords of the schemas of names. An empty name counts as missing.
_GENERATED_NAME: Final = {"pattern": "^([a-z0-9][-a-z0-9.]*)?$", "maxLength": OBJECT_NAME_LENGTH - names.GENERATED_LENGTH}
_NAME: Final = {"pattern": f"^({OBJECT_NAME_PATTERN})?$", "maxLength": OBJECT_NAME_LENGTH}
_INT32_BOUNDS: Final = {"minimum": -(2**31), "maximum": 2**31 - 1}


def submission_schemas() -> dict[str, Schema]:
    """Return the schemas of all submissions and of their parts, by name."""
    options_models = {action: _options_model(action.value) for action in ACTIONS}
    models: Sequence[Any] = (JobSpec, EvaluationSpec, ObjectMeta, *options_models.values())
    components = Schemas([(model, "validation") for model in models]).components
    schemas = {
        JOB_SPEC: {
            "description": components["JobSpec"]["description"],
            "oneOf": [_reference(_spec_name(description)) for description in ACTIONS.values()],
        },
        JOB_SPECS: {
            "description": "Jobs that are accepted or refused together",
            "type": "array",
            "items": _reference(JOB_SPEC),
            "minItems": 1,
            "maxItems": MAX_JOBS,
        },
        JOB_OBJECT: _object_schema(JOB, "spec", JOB_SPEC, _JOB_METADATA),
        EVALUATION_OBJECT: _object_schema(EVALUATION, "kind", EVALUATION_SPEC, _EVALUATION_METADATA),
        EVALUATION_SPEC: _closed(components["EvaluationSpec"]),
        **_metadata_schemas(components["ObjectMeta"]),
    }
    for action, description in ACTIONS.items():
        model = options_models[action]
        schemas[_spec_name(description)] = _spec_schema(description, components["JobSpec"]["properties"])
        schemas[_options_name(description)] = _options_schema(description, model, components[model.__name__])
    return schemas


def _options_model(action: str) -> type[BaseModel]:
    """Return the model of the options of an action, which is the type of the JobSpec's member with the name of the action."""
    model: type[BaseModel] = get_args(JobSpec.model_fields[action].annotation)[0]
    return model


def _spec_name(description: JobAction) -> str:
    return f"Submitted{description.action.value.capitalize()}JobSpec"


def _options_name(description: JobAction) -> str:
    return f"Submitted{description.action.value.capitalize()}Options"


def _reference(name: str) -> Schema:
    return {"$ref": f"{REFERENCE}{name}"}


def _spec_schema(description: JobAction, properties: Mapping[str, Schema]) -> Schema:
    """Return the schema of the JobSpec of one action. ``properties`` are the schemas of the members of JobSpec."""
    action = description.action.value
    options_names = [name for name in (action, description.alias) if name]
    common_properties = {name: schema for name, schema in properties.items() if name not in ACTIONS and name != "action"}
    schema: Schema = {
        "description": f"A job with the action `{action}`",
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": options_names, "description": "May be missing, since the options name the action"},
            **common_properties,
            **{name: _reference(_options_name(description)) for name in options_names},
        },
        "required": sorted(common_properties),
        "additionalProperties": False,
    }
    if len(options_names) == 1:
        return {**schema, "required": [*schema["required"], *options_names]}
    # The options have exactly one of their two names.
    return {**schema, "oneOf": [{"required": [name]} for name in options_names]}


def _options_schema(description: JobAction, model: type[BaseModel], model_schema: Schema) -> Schema:
    """Return the schema of the options of one action: of their model, their further names, and the rules of the action."""
    schema = _closed(model_schema)
    properties = dict(schema["properties"])
    # A request may have only one of the two names of a member.
    forbidden_pairs = []
    for name, alternative in _alternative_names(model):
        properties[alternative] = properties[name]
        forbidden_pairs.append({"not": {"required": [name, alternative]}})
    rules = dict(description.options_schema)
    for name, keywords in rules.pop("properties", {}).items():
        properties[name] = {**properties[name], **keywords}
    return {**schema, "properties": properties, **rules} | ({"allOf": forbidden_pairs} if forbidden_pairs else {})


def _alternative_names(model: type[BaseModel]) -> list[tuple[str, str]]:
    """Return the members that have two names, each with its described and its other name."""
    choices = [field.validation_alias.choices for field in model.model_fields.values() if isinstance(field.validation_alias, AliasChoices)]
    return [(str(described), str(alternative)) for described, *alternatives in choices for alternative in alternatives]


def _closed(schema: Schema) -> Schema:
    """Return the schema of a model's object without unknown members, and with bounds that validators enforce."""
    properties = {name: _bounded(part) for name, part in schema["properties"].items()}
    return {**schema, "properties": properties, "additionalProperties": False}


def _bounded(schema: Schema) -> Schema:
    """Return the schema of a member with the bounds of its format, which the schema of the model does not have."""
    return {**_INT32_BOUNDS, **schema} if schema.get("format") == "int32" else schema


def _object_schema(kind: Kind, required: str, spec: str, metadata: str) -> Schema:
    """Return the schema of a complete object. ``required`` is the member without which the submission is read as a JobSpec."""
    return {
        "description": kind.description,
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string", "enum": [kind.api_version(version) for version in kind.versions]},
            "kind": {"type": "string", "const": kind.kind},
            "metadata": _reference(metadata),
            "spec": _reference(spec),
            "status": {"type": "object", "maxProperties": 0, "description": "Must be empty: the server sets it"},
        },
        "required": sorted({"spec", required}),
        "additionalProperties": False,
    }


def _metadata_schemas(model_schema: Schema) -> dict[str, Schema]:
    """Return the schemas of the metadata of a Job, whose name is always generated, and of an Evaluation, which may have a name."""
    described: Mapping[str, Schema] = model_schema["properties"]
    ignored: Schema = {"description": "Ignored"}
    limit = f"{names.MAX_METADATA_LENGTH:,}"

    def metadata(kind: Kind, **properties: Schema) -> Schema:
        """Return the schema of the metadata of a kind. ``properties`` replace members of the model."""
        known_names = sorted(unknown_fields.metadata_fields(kind))
        members = {name: described[name] if name in _STORED_METADATA else ignored for name in known_names}
        members["namespace"] = {**described["namespace"], "description": "The namespace of the routing key; may be missing"}
        return {
            "description": f"What is kept with the object. Its labels, and its annotations, have at most {limit} characters in total",
            "type": "object",
            "properties": members | properties,
            "additionalProperties": False,
        }

    job_name = {"type": "string", "maxLength": 0, "description": "Must be missing or empty: the name is generated"}
    prefix = described["generateName"]
    evaluation = metadata(EVALUATION, name={**described["name"], **_NAME})
    # The server ignores the prefix of an evaluation that has a name.
    named_schema = {"required": ["name"], "properties": {"name": {"minLength": 1}}}
    evaluation["anyOf"] = [named_schema, {"properties": {"generateName": dict(_GENERATED_NAME)}}]
    return {
        _JOB_METADATA: metadata(JOB, name=job_name, generateName={**prefix, **_GENERATED_NAME}),
        _EVALUATION_METADATA: evaluation,
    }
