"""Repositories and jobs: section 2.5 of the specification (``provisioning.grafana.app/v0alpha1``). Times are Unix milliseconds."""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from dashwright.common.models.shape import Shape

Integer64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Integer32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class RepositoryType(StrEnum):
    """Type of a repository.

    ``githost`` is any git host. The others, except ``local``, are synonyms for clients that know one of them.
    """

    GITHOST = "githost"
    GITHUB = "github"
    GITLAB = "gitlab"
    BITBUCKET = "bitbucket"
    GIT = "git"
    LOCAL = "local"


class Workflow(StrEnum):
    """Way in which files of a repository may be written."""

    BRANCH = "branch"  #: To a branch of their own.
    WRITE = "write"  #: To the branch that is synced.


class SyncTarget(StrEnum):
    """Folder into which a repository is synced."""

    FOLDER = "folder"  #: A folder of the repository's own.
    INSTANCE = "instance"  #: The root; at most one repository of a namespace.


class State(StrEnum):
    """State of a job, and of a repository's sync."""

    PENDING = "pending"  #: Waits for a worker, for a free place in its group, or for its time.
    WORKING = "working"  #: A worker holds its lease.
    SUCCESS = "success"  #: Ended without an error. Final.
    ERROR = "error"  #: Failed, was cancelled, or ended with errors in single files. Final.


class SyncState(StrEnum):
    """State of a repository's sync: that of its job, or ``NEVER`` before the first one."""

    NEVER = ""
    PENDING = State.PENDING.value
    WORKING = State.WORKING.value
    SUCCESS = State.SUCCESS.value
    ERROR = State.ERROR.value


class Action(StrEnum):
    """Action of a job on a repository."""

    EXPORT = "export"  #: Write unmanaged objects into files of the repository.
    PR = "pr"  #: Review a pull request and comment on it.
    SYNC = "sync"  #: Store what the files of the repository contain.


class SelectedFiles(Shape):
    """Glob patterns of the files that are synced, as in gitignore: ``include`` or all, except those in ``exclude``."""

    include: list[str] | None = Field(
        default=None, description="Glob patterns of the files that are synced, as in a gitignore; missing for all files"
    )
    exclude: list[str] | None = Field(default=None, description="Glob patterns of files that are left out although they are included")


class LocalRepositoryConfig(SelectedFiles):
    """Configuration of a repository in a folder of the server."""

    path: str = Field(default="", description="The directory, inside one that the server's settings permit")


class GitHostRepositoryConfig(SelectedFiles):
    """Configuration of a repository on a git host.

    ``path`` is the directory of the branch to sync, without slashes at its ends; None for all of it.
    """

    url: str | None = Field(default=None, description="The address of the repository, by https")
    branch: str = Field(default="", description="The branch that is read and written; empty for the default branch of the remote")
    path: str | None = Field(
        default=None, description="The directory of the branch that the repository is, without slashes at its ends; missing for all of it"
    )
    token: str | None = Field(
        default=None, description="The access token. It is stored encrypted and never returned; without one, reading is anonymous"
    )
    encrypted_token: str | None = Field(default=None, description="The access token, encrypted: base64")
    generate_dashboard_previews: bool | None = Field(
        default=None, description="Whether pull requests get pictures of the dashboards that they change"
    )


class SyncOptions(Shape):
    """Options of the syncs of a repository."""

    enabled: bool = Field(
        default=False, description="Whether changes of the repository are pulled; no sync runs before this is stored as true"
    )
    target: Annotated[SyncTarget, Field(strict=False)] = Field(
        description="Where objects go: into the repository's own folder, or into the whole organization, which one repository may do"
    )
    interval_seconds: Integer64 | None = Field(
        default=None, description="How often the repository is pulled, in seconds; 0 for never by itself"
    )


class RepositorySpec(Shape):
    """Repository as it was written. The block named by its ``type`` says where its files are."""

    title: str = Field(description="The title that people see")
    description: str | None = Field(default=None, description="What the repository is for")
    workflows: list[Annotated[Workflow, Field(strict=False)]] = Field(
        description="How changes may be written back, the preferred way first; none for a repository that is only read"
    )
    sync: SyncOptions = Field(description="How the repository is pulled")
    type: Annotated[RepositoryType, Field(strict=False)] = Field(description="Where the files are; the member of this name is needed")
    local: LocalRepositoryConfig | None = Field(default=None, description="A directory of the server")
    githost: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host")
    github: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type github")
    gitlab: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type gitlab")
    bitbucket: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type bitbucket")
    git: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type git")

    @property
    def remote(self) -> GitHostRepositoryConfig | None:
        """Block of a repository on a git host, under whichever name; None for a local one."""
        if self.type is RepositoryType.LOCAL:
            return None
        block: GitHostRepositoryConfig | None = getattr(self, self.type.value)
        return block

    @property
    def selected(self) -> SelectedFiles:
        """Block with the patterns of the synced files."""
        return self.remote or self.local or SelectedFiles()


class SecureValue(Shape):
    """Secret. A client sends it as ``create`` or asks to ``remove`` it; a response has the ``name`` of the stored one."""

    name: str | None = Field(default=None, description="The name of the stored secret, which changes with the secret")
    create: str | None = Field(default=None, description="The secret itself, which is stored encrypted and never returned")
    remove: bool | None = Field(default=None, description="Whether to remove the stored secret")


class RepositorySecure(Shape):
    """Secrets of a repository. The server generates ``webhook_secret`` and accepts none."""

    token: SecureValue | None = Field(default=None, description="The access token of the git host; without one, reading is anonymous")
    webhook_secret: SecureValue | None = Field(default=None, description="The secret of the webhook's signatures, which the server makes")


class HealthStatus(Shape):
    """Health of a repository."""

    healthy: bool = Field(
        default=False, description="Whether the repository could be read when it was last tried; if not, requests for it are refused"
    )
    error: str | None = Field(default=None, description="The kind of failure: health where the repository cannot be read")
    checked: int | None = Field(default=None, description="When it was last tried, in Unix milliseconds")
    message: list[str] | None = Field(default=None, description="What people should know of it")


class FieldError(Shape):
    """Field of the spec that keeps the repository from being read."""

    type: str = Field(description="The kind of fault, as causes name it")
    field: str = Field(description="The path of the field")
    detail: str = Field(description="What is wrong with it")


class Condition(Shape):
    """Kubernetes condition. ``last_transition_time`` is RFC 3339, the time of the last change of ``status``."""

    type: str = Field(description="The name of the condition: Ready")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds")
    observed_generation: int = Field(description="The generation of the object that was looked at")
    last_transition_time: str = Field(description="When status became what it is, as RFC 3339")
    reason: str = Field(description="Why, in one word: Available, InvalidSpec or Unavailable")
    message: str = Field(description="Why, for people")


class QuotaStatus(Shape):
    """Limit of repositories in a namespace; ``max_repositories`` 0 means unlimited."""

    max_repositories: int = Field(default=0, description="How many repositories there may be, 0 for any number")


class TokenStatus(Shape):
    """Status of the token. Empty, since git hosts do not report how long a token is valid."""


class SyncStatus(Shape):
    """Status of the last sync. ``job`` is the uid of the job."""

    state: Annotated[SyncState, Field(strict=False)] = Field(
        default=SyncState.NEVER, description="The state of the last sync, empty before the first"
    )
    job: str | None = Field(default=None, description="The uid of the job of the last sync")
    started: int | None = Field(default=None, description="When the last sync began, in Unix milliseconds")
    finished: int | None = Field(default=None, description="When the last sync ended, in Unix milliseconds")
    scheduled: int | None = Field(default=None, description="When the next sync is due, in Unix milliseconds")
    message: list[str] = Field(default_factory=list, description="What people should know of the last sync")
    last_ref: str | None = Field(default=None, description="The commit that is stored")
    incremental: bool | None = Field(default=None, description="Whether the last sync read only what had changed")
    held: bool | None = Field(default=None, description="Whether an earlier commit was put back, which automatic syncs leave in place")


class ResourceCount(Shape):
    """Number of managed objects of one kind."""

    repository: str | None = Field(
        default=None, description="The repository that manages the objects; missing for those that no repository manages"
    )
    group: str = Field(description="The group of the objects")
    resource: str = Field(description="The plural of their kind")
    count: int = Field(default=0, description="How many objects there are")


class WebhookStatus(Shape):
    """Webhook at the git host."""

    id: int | None = Field(default=None, description="The number of the webhook at the git host")
    url: str | None = Field(default=None, description="The address that the git host calls")
    encrypted_secret: str | None = Field(default=None, description="The secret of its signatures, encrypted: base64")
    subscribed_events: list[str] | None = Field(default=None, description="The events that the git host reports")
    last_event: int | None = Field(default=None, description="When it last called, in Unix milliseconds")
    message: list[str] | None = Field(default=None, description="Why there is no webhook")


class RepositoryStatus(Shape):
    """Status of a repository."""

    observed_generation: int = Field(default=0, description="The generation of the spec that was last taken up")
    field_errors: list[FieldError] | None = Field(default=None, description="The fields to change so that the repository can be read")
    conditions: list[Condition] | None = Field(default=None, description="The condition Ready: whether the repository can be read")
    health: HealthStatus = Field(default_factory=HealthStatus, description="Whether the repository can be read")
    sync: SyncStatus = Field(default_factory=SyncStatus, description="How the last sync went")
    stats: list[ResourceCount] | None = Field(default=None, description="How many objects the last sync left")
    webhook: WebhookStatus = Field(default_factory=WebhookStatus, description="The webhook at the git host, where there is one")
    token: TokenStatus = Field(
        default_factory=TokenStatus, description="An empty object: git hosts do not report how long a token is valid"
    )
    quota: QuotaStatus = Field(default_factory=QuotaStatus, description="The limits on repositories of the namespace")


class SyncJobOptions(Shape):
    """Options of the action sync. ``ref`` is a commit to restore, which only a rollback sets."""

    incremental: bool = Field(default=False, description="Whether only what has changed since the last sync is read")
    ref: str | None = Field(default=None, description="An earlier commit to put back, which a rollback sets")


class RollbackOptions(Shape):
    """Options of a rollback. ``ref`` is a commit that was stored before; None for the one before the current one."""

    ref: str | None = Field(
        default=None, description="A commit that was stored before; missing for the one before that which is stored now"
    )


class ExportJobOptions(Shape):
    """Options of the action export."""

    folder: str | None = Field(default=None, description="The folder to export; empty for everything")
    history: bool | None = Field(default=None, description="Whether earlier versions become commits, where possible")
    branch: str | None = Field(default=None, description="The branch to write to, of a git host only")
    prefix: str | None = Field(default=None, validation_alias=AliasChoices("prefix", "path"), description="The directory to write to")
    identifier: bool = Field(default=False, description="Whether the names of objects are written to the files")


class PullRequestJobOptions(Shape):
    """Options of the action pr."""

    ref: str | None = Field(default=None, description="The branch or commit")
    pr: Integer32 | None = Field(default=None, description="The number of the pull request")
    hash: str | None = Field(default=None, description="The commit to comment on")
    url: str | None = Field(default=None, description="The address of the pull request")


_LATER_WORDS = {"pull": "sync", "push": "export"}


def _action_may_be_missing(schema: dict[str, Any]) -> None:
    """Remove the action from the required properties: a submitter may leave it out if a block of options implies it."""
    schema["required"] = [name for name in schema["required"] if name != "action"]


class JobSpec(Shape):
    """Job on a repository. ``pull`` and ``push``, the newer words for ``sync`` and ``export``, are accepted on input."""

    model_config = ConfigDict(json_schema_extra=_action_may_be_missing)

    action: Annotated[Action, Field(strict=False)] = Field(description="What is done; it may be missing where one block of options says it")
    repository: str = Field(min_length=1, max_length=253, description="The repository that it is done with")
    pr: PullRequestJobOptions | None = Field(default=None, description="The pull request, for the action pr")
    export: ExportJobOptions | None = Field(
        default=None, validation_alias=AliasChoices("export", "push"), description="What is exported and where to, for the action export"
    )
    sync: SyncJobOptions | None = Field(
        default=None, validation_alias=AliasChoices("sync", "pull"), description="How is pulled, for the action sync"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_later_words(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("action"), str):
            return value
        return {**value, "action": _LATER_WORDS.get(value["action"], value["action"])}


class JobResourceSummary(Shape):
    """Effects of a job on one kind of resource."""

    group: str | None = Field(default=None, description="The group of the objects")
    resource: str | None = Field(default=None, description="The plural of their kind")
    total: int | None = Field(default=None, description="How many objects were looked at")
    create: int | None = Field(default=None, description="How many were created")
    update: int | None = Field(default=None, description="How many were changed")
    delete: int | None = Field(default=None, description="How many were removed")
    write: int | None = Field(default=None, description="How many files were written")
    error: int | None = Field(default=None, description="How many failed")
    noop: int | None = Field(default=None, description="How many needed nothing")
    errors: list[str] | None = Field(default=None, description="Why objects failed, the first of them")
    ignored: int | None = Field(default=None, description="How many files hold no resource; they are not in the total")
    warning: int | None = Field(default=None, description="How many warnings there are")
    warnings: list[str] | None = Field(default=None, description="What is worth knowing and no error, the first of it")


class JobStatus(Shape):
    """Status of a job."""

    state: Annotated[State, Field(strict=False)] = Field(default=State.PENDING, description="How far the job is")
    started: int | None = Field(default=None, description="When it began, in Unix milliseconds")
    finished: int | None = Field(default=None, description="When it ended, in Unix milliseconds")
    message: str | None = Field(default=None, description="What people should know of it")
    errors: list[str] | None = Field(default=None, description="Why it failed, or what failed in it")
    progress: float | None = Field(default=None, description="How much is done, in percent")
    summary: list[JobResourceSummary] | None = Field(default=None, description="What was done, by kind of object")
