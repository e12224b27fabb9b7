"""Notifications of repositories: their receivers, their events (CloudEvents 1.0), and the outcome of deliveries."""

from enum import StrEnum
from typing import Final, Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel

#: Maximum number of receivers of one repository.
MAX_RECEIVERS: Final = 10

#: Prefix of the types of all events.
TYPE_PREFIX: Final = "io.dashwright."

#: First word, after the prefix, of the types of events about repositories, and first word of their routing keys.
REPOSITORY_SUBJECT: Final = "repository"

#: First word, after the prefix, of the types of events about batches, and first word of their routing keys.
BATCH_SUBJECT: Final = "batch"


class RepositoryEventName(StrEnum):
    """Name of an event about a repository: the type of the CloudEvent without its prefix."""

    SYNC_SUCCESS = "sync.success"  #: A sync ended without errors and warnings.
    SYNC_WARNING = "sync.warning"  #: A sync ended without errors, but with warnings.
    SYNC_ERROR = "sync.error"  #: A sync failed, was cancelled, or ended with errors in some files.
    QUARANTINE_ENTERED = "quarantine.entered"  #: A sync found files that cannot be stored.
    QUARANTINE_LEFT = "quarantine.left"  #: Invalid files were corrected or deleted.
    HEALTH_HEALTHY = "health.healthy"  #: A repository can be read again.
    HEALTH_UNHEALTHY = "health.unhealthy"  #: A repository can no longer be read.

    @property
    def group(self) -> str:
        """First word of the name."""
        return self.value.partition(".")[0]


#: Event, or group of events, that a receiver selects.
EventSelector = Literal[
    "sync",
    "sync.success",
    "sync.warning",
    "sync.error",
    "quarantine",
    "quarantine.entered",
    "quarantine.left",
    "health",
    "health.healthy",
    "health.unhealthy",
]

#: Maximum number of selected events of a receiver.
_MAX_SELECTORS: Final = 10


class NotificationReceiver(ApiModel):
    """Webhook that receives events about a repository as signed requests."""

    name: str = Field(
        pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63, description="The name of the receiver, by which its secret is set"
    )
    url: str = Field(min_length=1, max_length=2000, description="The URL that receives the events by POST")
    events: list[EventSelector] | None = Field(
        default=None,
        min_length=1,
        max_length=_MAX_SELECTORS,
        description="The events to send: names such as sync.error, or groups such as sync; all if it is missing",
    )
    encrypted_secret: str | None = Field(
        default=None, description="The secret of the signatures, encrypted: base64. The server sets it and does not return it"
    )

    def is_notified_of(self, name: RepositoryEventName) -> bool:
        """Return whether the receiver gets events of a name."""
        return self.events is None or name.value in self.events or name.group in self.events


class NotificationStatus(ApiModel):
    """Outcome of the last attempt to notify a receiver."""

    name: str = Field(description="The name of the receiver")
    event: str = Field(description="The id of the event of the last attempt")
    attempted: int = Field(description="When the last attempt ended, in Unix milliseconds")
    delivered: int | None = Field(default=None, description="When the receiver last accepted an event, in Unix milliseconds")
    error: str | None = Field(default=None, description="Why the last attempt failed")


class EventCounts(ApiModel):
    """Number of objects and files that a sync handled, of all kinds together."""

    create: int = Field(default=0, description="The number of created objects")
    update: int = Field(default=0, description="The number of updated objects")
    delete: int = Field(default=0, description="The number of deleted objects")
    noop: int = Field(default=0, description="The number of objects without changes")
    ignored: int = Field(default=0, description="The number of files without a resource")
    error: int = Field(default=0, description="The number of errors")
    warning: int = Field(default=0, description="The number of warnings")


class EventFile(ApiModel):
    """File that entered or left the quarantine."""

    path: str = Field(description="The path of the file in the repository")
    message: str | None = Field(default=None, description="Why the file cannot be stored")


class RepositoryEventData(ApiModel):
    """Data of an event about a repository."""

    repository: str = Field(description="The name of the repository")
    namespace: str = Field(description="The organization: default or org-N")
    uid: str = Field(description="The uid of the repository")
    ref: str | None = Field(default=None, description="The branch of the repository; missing for its default branch, and for a directory")
    commit: str | None = Field(default=None, description="The commit that is stored after the event")
    state: Literal["success", "warning", "error", "entered", "left", "healthy", "unhealthy"] = Field(
        description="The last word of the type of the event"
    )
    message: str | None = Field(default=None, description="The result of the sync, or why the repository cannot be read")
    job: str | None = Field(default=None, description="The name of the job of the sync")
    counts: EventCounts | None = Field(default=None, description="What the sync did")
    errors: list[str] | None = Field(default=None, description="The first errors of the sync")
    warnings: list[str] | None = Field(default=None, description="The first warnings of the sync")
    files: list[EventFile] | None = Field(default=None, description="The first files that entered or left the quarantine")
    file_count: int | None = Field(default=None, description="The number of files that entered or left the quarantine")


class RepositoryEvent(ApiModel):
    """Event about a repository: a CloudEvent 1.0 in the structured mode."""

    specversion: Literal["1.0"] = "1.0"
    id: str = Field(description="The id of the event, which is the same in each repetition and for all receivers")
    source: str = Field(description="The path of the repository in the API")
    type: str = Field(description="io.dashwright.repository. and the name of the event")
    subject: str = Field(description="The name of the repository")
    time: str = Field(description="When the event happened, as RFC 3339")
    datacontenttype: Literal["application/json"] = "application/json"
    data: RepositoryEventData = Field(description="The repository and what happened")
