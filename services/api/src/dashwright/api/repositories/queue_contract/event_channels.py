"""Channels and operations of events: an exchange for all of them, and a queue that the spec of a batch names."""

from typing import Final

from dashwright.api.http.schemas import Schema
from dashwright.common.messaging.topology import TOPOLOGY
from dashwright.common.models.batch import BatchState
from dashwright.common.models.notifications import BATCH_SUBJECT, REPOSITORY_SUBJECT, RepositoryEventName

#: Version of the AMQP bindings of AsyncAPI.
BINDING_VERSION: Final = "0.3.0"

# Names of channels.
_BATCHES: Final = "batchEvents"
_BATCHES_ON_EXCHANGE: Final = "batchEventsOnExchange"
_REPOSITORIES: Final = "repositoryEvents"
#: The states of a batch that has ended.
_END_STATES: Final = (BatchState.SUCCESS, BatchState.ERROR, BatchState.CANCELLED)


def channels() -> dict[str, Schema]:
    """Return the channels by name."""
    return {_BATCHES: _batch_events(), _BATCHES_ON_EXCHANGE: _batch_events_on_exchange(), _REPOSITORIES: _repository_events()}


def operations() -> dict[str, Schema]:
    """Return the operations by name."""
    return {
        "announceFinishedBatch": _send("Announce that a batch has ended, to the queue in its spec", _BATCHES, "batchFinished"),
        "announceFinishedBatchOnExchange": _send("Announce that a batch has ended", _BATCHES_ON_EXCHANGE, "batchFinished"),
        "announceRepositoryEvent": _send(
            "Announce the end of a sync, or a change of the quarantine or of the health", _REPOSITORIES, "repositoryEvent"
        ),
    }


def namespace_parameter() -> Schema:
    """Return the parameter of addresses that have the name of an organization."""
    return {
        "namespace": {
            "description": "The organization: `default` is organization 1, and `org-N` is organization N",
            "default": "default",
            "examples": ["default", "org-2"],
        }
    }


def _batch_events() -> Schema:
    return {
        "address": "notify.{namespace}.{queue}",
        "title": "Events about batches",
        "description": (
            "An existing queue that `notify.queue` in the spec of the batch names. A message is persistent, and sent at least once."
        ),
        "parameters": {**namespace_parameter(), "queue": {"description": "The rest of the name of the queue"}},
        "messages": _messages("batchFinished"),
        "bindings": {
            "amqp": {
                "is": "queue",
                "queue": {"durable": True, "exclusive": False, "autoDelete": False, "vhost": "/"},
                "bindingVersion": BINDING_VERSION,
            }
        },
    }


def _batch_events_on_exchange() -> Schema:
    return {
        "address": f"{BATCH_SUBJECT}.finished.{{state}}.{{namespace}}",
        "title": "Events about batches on the exchange",
        "description": (
            "The end of every batch is published to the exchange. Bind a queue to it, such as with the routing key "
            f"`{BATCH_SUBJECT}.finished.error.*`. A message is persistent, and sent at least once."
        ),
        "parameters": {
            **namespace_parameter(),
            "state": {"description": "The state of the batch", "enum": [state.value for state in _END_STATES]},
        },
        "messages": _messages("batchFinished"),
        "bindings": topic_bindings(TOPOLOGY.events),
    }


def _repository_events() -> Schema:
    return {
        "address": f"{REPOSITORY_SUBJECT}.{{event}}.{{namespace}}",
        "title": "Events about repositories",
        "description": (
            "All events about all repositories are published to the exchange. Bind a queue to it, such as with the routing key "
            f"`{REPOSITORY_SUBJECT}.sync.error.*`. A message is persistent, and sent at least once. Messages may overtake each other."
        ),
        "parameters": {
            **namespace_parameter(),
            "event": {"description": "The name of the event, of two words", "enum": [name.value for name in RepositoryEventName]},
        },
        "messages": _messages("repositoryEvent"),
        "bindings": topic_bindings(TOPOLOGY.events),
    }


def topic_bindings(exchange: str) -> Schema:
    """Return the bindings of a channel whose messages are published to a topic exchange."""
    return {
        "amqp": {
            "is": "routingKey",
            "exchange": {"name": exchange, "type": "topic", "durable": True, "autoDelete": False, "vhost": "/"},
            "bindingVersion": BINDING_VERSION,
        }
    }


def _send(summary: str, channel: str, message: str) -> Schema:
    return {
        "action": "send",
        "summary": summary,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }


def _messages(name: str) -> Schema:
    return {name: {"$ref": f"#/components/messages/{name}"}}
