"""Delivery of the notifications in the outbox. Each notification has one row per receiver, which is claimed for one attempt at a time.

A batch may be deleted while its notifications are delivered. Recording the outcome of a delivery then deletes its row. The row of a
notification of a repository is deleted after the outcome of its last attempt was written to the status of the repository.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from dashwright.common.database import queries
from dashwright.common.database.notifier import notify_after_commit
from dashwright.common.database.pool import Connection
from dashwright.common.stores import notifications as outbox
from dashwright.common.stores.notifications import Notification, Receiver, ReceiverType, SubjectKind

_sql = queries.load(__package__, "notifications.sql")

#: Maximum number of due notifications that a claim examines.
_MAX_CANDIDATES: Final = 1000


@dataclass(frozen=True, slots=True)
class ClaimedNotification:
    """Notification that one process attempts to deliver."""

    id: uuid.UUID  #: Id of the event.
    receiver: ReceiverType
    subject_kind: SubjectKind
    namespace: str
    name: str  #: Name of the batch or repository.
    target: str  #: As in ``Receiver``.
    host: str
    secret: str | None
    event: str  #: The CloudEvent as JSON.
    created_at: datetime  #: When the event happened.
    attempts: int  #: Number of attempts including this one.
    spec: str | None  #: Spec of the repository whose webhook is notified, unless it is deleted.


class NotificationOutcome(NamedTuple):
    """Outcome of the notification that a batch has ended. A batch ends again after a retry."""

    delivered_at: datetime | None  #: When the last receiver accepted it; None if a receiver has not accepted it.
    error: str | None  #: Errors of the last attempts that failed.


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """Outcome of an attempt to notify a receiver of a repository."""

    id: uuid.UUID  #: Id of the event.
    subject: uuid.UUID  #: Uid of the repository.
    name: str  #: Name of the repository.
    target: str  #: Name of the receiver.
    attempted_at: datetime
    delivered_at: datetime | None  #: None if the receiver did not accept the event.
    error: str | None  #: Why the receiver did not accept the event; None if it did.


@dataclass(frozen=True, slots=True)
class ReceiverBacklog:
    """Notifications that are not delivered yet, to receivers of one type."""

    receiver: ReceiverType
    waiting: int
    oldest_seconds: float  #: Time since the oldest event.


NO_OUTCOME: Final = NotificationOutcome(None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimLimits:
    """Limits of the notifications that one process delivers concurrently."""

    total: int
    per_namespace: int  #: Does not apply to the exchange.
    per_host: int


async def add(connection: Connection, notification: Notification) -> None:
    """Store the notification that a batch has ended, and delete the notifications of its earlier ends, before retries.

    Call this in the transaction that ends the batch.
    """
    await connection.execute(_sql.delete_earlier, notification.subject)
    await outbox.add(connection, notification)


async def claim(
    connection: Connection, limits: ClaimLimits, *, running: Collection[ClaimedNotification], lease: timedelta
) -> Sequence[ClaimedNotification]:
    """Return due notifications, for one attempt each.

    ``running`` are those that this process is delivering. After ``lease``, another process may claim a notification whose attempt was
    not recorded.
    """
    by_namespace = Counter(notification.namespace for notification in running if notification.receiver != "exchange")
    by_host = Counter(notification.host for notification in running)
    query = _sql.bind(
        "claim",
        full_namespaces=[namespace for namespace, count in by_namespace.items() if count >= limits.per_namespace],
        full_hosts=[host for host, count in by_host.items() if count >= limits.per_host],
        candidates=_MAX_CANDIDATES,
        namespaces=list(by_namespace),
        running_of_namespaces=list(by_namespace.values()),
        hosts=list(by_host),
        running_of_hosts=list(by_host.values()),
        namespace_limit=limits.per_namespace,
        host_limit=limits.per_host,
        limit=limits.total - len(running),
        lease=lease,
    )
    return [ClaimedNotification(**row) for row in await connection.fetch(*query)]


async def record_delivery(connection: Connection, notification: ClaimedNotification) -> None:
    """Record that a receiver accepted a notification. Call this in a transaction."""
    await connection.execute(_sql.record_delivery, notification.id, notification.receiver, notification.target)
    await connection.execute(_sql.delete_if_unneeded, notification.id, notification.receiver, notification.target)
    # The controller of batches writes the outcome into the status of the batch.
    notify_after_commit(connection, "job")


async def record_failure(connection: Connection, notification: ClaimedNotification, *, error: str, retry_after: timedelta | None) -> None:
    """Record a failed attempt. Without ``retry_after``, it is the last one. Call this in a transaction."""
    query = _sql.bind(
        "record_failure",
        id=notification.id,
        receiver=notification.receiver,
        target=notification.target,
        attempts=notification.attempts,
        error=error,
        retry_after=retry_after,
    )
    await connection.execute(*query)
    await connection.execute(_sql.delete_if_unneeded, notification.id, notification.receiver, notification.target)
    notify_after_commit(connection, "job")


async def change_receivers(connection: Connection, batch: uuid.UUID, receivers: Sequence[Receiver]) -> None:
    """Change the receivers of the notifications of a batch that are not delivered yet."""
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
    await connection.execute(_sql.delete_earlier, batch)


async def list_unreported_namespaces(connection: Connection, *, limit: int) -> Sequence[str]:
    """Return namespaces with attempts whose outcome is not in the status of a repository yet."""
    return [row["namespace"] for row in await connection.fetch(_sql.list_unreported_namespaces, limit)]


async def take_outcomes(connection: Connection, namespace: str, *, limit: int) -> Sequence[AttemptOutcome]:
    """Return outcomes that are not in the status of a repository yet, the earliest first. Write them in the same transaction."""
    return [AttemptOutcome(**row) for row in await connection.fetch(_sql.take_outcomes, namespace, limit)]


async def measure_backlog(connection: Connection) -> Sequence[ReceiverBacklog]:
    """Return the numbers of waiting notifications of the whole installation by type of receiver, without types for which none waits."""
    return [ReceiverBacklog(**row) for row in await connection.fetch(_sql.measure_backlog)]


async def delete_surplus(connection: Connection, *, keep: int, limit: int) -> int:
    """Delete the oldest waiting notifications of organizations that have more than ``keep``. Return their number."""
    # The result of a statement is a text such as ``DELETE 5``.
    return int((await connection.execute(_sql.delete_surplus, keep, limit)).rpartition(" ")[2])
