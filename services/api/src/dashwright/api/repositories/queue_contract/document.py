"""The AsyncAPI 3.0 document of the queue: channels for submissions, for replies, for events, and for refused submissions.

The document describes Dashwright, as AsyncAPI prescribes: Dashwright *receives* submissions and *sends* replies.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dashwright.api.domain.submissions import MAX_BODY_BYTES, MAX_JOBS
from dashwright.api.http.response import JSON
from dashwright.api.http.schemas import REFERENCE, Schema, Schemas
from dashwright.api.repositories.queue_batches import BATCH_NAME, CLOSE, ITEM_RESULTS, MAX_ITEMS
from dashwright.api.repositories.queue_contract import batch_schemas, event_channels, event_schemas, examples
from dashwright.api.repositories.queue_contract import submission_schemas as submitted
from dashwright.api.repositories.queue_contract.event_channels import BINDING_VERSION, namespace_parameter, topic_bindings
from dashwright.api.resources.descriptions import list_model, object_model
from dashwright.common.jobs import routing
from dashwright.common.kinds.registry import BATCH, EVALUATION, JOB
from dashwright.common.messaging import message
from dashwright.common.messaging.topology import TOPOLOGY
from dashwright.common.models.batch import BatchSubmission
from dashwright.common.models.meta import Status
from dashwright.common.observability import tracing

# Names of channels.
_SUBMISSIONS: Final = "submissions"
_BATCH_ITEMS: Final = "batchItems"
_REPLIES: Final = "replies"
_REFUSED: Final = "refusedSubmissions"
_REFUSAL: Final = "status"
"""Name of the message that replies to a refused submission."""
_ACCOUNT: Final = "account"
"""Name of the security scheme."""

_DESCRIPTION: Final = (
    "Programs with an account of the RabbitMQ broker submit jobs and evaluations by publishing messages. "
    "Checks and effects are the same as over HTTP, which `/openapi.json` describes. "
    "There are no messages about the progress of a job: watch jobs over HTTP. "
    "Clients can request the result of each item of a batch, and an event at the end of a batch. "
    "Events about repositories and ends of batches are published to an exchange."
)
_IDEMPOTENCY: Final = (
    "The idempotency key: a second message with the same key and body returns the same jobs and creates none. "
    "The same key with another body is refused. Keys are kept for a day"
)
_AUTHORIZATION: Final = (
    "Credentials as in HTTP, such as `Basic …` or `Bearer …`. A message without them acts as the queue identity of its namespace, "
    "which may submit only `sync` and `pr` jobs. The setting QUEUE_IDENTITY can require credentials"
)
_SUBMISSION_HEADERS: Final = {
    message.AUTHORIZATION: _AUTHORIZATION,
    tracing.HEADER: "The trace that the submission belongs to, as in W3C Trace Context",
}


def document(*, version: str) -> Schema:
    """Return the document. ``version`` is the product's version."""
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Dashwright's queue",
            "version": version,
            "description": _DESCRIPTION,
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": JSON,
        "servers": {"broker": _server()},
        "channels": {_SUBMISSIONS: _submissions(), _BATCH_ITEMS: _batch_items(), _REPLIES: _replies(), **_further_channels()},
        "operations": _operations(),
        "components": {
            "schemas": dict(
                sorted(
                    {
                        **_reply_schemas(),
                        **submitted.submission_schemas(),
                        **batch_schemas.batch_schemas(),
                        **event_schemas.event_schemas(),
                        **_message_parts(),
                    }.items()
                )
            ),
            "messages": _messages(),
            "securitySchemes": {_ACCOUNT: {"type": "userPassword", "description": "An account of RabbitMQ"}},
        },
    }


def _server() -> Schema:
    return {
        "host": "{host}",
        "protocol": "amqp",
        "protocolVersion": "0.9.1",
        "description": "The RabbitMQ broker of the setting AMQP_URL",
        "variables": {"host": {"default": "localhost:5672", "description": "Host and port of the broker"}},
        "security": [{"$ref": f"#/components/securitySchemes/{_ACCOUNT}"}],
    }


def _submissions() -> Schema:
    return {
        "address": "submit.{namespace}",
        "title": "Submissions",
        "description": (
            f"Published to the exchange. A body has at most {MAX_BODY_BYTES:,} bytes, and a list at most {MAX_JOBS:,} jobs. "
            "To know that the broker has stored a message, publish it as mandatory, persistent, and with publisher confirms."
        ),
        "parameters": namespace_parameter(),
        "messages": _channel_messages("jobSpec", "jobSpecs", "job", "evaluation", "batch"),
        "bindings": topic_bindings(routing.EXCHANGE),
        "x-limits": {"bytes": MAX_BODY_BYTES, "jobs": MAX_JOBS},
    }


def _batch_items() -> Schema:
    return {
        "address": "submit.{namespace}",
        "title": "Items of batches",
        "description": (
            f"Submissions with the header `{BATCH_NAME}`, published like other submissions. A message has one item or a list of at most "
            f"{MAX_ITEMS:,}. A batch that does not exist is created. Messages may overtake each other, so wait for the reply to a Batch "
            "before you publish its items."
        ),
        "parameters": namespace_parameter(),
        "messages": _channel_messages("batchItem", "batchItems"),
        "bindings": topic_bindings(routing.EXCHANGE),
        "x-limits": {"bytes": MAX_BODY_BYTES, "items": MAX_ITEMS},
    }


def _replies() -> Schema:
    return {
        "address": None,
        "title": "Replies",
        "description": (
            "The queue that `reply_to` of the submission names: an exclusive queue of the client, or RabbitMQ's direct reply-to "
            "(`amq.rabbitmq.reply-to`). Each submission with `reply_to` has one reply. "
            "Results of items are sent there, too, if their submission requested them."
        ),
        "messages": _channel_messages(
            "submittedJob", "submittedJobList", "submittedEvaluation", "submittedBatch", "batchSubmission", "batchItemResult", _REFUSAL
        ),
        "bindings": {
            "amqp": {
                "is": "queue",
                "queue": {"durable": False, "exclusive": True, "autoDelete": True, "vhost": "/"},
                "bindingVersion": BINDING_VERSION,
            }
        },
    }


def _further_channels() -> Schema:
    return {**event_channels.channels(), _REFUSED: _refused_submissions()}


def _refused_submissions() -> Schema:
    return {
        "address": TOPOLOGY.dead,
        "title": "Refused submissions",
        "description": "Refused submissions without `reply_to`, for operators. The oldest are discarded if the queue is full.",
        "messages": _channel_messages("refusedSubmission"),
        "bindings": {
            "amqp": {
                "is": "queue",
                "queue": {"name": TOPOLOGY.dead, "durable": True, "exclusive": False, "autoDelete": False, "vhost": "/"},
                "bindingVersion": BINDING_VERSION,
            }
        },
    }


def _channel_messages(*names: str) -> Schema:
    """Return the messages of a channel, as references to their components."""
    return {name: {"$ref": f"#/components/messages/{name}"} for name in names}


def _operations() -> Schema:
    return {
        "submitJob": _operation("Submit one job", ["jobSpec", "job"], "submittedJob"),
        "submitJobs": _operation("Submit several jobs: all are accepted, or none", ["jobSpecs"], "submittedJobList"),
        "submitEvaluation": _operation("Submit the evaluation of a panel", ["evaluation"], "submittedEvaluation"),
        "submitBatch": _operation("Create a batch", ["batch"], "submittedBatch"),
        "submitBatchItems": _operation(
            "Add items to a batch: each is accepted or refused", ["batchItem", "batchItems"], "batchSubmission", channel=_BATCH_ITEMS
        ),
        "sendBatchItemResult": {
            "action": "send",
            "summary": "Send the result of an item, after it has ended",
            "channel": {"$ref": f"#/channels/{_REPLIES}"},
            "messages": _message_references(_REPLIES, ["batchItemResult"]),
        },
        **event_channels.operations(),
        "keepRefusedSubmission": {
            "action": "send",
            "summary": "Keep a refused submission that has no reply_to",
            "channel": {"$ref": f"#/channels/{_REFUSED}"},
            "messages": _message_references(_REFUSED, ["refusedSubmission"]),
        },
    }


def _operation(summary: str, submissions: Sequence[str], reply: str, *, channel: str = _SUBMISSIONS) -> Schema:
    """Return the operation of one kind of submission, whose reply is the submitted object or a Status with the reason of a refusal."""
    return {
        "action": "receive",
        "summary": summary,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": _message_references(channel, submissions),
        "bindings": {"amqp": {"ack": True, "bindingVersion": BINDING_VERSION}},
        "reply": {
            "address": {"location": "$message.header#/reply_to", "description": "The AMQP property `reply_to`"},
            "channel": {"$ref": f"#/channels/{_REPLIES}"},
            "messages": _message_references(_REPLIES, [reply, _REFUSAL]),
        },
    }


def _message_references(channel: str, names: Iterable[str]) -> list[Schema]:
    return [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in names]


def _messages() -> Schema:
    return {
        "jobSpec": _submission("JobSpec", "One job", submitted.JOB_SPEC, examples.JOB_SPEC),
        "jobSpecs": _submission("JobSpecs", "Several jobs", submitted.JOB_SPECS, examples.JOB_SPECS),
        "job": _submission("Job", "One job, with labels, annotations or a prefix of its name", submitted.JOB_OBJECT, examples.JOB_OBJECT),
        "evaluation": _submission("Evaluation", "The evaluation of a panel", submitted.EVALUATION_OBJECT, examples.EVALUATION_OBJECT),
        "batch": _submission("Batch", "A batch with its spec", batch_schemas.BATCH_OBJECT, examples.BATCH_OBJECT),
        "batchItem": _items("BatchItem", "One item of a batch", batch_schemas.ITEM, examples.BATCH_ITEM),
        "batchItems": _items("BatchItems", "Several items of a batch", batch_schemas.ITEMS, examples.BATCH_ITEMS),
        "submittedJob": _reply("Job", "The submitted job, or the pending job that is equal to it", "Job", examples.JOB_REPLY),
        "submittedJobList": _reply("JobList", "The submitted jobs, in the order of the submission", "JobList", examples.JOB_LIST_REPLY),
        "submittedEvaluation": _reply("Evaluation", "The submitted evaluation", "Evaluation", examples.EVALUATION_REPLY),
        "submittedBatch": _reply("Batch", "The created batch", "Batch", examples.BATCH_REPLY),
        "batchSubmission": _reply(
            "BatchSubmission", "The verdicts on the items, in their order", "BatchSubmission", examples.BATCH_SUBMISSION_REPLY
        ),
        "batchItemResult": {
            **_reply("BatchItemResult", "The result of an item", event_schemas.RESULT, event_schemas.RESULT_EXAMPLES),
            "headers": _strings(**{BATCH_NAME: "The name of the batch"}),
            "x-amqp-properties": _strings(
                message_id="The same if the message is sent again, and another one after a retry of the item",
                correlation_id="The `correlation_id` of the submission",
            ),
        },
        **event_schemas.MESSAGES,
        _REFUSAL: _reply("Status", "Why the submission was refused", "Status", examples.REFUSAL),
        "refusedSubmission": {
            "title": "Refused submission",
            "summary": "The body and routing key of the submission, with the reason of the refusal",
            "contentType": "application/octet-stream",
            "headers": _reference("RefusedSubmissionHeaders"),
            "payload": {"description": "The body as it was submitted, even if it is not JSON"},
        },
    }


def _submission(title: str, summary: str, schema: str, message_examples: Sequence[Schema]) -> Schema:
    """Return the message of a submission. ``schema`` is the name of the schema of its body."""
    return {
        **_message(title, summary, schema, message_examples),
        "headers": _reference("SubmissionHeaders"),
        "x-amqp-properties": _reference("SubmissionProperties"),
    }


def _items(title: str, summary: str, schema: str, message_examples: Sequence[Schema]) -> Schema:
    """Return the message of a submission of batch items, whose headers name the batch."""
    return {**_submission(title, summary, schema, message_examples), "headers": _reference("BatchItemHeaders")}


def _reply(title: str, summary: str, schema: str, message_examples: Sequence[Schema]) -> Schema:
    """Return the message of a reply. ``schema`` is the name of the schema of its body."""
    return {**_message(title, summary, schema, message_examples), "x-amqp-properties": _reference("ReplyProperties")}


def _message(title: str, summary: str, schema: str, message_examples: Sequence[Schema]) -> Schema:
    """Return the parts that the descriptions of submissions and of replies have in common."""
    return {
        "title": title,
        "summary": summary,
        "contentType": JSON,
        "correlationId": {"location": "$message.header#/correlation_id", "description": "The AMQP property `correlation_id`"},
        "payload": _reference(schema),
        "examples": list(message_examples),
    }


def _reference(schema: str) -> Schema:
    return {"$ref": f"{REFERENCE}{schema}"}


def _message_parts() -> dict[str, Schema]:
    """Return the schemas of the headers and AMQP properties of messages."""
    return {
        "SubmissionHeaders": _strings(**_SUBMISSION_HEADERS),
        "BatchItemHeaders": _batch_item_headers(),
        "SubmissionProperties": _submission_properties(),
        "ReplyProperties": _strings(
            message_id="The `message_id` of the submission", correlation_id="The `correlation_id` of the submission"
        ),
        "RefusedSubmissionHeaders": _strings(
            **{
                message.REASON: "Why the submission was refused",
                message.ORIGIN_QUEUE: "The queue from which the submission was refused",
                message.ORIGIN_EXCHANGE: "The exchange to which the submission was published",
            }
        ),
    }


def _submission_properties() -> Schema:
    """Return the schema of the AMQP properties of a submission."""
    properties = _strings(
        message_id=_IDEMPOTENCY,
        reply_to="The queue to which the reply is sent. Without it, a refused submission is kept in the queue of refused submissions",
        correlation_id="An id that the reply repeats",
    )
    priority = "The priority of the jobs, from 1 to 5 (the most urgent). A higher value counts as 5; 0 or a missing priority counts as 3"
    # In AMQP, a priority has one byte.
    properties["properties"]["priority"] = {"type": "integer", "minimum": 0, "maximum": 255, "description": priority}
    return properties


def _batch_item_headers() -> Schema:
    """Return the schema of the headers of a submission of batch items, of which only the name of the batch is required."""
    headers = _strings(**_SUBMISSION_HEADERS, **{BATCH_NAME: "The name of the batch"})
    headers["properties"] |= {
        CLOSE: _boolean("The batch is closed after these items. Messages that arrive later are accepted until it has ended"),
        ITEM_RESULTS: _boolean("A message with the result of each of these items is sent to `reply_to`, with the `correlation_id`"),
    }
    return {**headers, "required": [BATCH_NAME]}


def _boolean(description: str) -> Schema:
    """Return the schema of a boolean header. Clients that send only strings send ``true`` or ``false``."""
    return {"type": ["boolean", "string"], "enum": [True, False, "true", "false"], "description": description}


def _strings(**descriptions: str) -> Schema:
    """Return the schema of an object with optional strings. The arguments are their descriptions by name."""
    properties: dict[str, Any] = {name: {"type": "string", "description": text} for name, text in descriptions.items()}
    return {"type": "object", "properties": properties}


def _reply_schemas() -> dict[str, Schema]:
    """Return the schemas of replies and of their parts. ``kind`` and ``apiVersion`` distinguish the replies."""
    # The model, kind and API version of each reply.
    models = {
        "Job": (object_model(JOB), JOB.kind, JOB.api_version()),
        "JobList": (list_model(JOB), f"{JOB.kind}List", JOB.api_version()),
        "Evaluation": (object_model(EVALUATION), EVALUATION.kind, EVALUATION.api_version()),
        "Batch": (object_model(BATCH), BATCH.kind, BATCH.api_version()),
        "BatchSubmission": (BatchSubmission, "BatchSubmission", BATCH.api_version()),
        "Status": (Status, "Status", "v1"),
    }
    schemas = Schemas([(model, "serialization") for model, _, _ in models.values()]).components
    for name, (_, kind, api_version) in models.items():
        properties = {**schemas[name]["properties"], "kind": _constant(kind), "apiVersion": _constant(api_version)}
        required = sorted({*schemas[name].get("required", ()), "kind", "apiVersion"})
        schemas[name] = {**schemas[name], "properties": properties, "required": required}
    return schemas


def _constant(value: str) -> Schema:
    return {"type": "string", "const": value}
