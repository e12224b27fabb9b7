"""Repositories and jobs: section 2.5 of the specification (``provisioning.grafana.app/v0alpha1``). Times are Unix milliseconds."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import AliasChoices, Field, model_validator

from dashwright.common.models.shape import Shape

Integer64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Integer32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class RepositoryType(StrEnum):
    GITHOST = "githost"
    LOCAL = "local"


class Workflow(StrEnum):
    BRANCH = "branch"
    WRITE = "write"


class SyncTarget(StrEnum):
    """``folder``: into the repository's own folder; ``instance``: into the global context, one repository at most."""

    FOLDER = "folder"
    INSTANCE = "instance"


class State(StrEnum):
    """The life of a job, and of a repository's sync."""

    PENDING = "pending"
    WORKING = "working"
    SUCCESS = "success"
    ERROR = "error"


class SyncState(StrEnum):
    """The state of a repository's sync: that of its job, or ``NEVER`` before the first one."""

    NEVER = ""
    PENDING = State.PENDING.value
    WORKING = State.WORKING.value
    SUCCESS = State.SUCCESS.value
    ERROR = State.ERROR.value


class Action(StrEnum):
    EXPORT = "export"
    PR = "pr"
    SYNC = "sync"


class LocalRepositoryConfig(Shape):
    path: str = ""


class GitHostRepositoryConfig(Shape):
    """``path`` is the directory of the branch that the repository is, without slashes at its ends; None for all of it."""

    url: str | None = None
    branch: str = ""
    path: str | None = None
    token: str | None = None
    encrypted_token: str | None = None
    generate_dashboard_previews: bool | None = None


class SyncOptions(Shape):
    enabled: bool = False
    target: Annotated[SyncTarget, Field(strict=False)]
    interval_seconds: Integer64 | None = None


class RepositorySpec(Shape):
    """``github`` is another word for ``githost``, as the type and as the name of the block."""

    title: str
    description: str | None = None
    workflows: list[Annotated[Workflow, Field(strict=False)]]
    sync: SyncOptions
    type: Annotated[RepositoryType, Field(strict=False)]
    local: LocalRepositoryConfig | None = None
    githost: GitHostRepositoryConfig | None = Field(default=None, validation_alias=AliasChoices("githost", "github"))

    @model_validator(mode="before")
    @classmethod
    def _accept_other_word(cls, value: Any) -> Any:
        return {**value, "type": RepositoryType.GITHOST.value} if isinstance(value, dict) and value.get("type") == "github" else value


class HealthStatus(Shape):
    healthy: bool = False
    checked: int | None = None
    message: list[str] | None = None


class SyncStatus(Shape):
    """``job`` is the uid of the job."""

    state: Annotated[SyncState, Field(strict=False)] = SyncState.NEVER
    job: str | None = None
    started: int | None = None
    finished: int | None = None
    scheduled: int | None = None
    message: list[str] | None = None
    last_ref: str | None = None
    incremental: bool | None = None
    held: bool | None = None


class ResourceCount(Shape):
    repository: str | None = None
    group: str
    resource: str
    count: int = 0


class WebhookStatus(Shape):
    id: int | None = None
    url: str | None = None
    encrypted_secret: str | None = None
    subscribed_events: list[str] | None = None
    last_event: int | None = None
    message: list[str] | None = None


class RepositoryStatus(Shape):
    observed_generation: int = 0
    health: HealthStatus = Field(default_factory=HealthStatus)
    sync: SyncStatus = Field(default_factory=SyncStatus)
    stats: list[ResourceCount] | None = None
    webhook: WebhookStatus = Field(default_factory=WebhookStatus)


class SyncJobOptions(Shape):
    """``ref`` is a commit that was stored before, to be put back: whoever wants that asks for a rollback."""

    incremental: bool = False
    ref: str | None = None


class RollbackOptions(Shape):
    """``ref`` is a commit that was stored before; None for the one before that which is stored now."""

    ref: str | None = None


class ExportJobOptions(Shape):
    folder: str | None = None
    history: bool | None = None
    branch: str | None = None
    prefix: str | None = Field(default=None, validation_alias=AliasChoices("prefix", "path"))
    identifier: bool = False


class PullRequestJobOptions(Shape):
    ref: str | None = None
    pr: Integer32 | None = None
    hash: str | None = None
    url: str | None = None


_LATER_WORDS = {"pull": "sync", "push": "export"}


class JobSpec(Shape):
    """What to do to which repository. ``pull`` and ``push``, the later words for ``sync`` and ``export``, are accepted on input."""

    action: Annotated[Action, Field(strict=False)]
    repository: str = Field(min_length=1, max_length=253)
    pr: PullRequestJobOptions | None = None
    export: ExportJobOptions | None = Field(default=None, validation_alias=AliasChoices("export", "push"))
    sync: SyncJobOptions | None = Field(default=None, validation_alias=AliasChoices("sync", "pull"))

    @model_validator(mode="before")
    @classmethod
    def _accept_later_words(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("action"), str):
            return value
        return {**value, "action": _LATER_WORDS.get(value["action"], value["action"])}


class JobResourceSummary(Shape):
    group: str | None = None
    resource: str | None = None
    total: int | None = None
    create: int | None = None
    update: int | None = None
    delete: int | None = None
    write: int | None = None
    error: int | None = None
    noop: int | None = None
    errors: list[str] | None = None


class JobStatus(Shape):
    state: Annotated[State, Field(strict=False)] = State.PENDING
    started: int | None = None
    finished: int | None = None
    message: str | None = None
    errors: list[str] | None = None
    progress: float | None = None
    summary: list[JobResourceSummary] | None = None
