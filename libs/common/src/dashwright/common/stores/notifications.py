"""Outbox of notifications. Each has one row per receiver, which jobs workers deliver at least once."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dashwright.common.database import queries
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "notifications.sql")

ReceiverType = Literal["queue", "webhook", "exchange"]
SubjectKind = Literal["batch", "repository"]


@dataclass(frozen=True, slots=True)
class Receiver:
    """Receiver of a notification."""

    type: ReceiverType
    #: Name of the queue, URL of the webhook of a batch, name of the receiver of a repository, or routing key of the exchange.
    target: str
    host: str  #: Key by which slow deliveries are limited: the host of the webhook, the queue, or the namespace in the exchange.
    secret: str | None = None  #: Sealed secret of the signatures, in base64.


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """Event to deliver to receivers."""

    id: uuid.UUID  #: Id of the event.
    subject_kind: SubjectKind
    subject: uuid.UUID  #: Uid of the batch or repository.
    namespace: str
    name: str  #: Name of the batch or repository.
    event: str  #: The CloudEvent as JSON.
    receivers: Sequence[Receiver]


def exchange_receiver(event: str, namespace: str) -> Receiver:
    """Return the exchange of events as the receiver of an event. ``event`` is the first words of the routing key."""
    return Receiver("exchange", f"{event}.{namespace}", f"exchange/{namespace}")


async def add(connection: Connection, notification: Notification) -> None:
    """Store a notification. Call this in the transaction of the change that the event reports."""
    query = _sql.bind(
        "add",
        id=notification.id,
        subject_kind=notification.subject_kind,
        subject=notification.subject,
        namespace=notification.namespace,
        name=notification.name,
        event=notification.event,
        receivers=[receiver.type for receiver in notification.receivers],
        targets=[receiver.target for receiver in notification.receivers],
        hosts=[receiver.host for receiver in notification.receivers],
        secrets=[receiver.secret for receiver in notification.receivers],
    )
    await connection.execute(*query)
