"""The AsyncAPI document, checked without other programs. ``tests/oracles`` has the check by AsyncAPI's own parser."""

import re
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import orjson
import pytest
from tests.unit.api.gateway_routes import nodes

from dashwright.api.domain import submissions
from dashwright.api.domain.batch_items import CheckedItem, RefusedItem, read_item
from dashwright.api.domain.submissions import EvaluationSubmission, JobSubmission, read_submission
from dashwright.api.repositories.queue_batches import MAX_ITEMS, is_batch
from dashwright.api.repositories.queue_contract.document import document
from dashwright.common.messaging.topology import TOPOLOGY

_PAGE: Final = Path(__file__).parents[3] / "docs/reference/queue.md"

#: Exchanges and queues that programs outside the product do not use, and why.
_INTERNAL: Final = {
    "dashwright.dead": "the exchange by which services move refused submissions to the queue of the same name",
    "dashwright.dead.work": "messages about waiting work that no worker could handle",
    "dashwright.expressions.evaluate": "messages that wake workers for evaluations",
    "dashwright.expressions.pictures": "calls of the gateway, which are signed",
    "dashwright.expressions.query": "calls of the gateway, which are signed",
    "dashwright.jobs.probe": "calls of the gateway, which are signed",
    "dashwright.jobs.repositories": "calls of the gateway, which are signed",
    "dashwright.jobs.submit": "the queue from which the gateway consumes submissions; clients publish to the exchange",
    "dashwright.jobs.work": "messages that wake workers for jobs",
    "dashwright.retry.1s": "a delay before the next attempt",
    "dashwright.retry.5s": "a delay before the next attempt",
    "dashwright.retry.30s": "a delay before the next attempt",
    "dashwright.retry.300s": "a delay before the next attempt",
}


@pytest.fixture(scope="module")
def described_document() -> Any:
    """Return the document as clients read it, after a conversion to JSON."""
    return orjson.loads(orjson.dumps(document(version="1")))


def target_of(described_document: Any, reference: str) -> Any:
    """Return the target of a reference, which must exist."""
    assert reference.startswith("#/"), reference
    target = described_document
    for name in reference[2:].split("/"):
        target = target[name]
    return target_of(described_document, target["$ref"]) if "$ref" in target else target


def validator(described_document: Any, schema: Any) -> jsonschema_rs.Draft7Validator:
    """Return a validator of a schema of the document."""
    return jsonschema_rs.Draft7Validator({"allOf": [schema], "components": described_document["components"]})


def bindings(described_document: Any, part: str) -> dict[str, Any]:
    """Return the exchanges or queues that the document names, by name. ``part`` is ``exchange`` or ``queue``."""
    parts = [channel["bindings"]["amqp"].get(part, {}) for channel in described_document["channels"].values()]
    return {item["name"]: item for item in parts if "name" in item}


def test_every_reference_has_a_target(described_document: Any) -> None:
    """No reference leaves the document or misses its target, and every component is used."""
    references = {node["$ref"] for _, node in nodes(described_document) if isinstance(node.get("$ref"), str)}
    assert all(target_of(described_document, reference) is not None for reference in references)
    components = {f"#/components/{group}/{name}" for group, members in described_document["components"].items() for name in members}
    assert components <= references


def test_references_have_no_other_validation_keywords(described_document: Any) -> None:
    """An object with a reference has only descriptions and defaults as other keywords.

    JSON Schema of draft 7 ignores all keywords next to a reference, so a keyword of validation would have no effect.
    """
    assert {key for _, node in nodes(described_document) if isinstance(node.get("$ref"), str) for key in node} <= {
        "$ref",
        "description",
        "default",
    }


def test_every_public_exchange_and_queue_is_described(described_document: Any) -> None:
    """Each exchange and queue of the topology is described as it is declared, or is internal.

    The page in the docs names exactly the described exchanges and queues.
    """
    exchanges, queues = bindings(described_document, "exchange"), bindings(described_document, "queue")
    assert set(exchanges) == {exchange.name for exchange in TOPOLOGY.exchanges} - set(_INTERNAL)
    # Of the two things that are named ``dashwright.dead``, only the exchange is internal.
    assert set(queues) == {queue.name for queue in TOPOLOGY.queues} - (set(_INTERNAL) - {TOPOLOGY.dead})
    for exchange in TOPOLOGY.exchanges:
        if exchange.name in exchanges:
            assert exchanges[exchange.name]["type"] == exchange.type
            assert exchanges[exchange.name]["durable"] is True
    assert all(queue["durable"] and not queue["exclusive"] and not queue["autoDelete"] for queue in queues.values())
    assert set(re.findall(r"`(dashwright\.[a-z.]+)`", _PAGE.read_text())) == {*exchanges, *queues}


def test_submissions_are_routed_to_the_gateway(described_document: Any) -> None:
    """The described routing key is bound to the queue of submissions."""
    channels = [
        channel
        for channel in described_document["channels"].values()
        if channel["bindings"]["amqp"].get("exchange", {}).get("name") == TOPOLOGY.jobs
    ]
    keys = {binding.key for binding in TOPOLOGY.bindings if (binding.exchange, binding.queue) == (TOPOLOGY.jobs, TOPOLOGY.submit)}
    assert keys == {"submit.#"}
    # The channels of submissions and of items of batches.
    assert len(channels) == 2
    for channel in channels:
        assert channel["address"] == "submit.{namespace}"
        assert set(channel["parameters"]) == {"namespace"}


def test_limits_are_those_of_the_code(described_document: Any) -> None:
    """The limits in fields for programs, and in descriptions for readers, are those that the gateway enforces."""
    channel = described_document["channels"]["submissions"]
    assert channel["x-limits"] == {"bytes": submissions.MAX_BODY_BYTES, "jobs": submissions.MAX_JOBS}
    assert described_document["channels"]["batchItems"]["x-limits"] == {"bytes": submissions.MAX_BODY_BYTES, "items": MAX_ITEMS}
    # ``MAX_BODY_BYTES`` is 2 MiB.
    assert "2,097,152 bytes" in channel["description"]
    assert described_document["components"]["schemas"]["SubmittedJobSpecs"]["maxItems"] == submissions.MAX_JOBS


def test_every_operation_uses_messages_of_its_channels(described_document: Any) -> None:
    """Every message of the channels is used. An operation that receives messages has two replies: the second one is a Status."""
    used_messages = set()
    for operation in described_document["operations"].values():
        replies = [item["$ref"] for item in operation.get("reply", {}).get("messages", ())]
        used_messages |= {item["$ref"] for item in operation["messages"]} | set(replies)
        if operation["action"] == "receive":
            _, refusal = replies
            assert target_of(described_document, refusal)["title"] == "Status"
    assert used_messages == {
        f"#/channels/{name}/messages/{message}"
        for name, channel in described_document["channels"].items()
        for message in channel["messages"]
    }


def test_examples_of_submissions_are_accepted(described_document: Any) -> None:
    """Every example of a submission matches the schema of its own message only, and the gateway accepts it."""
    names = described_document["channels"]["submissions"]["messages"]
    messages = {name: described_document["components"]["messages"][name] for name in names}
    validators = {name: validator(described_document, message["payload"]) for name, message in messages.items()}
    for name, message in messages.items():
        assert message["examples"]
        for example in message["examples"]:
            assert [other for other, check in validators.items() if check.is_valid(example["payload"])] == [name]
            validator(described_document, message["headers"]).validate(example.get("headers", {}))
            if name == "batch":
                assert is_batch(example["payload"])
                continue
            accepted = read_submission(orjson.dumps(example["payload"]), "default")
            assert isinstance(accepted, EvaluationSubmission if name == "evaluation" else JobSubmission)
            assert getattr(accepted, "is_list", False) is (name == "jobSpecs")


def test_examples_of_items_are_accepted(described_document: Any) -> None:
    """Every example of items matches its schema and that of its headers, and the gateway accepts each item."""
    for name in described_document["channels"]["batchItems"]["messages"]:
        message = described_document["components"]["messages"][name]
        assert message["examples"]
        for example in message["examples"]:
            validator(described_document, message["payload"]).validate(example["payload"])
            validator(described_document, message["headers"]).validate(example["headers"])
            items = example["payload"] if name == "batchItems" else [example["payload"]]
            assert all(isinstance(read_item(item), CheckedItem) for item in items)


@pytest.mark.parametrize(
    "item",
    [
        pytest.param({}, id="no spec"),
        pytest.param({"spec": {}}, id="empty spec"),
        pytest.param({"id": "", "spec": {"repository": "r", "sync": {}}}, id="empty id"),
        pytest.param({"id": "a" * 201, "spec": {"repository": "r", "sync": {}}}, id="long id"),
        pytest.param({"ids": "a", "spec": {"repository": "r", "sync": {}}}, id="unknown member"),
        pytest.param({"kind": "Batch", "spec": {}}, id="unknown kind"),
        pytest.param({"kind": "Evaluation", "spec": {"repository": "r", "sync": {}}}, id="evaluation with the spec of a job"),
        pytest.param({"spec": {"panel": {"type": "stat"}}}, id="job with the spec of an evaluation"),
    ],
)
def test_a_refused_item_matches_no_schema(described_document: Any, item: Any) -> None:
    """An item that the gateway refuses because of its shape does not match the published schema."""
    assert isinstance(read_item(item), RefusedItem)
    assert not validator(described_document, described_document["components"]["messages"]["batchItem"]["payload"]).is_valid(item)


def test_examples_of_replies_match_one_schema_each(described_document: Any) -> None:
    """Every example of a reply matches only the schema of its own message, so that clients can distinguish replies by schema."""
    messages = {name: described_document["components"]["messages"][name] for name in described_document["channels"]["replies"]["messages"]}
    validators = {name: validator(described_document, message["payload"]) for name, message in messages.items()}
    for name, message in messages.items():
        for example in message["examples"]:
            assert [other for other, check in validators.items() if check.is_valid(example["payload"])] == [name]
