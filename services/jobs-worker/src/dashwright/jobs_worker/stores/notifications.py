"""Store of notifications that batches have ended. Each has one row per receiver, which is claimed for one attempt at a time.

A batch is deleted before its notifications are: a delivery that is recorded after that deletes its own row.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection

_sql = queries.load(__package__, "notifications.sql")

ReceiverType = Literal["queue", "webhook"]

#: Maximum number of due notifications that a claim examines.
_MAX_CANDIDATES: Final = 1000


@dataclass(frozen=True, slots=True)
class Receiver:
    """Receiver of a notification."""

    type: ReceiverType
    target: str  #: Name of the queue, or URL of the webhook.
    host: str  #: Host of the webhook, or name of the queue.
    secret: str | None = None  #: Sealed secret of the signatures, in base64.


@dataclass(frozen=True, slots=True)
class ClaimedNotification:
    """Notification that one process attempts to deliver."""

    id: uuid.UUID  #: Id of the event.
    receiver: ReceiverType
    namespace: str
    name: str  #: Name of the batch.
    target: str
    host: str
    secret: str | None
    event: str  #: The CloudEvent as JSON.
    created_at: datetime  #: When the batch ended.
    attempts: int  #: Number of attempts including this one.


class NotificationOutcome(NamedTuple):
    """Outcome of the notification of one end of a batch."""

    delivered_at: datetime | None  #: When the last receiver accepted it. None if one did not.
    error: str | None  #: Errors of the last attempts that failed.


NO_OUTCOME: Final = NotificationOutcome(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLimits:
    """Limits of the notifications that one process delivers concurrently."""

    total: int
    per_namespace: int
    per_host: int


async def add(
    connection: Connection, event_id: uuid.UUID, *, batch: uuid.UUID, namespace: str, name: str, event: str, receivers: Sequence[Receiver]
) -> None:
    """Add the notification of the end of a batch. Call this in the transaction that finishes the batch."""
    query = _sql.bind(
        "add",
        id=event_id,
        batch=batch,
        namespace=namespace,
        name=name,
        event=event,
        receivers=[receiver.type for receiver in receivers],
        targets=[receiver.target for receiver in receivers],
        hosts=[receiver.host for receiver in receivers],
        secrets=[receiver.secret for receiver in receivers],
    )
    await connection.execute(*query)


async def claim(
    connection: Connection, limits: ClaimLimits, *, by_namespace: Mapping[str, int], by_host: Mapping[str, int], lease: timedelta
) -> Sequence[ClaimedNotification]:
    """Return due notifications, for one attempt each.

    ``by_namespace`` and ``by_host`` count those that this process is delivering. After ``lease``, another process may claim a
    notification whose attempt was not recorded.
    """
    query = _sql.bind(
        "claim",
        full_namespaces=[namespace for namespace, running in by_namespace.items() if running >= limits.per_namespace],
        full_hosts=[host for host, running in by_host.items() if running >= limits.per_host],
        candidates=_MAX_CANDIDATES,
        namespaces=list(by_namespace),
        running_of_namespaces=list(by_namespace.values()),
        hosts=list(by_host),
        running_of_hosts=list(by_host.values()),
        namespace_limit=limits.per_namespace,
        host_limit=limits.per_host,
        limit=limits.total - sum(by_namespace.values()),
        lease=lease,
    )
    return [ClaimedNotification(**row) for row in await connection.fetch(*query)]


async def record_delivery(connection: Connection, claimed: ClaimedNotification) -> None:
    """Record that a receiver accepted a notification. Call this in a transaction."""
    await connection.execute(_sql.record_delivery, claimed.id, claimed.receiver)
    await connection.execute(_sql.delete_if_orphaned, claimed.id, claimed.receiver)
    notify_after_commit(connection, "job")


async def record_failure(connection: Connection, claimed: ClaimedNotification, *, error: str, retry_after: timedelta | None) -> None:
    """Record a failed attempt. Without ``retry_after``, it is the last one. Call this in a transaction."""
    query = _sql.bind(
        "record_failure", id=claimed.id, receiver=claimed.receiver, target=claimed.target, error=error, retry_after=retry_after
    )
    await connection.execute(*query)
    await connection.execute(_sql.delete_if_orphaned, claimed.id, claimed.receiver)
    notify_after_commit(connection, "job")


async def change_receivers(connection: Connection, batch: uuid.UUID, receivers: Sequence[Receiver]) -> None:
    """Have notifications that no receiver accepted yet delivered to changed receivers of the batch."""
    for receiver in receivers:
        query = _sql.bind(
            "change_receiver", batch=batch, receiver=receiver.type, target=receiver.target, host=receiver.host, secret=receiver.secret
        )
        await connection.execute(*query)


async def find_outcome(connection: Connection, batch: uuid.UUID, ended_at: datetime) -> NotificationOutcome:
    """Return the outcome of the notification of the end of a batch at ``ended_at``. Its fields are empty if there is no notification."""
    row = await connection.fetchrow(_sql.find_outcome, batch, ended_at)
    assert row is not None, "an aggregate returns one row"
    return NotificationOutcome(**row)


async def delete_ended(connection: Connection, batch: uuid.UUID) -> None:
    """Delete the notifications of a deleted batch that have no further attempt."""
    await connection.execute(_sql.delete_ended, batch)
