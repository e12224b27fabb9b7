"""Chores of the outbox: outcomes of deliveries in the status of repositories, and bound and metrics of waiting notifications."""

from collections import defaultdict
from contextlib import suppress
from datetime import datetime
from typing import Final, get_args

import structlog

from dashwright.common.database.pool import Connection, Database
from dashwright.common.errors import NotFound
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.models.notifications import NotificationStatus
from dashwright.common.models.provisioning import RepositorySpec, RepositoryStatus
from dashwright.common.observability import metrics
from dashwright.common.stores import resources
from dashwright.common.stores.notifications import ReceiverType
from dashwright.common.stores.resources import StoredObject
from dashwright.jobs_worker.stores import notifications
from dashwright.jobs_worker.stores.notifications import AttemptOutcome

log = structlog.get_logger()

_MAX_NAMESPACES: Final = 100
#: Maximum number of outcomes that one transaction writes, since it holds the lock of objects.
_MAX_OUTCOMES: Final = 200
_MAX_DELETED: Final = 1000


class NotificationOutcomes:
    """Writer of outcomes. It writes them separately from the deliveries, which do not wait for the lock of objects."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run_once(self) -> None:
        """Write the outcomes of the attempts since the last run into the status of their repositories."""
        async with self._database.connection() as connection:
            namespaces = await notifications.list_unreported_namespaces(connection, limit=_MAX_NAMESPACES)
        for namespace in namespaces:
            async with self._database.transaction() as connection:
                await resources.lock(connection, namespace)
                outcomes: defaultdict[str, list[AttemptOutcome]] = defaultdict(list)
                for outcome in await notifications.take_outcomes(connection, namespace, limit=_MAX_OUTCOMES):
                    outcomes[outcome.name].append(outcome)
                for name, outcomes_of_repository in outcomes.items():
                    await _write_status(connection, namespace, name, outcomes_of_repository)


class NotificationBound:
    """Bound on the waiting notifications of each organization: all but the newest ``keep`` are deleted."""

    def __init__(self, database: Database, *, keep: int) -> None:
        self._database = database
        self._keep = keep

    async def run_once(self) -> None:
        """Delete the surplus notifications, in transactions of bounded length."""
        count = _MAX_DELETED
        while count >= _MAX_DELETED:
            async with self._database.transaction() as connection:
                count = await notifications.delete_surplus(connection, keep=self._keep, limit=_MAX_DELETED)
            if count:
                metrics.notifications_dropped.inc(count)
                log.warning("notifications_dropped", count=count)


class NotificationBacklog:
    """Metrics of the waiting notifications. Each jobs worker has the numbers of the whole installation."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run_once(self) -> None:
        """Set the metrics, to 0 for receivers for which nothing waits."""
        async with self._database.connection() as connection:
            backlogs = {backlog.receiver: backlog for backlog in await notifications.measure_backlog(connection)}
        for receiver in get_args(ReceiverType):
            backlog = backlogs.get(receiver)
            metrics.notifications_waiting.labels(receiver).set(backlog.waiting if backlog else 0)
            metrics.notifications_oldest_seconds.labels(receiver).set(backlog.oldest_seconds if backlog else 0)


async def _write_status(connection: Connection, namespace: str, name: str, outcomes: list[AttemptOutcome]) -> None:
    """Write outcomes, the earliest first, into the status of a repository. Receivers that its spec no longer has are removed."""

    def change(status: RepositoryStatus, repository: StoredObject) -> None:
        statuses = {item.name: item for item in status.notifications or ()}
        for outcome in outcomes:
            # Another repository may have been created with the name of a deleted one.
            if outcome.subject == repository.uid:
                statuses[outcome.target] = _status_of(outcome, statuses.get(outcome.target))
        receivers = RepositorySpec.model_validate_json(repository.spec).notifications or ()
        status.notifications = [statuses[receiver.name] for receiver in receivers if receiver.name in statuses] or None

    with suppress(NotFound):  # The repository was deleted, and its status with it.
        await resources.update_status(connection, REPOSITORY, namespace, name, RepositoryStatus, change)


def _status_of(outcome: AttemptOutcome, previous: NotificationStatus | None) -> NotificationStatus:
    """Return the status of a receiver after an attempt. After a failure, it still has the time of the last delivery."""
    delivered = None if previous is None else previous.delivered
    return NotificationStatus(
        name=outcome.target,
        event=str(outcome.id),
        attempted=_milliseconds(outcome.attempted_at),
        delivered=delivered if outcome.delivered_at is None else _milliseconds(outcome.delivered_at),
        error=outcome.error,
    )


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)
