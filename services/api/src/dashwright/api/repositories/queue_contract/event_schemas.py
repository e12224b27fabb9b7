"""Messages that Dashwright sends by itself: events about batches and repositories, and results of items."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashwright.api.http.schemas import REFERENCE, Schema, Schemas
from dashwright.common.kinds.registry import BATCH, REPOSITORY
from dashwright.common.models.batch import BatchItemResult, BatchStatus
from dashwright.common.models.notifications import RepositoryEvent

# Names of schemas.
EVENT: Final = "BatchFinished"
RESULT: Final = "BatchItemResult"
REPOSITORY_EVENT: Final = "RepositoryEvent"

_TEXT: Final = {"type": "string"}
#: The path of the batch in the example of its event.
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


_REPOSITORY_EVENT_EXAMPLES: Final = (
    {
        "name": "syncError",
        "payload": {
            "specversion": "1.0",
            "id": "f0b7c1de-1d1a-4f4e-9f3b-6f6a3d1c2b4a",
            "source": f"/apis/{REPOSITORY.api_version()}/namespaces/default/{REPOSITORY.plural}/team",
            "type": "io.dashwright.repository.sync.error",
            "subject": "team",
            "time": "2026-11-28T09:30:12.541+00:00",
            "datacontenttype": "application/json",
            "data": {
                "repository": "team",
                "namespace": "default",
                "uid": "6f0d6f3e-7a55-4c0e-8a3b-2f9e4b1c7d10",
                "ref": "main",
                "commit": "0a4d55a8d778e5022fab701977c5d840bbc486d0",
                "state": "error",
                "message": "completed with errors",
                "job": "team-sync-5f3c2b1a",
                "counts": {"create": 0, "update": 1, "delete": 0, "noop": 41, "ignored": 2, "error": 1, "warning": 0},
                "errors": ["team/cpu.json: the file is not valid JSON"],
            },
        },
    },
)


def _event_message(schema: str, summary: str, message_examples: Sequence[Schema]) -> Schema:
    """Return the description of a message with an event. ``schema`` is the name of its schema."""
    return {
        "title": schema,
        "summary": summary,
        "contentType": "application/cloudevents+json",
        "payload": {"$ref": f"{REFERENCE}{schema}"},
        "examples": list(message_examples),
        "x-amqp-properties": {"type": "object", "properties": {"message_id": {"type": "string", "description": "The id of the event"}}},
    }


#: Messages about events, by name.
MESSAGES: Final[Mapping[str, Schema]] = {
    "batchFinished": _event_message(EVENT, "The event that a batch has ended, with its status", _EVENT_EXAMPLES),
    "repositoryEvent": _event_message(
        REPOSITORY_EVENT, "The end of a sync, or a change of the quarantine or of the health", _REPOSITORY_EVENT_EXAMPLES
    ),
}


def event_schemas() -> dict[str, Schema]:
    """Return the schemas of events and results, and of their parts, by name."""
    components = Schemas([(model, "serialization") for model in (BatchStatus, BatchItemResult, RepositoryEvent)]).components
    # The events of batches have no model, so their schema is written by hand.
    data: Schema = {
        "type": "object",
        "properties": {"name": _TEXT, "namespace": _TEXT, "uid": _TEXT, "status": {"$ref": f"{REFERENCE}BatchStatus"}},
        "required": ["name", "namespace", "uid", "status"],
    }
    members: dict[str, Any] = {
        "specversion": {"type": "string", "const": "1.0"},
        "id": {**_TEXT, "description": "The same if the event is sent again, and another one if the batch ends again"},
        "source": {**_TEXT, "description": "The path of the batch"},
        "type": {"type": "string", "const": "io.dashwright.batch.finished"},
        "subject": {**_TEXT, "description": "The name of the batch"},
        "time": {"type": "string", "format": "date-time", "description": "When the batch ended"},
        "datacontenttype": {"type": "string", "const": "application/json"},
        "data": data,
    }
    description = "A batch has ended: a CloudEvent 1.0 in the structured mode"
    return {**components, EVENT: {"description": description, "type": "object", "properties": members, "required": sorted(members)}}
