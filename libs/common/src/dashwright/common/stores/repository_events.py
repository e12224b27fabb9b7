"""Events about repositories, stored in the transaction of the change, for the webhooks of the spec and for the exchange."""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from dashwright.common.database.pool import Connection
from dashwright.common.kinds.registry import REPOSITORY
from dashwright.common.kinds.repository import host_of
from dashwright.common.models.notifications import (
    REPOSITORY_SUBJECT,
    TYPE_PREFIX,
    EventCounts,
    EventFile,
    RepositoryEvent,
    RepositoryEventData,
    RepositoryEventName,
)
from dashwright.common.models.provisioning import JobStatus, RepositorySpec, RepositoryType, State, SyncStatus
from dashwright.common.stores import jobs, notifications
from dashwright.common.stores.job_records import StoredJob
from dashwright.common.stores.notifications import Notification, Receiver, exchange_receiver
from dashwright.common.stores.repositories import QuarantineChange
from dashwright.common.stores.resources import StoredObject

#: Maximum number of files in an event about the quarantine.
MAX_FILES: Final = 100

#: Maximum number of characters of a message in an event.
_MAX_MESSAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Announcement:
    """Event about a repository, which ``announce`` stores for its receivers."""

    name: RepositoryEventName
    data: RepositoryEventData
    milliseconds: int  #: Unix milliseconds.


async def announce(connection: Connection, repository: StoredObject, announcements: Iterable[Announcement]) -> None:
    """Store events for the receivers of a repository. Call this in the transaction of the change that they report."""
    for announcement in announcements:
        event_id = uuid.uuid4()
        event = RepositoryEvent(
            id=str(event_id),
            source=f"/apis/{REPOSITORY.api_version()}/namespaces/{repository.namespace}/{REPOSITORY.plural}/{repository.name}",
            type=f"{TYPE_PREFIX}{REPOSITORY_SUBJECT}.{announcement.name}",
            subject=repository.name,
            time=datetime.fromtimestamp(announcement.milliseconds / 1000, UTC).isoformat(timespec="milliseconds"),
            data=announcement.data,
        )
        await notifications.add(
            connection,
            Notification(
                id=event_id,
                subject_kind="repository",
                subject=repository.uid,
                namespace=repository.namespace,
                name=repository.name,
                event=event.to_json().decode(),
                receivers=_receivers(repository, announcement.name),
            ),
        )


def sync_announcements(repository: StoredObject, job: StoredJob, status: JobStatus, sync: SyncStatus) -> Sequence[Announcement]:
    """Return the announcement of an ended sync, or none for a periodic sync of a local directory that changed nothing.

    A local directory is synced in each interval, because it has no commit by which a check could detect changes.
    """
    spec = RepositorySpec.model_validate_json(repository.spec)
    counts = _counts(status)
    name = RepositoryEventName.SYNC_ERROR
    if status.state is State.SUCCESS:
        name = RepositoryEventName.SYNC_WARNING if counts.warning else RepositoryEventName.SYNC_SUCCESS
    is_periodic = spec.type is RepositoryType.LOCAL and jobs.is_scheduled(job)
    if is_periodic and name is not RepositoryEventName.SYNC_ERROR and not (counts.create or counts.update or counts.delete):
        return ()
    data = _data(repository, spec, name, commit=sync.last_ref).model_copy(
        update={
            "job": job.name,
            "message": _shortened(status.message or status.state.value),
            "counts": counts,
            "errors": [_shortened(error) for error in status.errors or ()] or None,
            "warnings": [_shortened(warning) for kind in status.summary or () for warning in kind.warnings or ()] or None,
        }
    )
    return [Announcement(name, data, status.finished or 0)]


def quarantine_announcements(
    repository: StoredObject, *, change: QuarantineChange, commit: str | None, milliseconds: int
) -> Sequence[Announcement]:
    """Return at most two announcements: one for all files that entered the quarantine, and one for all that left it.

    ``milliseconds`` is the Unix time.
    """
    spec = RepositorySpec.model_validate_json(repository.spec)
    changes = ((RepositoryEventName.QUARANTINE_ENTERED, change.entered), (RepositoryEventName.QUARANTINE_LEFT, change.left))
    return [
        Announcement(
            name,
            _data(repository, spec, name, commit=commit).model_copy(
                update={
                    "files": [EventFile(path=file.path, message=_shortened(file.message) or None) for file in files[:MAX_FILES]],
                    "file_count": len(files),
                }
            ),
            milliseconds,
        )
        for name, files in changes
        if files
    ]


def health_announcements(
    repository: StoredObject, *, was_healthy: bool | None, healthy: bool, message: str | None, commit: str | None, milliseconds: int
) -> Sequence[Announcement]:
    """Return the announcement of a changed health, if any. ``was_healthy`` is None before the first check."""
    # A repository that was never checked counts as healthy.
    had_been_healthy = was_healthy is not False
    if healthy == had_been_healthy:
        return ()
    name = RepositoryEventName.HEALTH_HEALTHY if healthy else RepositoryEventName.HEALTH_UNHEALTHY
    data = _data(repository, RepositorySpec.model_validate_json(repository.spec), name, commit=commit)
    return [Announcement(name, data.model_copy(update={"message": _shortened(message) or None}), milliseconds)]


def _data(repository: StoredObject, spec: RepositorySpec, name: RepositoryEventName, *, commit: str | None) -> RepositoryEventData:
    """Return the data that all events about a repository have."""
    branch = spec.remote.branch if spec.remote is not None else ""
    return RepositoryEventData.model_validate(
        {
            "repository": repository.name,
            "namespace": repository.namespace,
            "uid": str(repository.uid),
            "ref": branch or None,
            "commit": commit or None,
            "state": name.value.rpartition(".")[2],
        }
    )


def _receivers(repository: StoredObject, name: RepositoryEventName) -> Sequence[Receiver]:
    """Return the exchange of events, and the webhooks of the repository that are notified of an event of this name."""
    spec = RepositorySpec.model_validate_json(repository.spec)
    exchange = exchange_receiver(f"{REPOSITORY_SUBJECT}.{name}", repository.namespace)
    webhooks = [item for item in spec.notifications or () if item.is_notified_of(name)]
    return [exchange, *(Receiver("webhook", item.name, host_of(item.url)) for item in webhooks)]


def _counts(status: JobStatus) -> EventCounts:
    """Return the counts of a job, each summed over all kinds of objects."""
    kinds = status.summary or ()
    return EventCounts(**{member: sum(getattr(kind, member) or 0 for kind in kinds) for member in EventCounts.model_fields})


def _shortened(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 1]}…"
