"""JSON Schemas (draft 7) of submitted batches and of their items. They are stricter than the models: unknown members are refused."""

from typing import Final

import orjson

from dashwright.api.domain import unknown_fields
from dashwright.api.http.schemas import REFERENCE, Schema, Schemas
from dashwright.api.repositories.queue_batches import MAX_ITEMS
from dashwright.api.repositories.queue_contract import submission_schemas as submitted
from dashwright.common.kinds.naming import OBJECT_NAME_LENGTH, OBJECT_NAME_PATTERN
from dashwright.common.kinds.registry import BATCH, EVALUATION, JOB
from dashwright.common.models.batch import BatchItem, BatchSecure, BatchSpec
from dashwright.common.models.meta import ObjectMeta

ITEM: Final = "SubmittedBatchItem"
ITEMS: Final = "SubmittedBatchItems"
BATCH_OBJECT: Final = "SubmittedBatch"

_METADATA: Final = "SubmittedBatchMetadata"
_PREFIX: Final = "Submitted"
"""Beginning of the names of these schemas, which distinguishes them from the schemas of replies."""
_STORED_METADATA: Final = ("namespace", "labels", "annotations", "ownerReferences", "finalizers")
"""Members of the metadata that are stored with a batch, in addition to its name."""


def batch_schemas() -> dict[str, Schema]:
    """Return the schemas of batches, of items and of their parts, by name."""
    models = (BatchSpec, BatchItem, BatchSecure, ObjectMeta)
    components = Schemas([(model, "validation") for model in models]).components
    parts = {f"{_PREFIX}{name}": _closed(schema) for name, schema in components.items() if _is_part_of_batch(name)}
    # One schema for each kind of item replaces that of the model, both in a spec and in messages.
    item = parts.pop(ITEM)
    return {
        **parts,
        ITEM: {
            "description": item["description"],
            "oneOf": [_item(item, JOB.kind, submitted.JOB_SPEC), _item(item, EVALUATION.kind, submitted.EVALUATION_SPEC)],
        },
        ITEMS: {
            "description": "Items, each of which is accepted or refused. The list is empty only in a message that closes the batch",
            "type": "array",
            "items": {"$ref": f"{REFERENCE}{ITEM}"},
            "maxItems": MAX_ITEMS,
        },
        _METADATA: _metadata(components["ObjectMeta"]),
        BATCH_OBJECT: {
            "description": BATCH.description,
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string", "const": BATCH.api_version()},
                "kind": {"type": "string", "const": BATCH.kind},
                "metadata": {"$ref": f"{REFERENCE}{_METADATA}"},
                "spec": {"$ref": f"{REFERENCE}{_PREFIX}BatchSpec"},
                "secure": {"$ref": f"{REFERENCE}{_PREFIX}BatchSecure"},
            },
            "required": ["kind", "metadata"],
            "additionalProperties": False,
        },
    }


def _is_part_of_batch(name: str) -> bool:
    """Return whether a model is that of the spec, an item or the secrets of a batch, or of a part of them."""
    return name in {"BatchSpec", "BatchItem", "RetryPolicy", "Notify", "WebhookTarget", "BatchSecure", "SecureValue"}


def _closed(schema: Schema) -> Schema:
    """Return the schema of a model that refuses unknown members, with references to the schemas of submitted parts."""
    renamed: Schema = orjson.loads(orjson.dumps(schema).replace(REFERENCE.encode(), f"{REFERENCE}{_PREFIX}".encode()))
    return {**renamed, "additionalProperties": False}


def _item(schema: Schema, kind: str, spec: str) -> Schema:
    """Return the schema of an item of one kind. Items that name no kind are jobs."""
    properties = {**schema["properties"], "kind": {"type": "string", "const": kind}, "spec": {"$ref": f"{REFERENCE}{spec}"}}
    required = ["spec"] if kind == JOB.kind else ["kind", "spec"]
    return {
        "description": f"An item of the kind {kind}",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _metadata(model_schema: Schema) -> Schema:
    """Return the schema of a batch's metadata. Members that only the server sets may be sent, but are ignored."""
    described = model_schema["properties"]
    known_names = sorted(unknown_fields.metadata_fields(BATCH))
    members = {name: described[name] if name in _STORED_METADATA else {"description": "Ignored"} for name in known_names}
    members["name"] = {**described["name"], "pattern": f"^{OBJECT_NAME_PATTERN}$", "maxLength": OBJECT_NAME_LENGTH}
    return {
        "description": "What is kept with the batch",
        "type": "object",
        "properties": members,
        "required": ["name"],
        "additionalProperties": False,
    }
