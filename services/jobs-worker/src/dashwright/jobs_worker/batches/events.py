"""Events about batches: CloudEvents 1.0 in the structured mode."""

import uuid
from collections.abc import Sequence
from typing import Final

import orjson

from dashwright.common.kinds.registry import BATCH
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.batch import BatchSpec, BatchStatus
from dashwright.common.models.notifications import BATCH_SUBJECT, TYPE_PREFIX
from dashwright.common.stores.batches import StoredBatch
from dashwright.common.stores.notifications import Receiver, exchange_receiver

_FINISHED: Final = f"{BATCH_SUBJECT}.finished"


def finished_event(batch: StoredBatch, status: BatchStatus, event_id: uuid.UUID) -> str:
    """Return the event that a finished batch has ended, as JSON."""
    assert batch.finished_at is not None, "the batch has ended"
    event = {
        "specversion": "1.0",
        "id": str(event_id),
        "source": f"/apis/{BATCH.api_version()}/namespaces/{batch.namespace}/{BATCH.plural}/{batch.name}",
        "type": f"{TYPE_PREFIX}{_FINISHED}",
        "subject": batch.name,
        "time": batch.finished_at.isoformat(),
        "datacontenttype": "application/json",
        "data": {
            "name": batch.name,
            "namespace": batch.namespace,
            "uid": str(batch.uid),
            "status": orjson.loads(status.to_json()),
        },
    }
    return orjson.dumps(event).decode()


def receivers_of_end(batch: StoredBatch, status: BatchStatus, spec: BatchSpec) -> Sequence[Receiver]:
    """Return the receivers of the event that a batch has ended: the exchange, whose routing key has the state, and those in the spec."""
    return [exchange_receiver(f"{_FINISHED}.{status.state.value}", batch.namespace), *receivers_of(spec)]


def receivers_of(spec: BatchSpec) -> Sequence[Receiver]:
    """Return the receivers of events that the spec of a batch names."""
    receivers: list[Receiver] = []
    if spec.notify is not None and spec.notify.queue is not None:
        # A queue has no host. Its name is the key by which slow deliveries are limited.
        receivers.append(Receiver("queue", spec.notify.queue, spec.notify.queue))
    if spec.notify is not None and (webhook := spec.notify.webhook) is not None:
        receivers.append(Receiver("webhook", webhook.url, host_of(webhook.url), webhook.encrypted_secret))
    return receivers
