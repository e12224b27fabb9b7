"""Messages that Dashwright sends about batches: events that they have ended, and results of items."""

from typing import Any, Final

from dashwright.api.http.schemas import REFERENCE, Schema, Schemas
from dashwright.common.kinds.registry import BATCH
from dashwright.common.models.batch import BatchItemResult, BatchStatus

EVENT: Final = "BatchFinished"
RESULT: Final = "BatchItemResult"

_TEXT: Final = {"type": "string"}
_SOURCE: Final = f"/apis/{BATCH.api_version()}/namespaces/default/{BATCH.plural}/nightly"

_EVENT_EXAMPLES: Final = (
    {
        "name": "finished",
        "payload": {
            "specversion": "1.0",
            "id": "6a2f41a3-c54c-4ae8-9d3c-1a2b3c4d5e6f",
            "source": _SOURCE,
            "type": "io.dashwright.batch.finished",
            "subject": "nightly",
            "time": "2026-11-23T17:24:13.118000+00:00",
            "datacontenttype": "application/json",
            "data": {
                "name": "nightly",
                "namespace": "default",
                "uid": "0b6c8a52-6d0f-4c3c-9a43-5d1d54f1a2c7",
                "status": {"state": "success", "counts": {"total": 2, "success": 2}, "progress": 100.0, "finished": 1795454653118},
            },
        },
    },
)
RESULT_EXAMPLES: Final = (
    {
        "name": "result",
        "payload": {"index": 0, "id": "team-1", "state": "success", "result": {"state": "success", "message": "job completed"}},
    },
)


EVENT_MESSAGE: Final[Schema] = {
    "title": EVENT,
    "summary": "The event that a batch has ended, with its status",
    "contentType": "application/cloudevents+json",
    "payload": {"$ref": f"{REFERENCE}{EVENT}"},
    "examples": list(_EVENT_EXAMPLES),
    "x-amqp-properties": {"type": "object", "properties": {"message_id": {"type": "string", "description": "The id of the event"}}},
}


def event_schemas() -> dict[str, Schema]:
    """Return the schemas of events and results, and of their parts, by name."""
    components = Schemas([(BatchStatus, "serialization"), (BatchItemResult, "serialization")]).components
    data: Schema = {
        "type": "object",
        "properties": {"name": _TEXT, "namespace": _TEXT, "uid": _TEXT, "status": {"$ref": f"{REFERENCE}BatchStatus"}},
        "required": ["name", "namespace", "uid", "status"],
    }
    members: dict[str, Any] = {
        "specversion": {"type": "string", "const": "1.0"},
        "id": {**_TEXT, "description": "The same in each repetition, and another one for each end of the batch"},
        "source": {**_TEXT, "description": "The path of the batch"},
        "type": {"type": "string", "const": "io.dashwright.batch.finished"},
        "subject": {**_TEXT, "description": "The name of the batch"},
        "time": {"type": "string", "format": "date-time", "description": "When the batch ended"},
        "datacontenttype": {"type": "string", "const": "application/json"},
        "data": data,
    }
    description = "A batch has ended: a CloudEvent 1.0 in the structured mode"
    return {**components, EVENT: {"description": description, "type": "object", "properties": members, "required": sorted(members)}}
