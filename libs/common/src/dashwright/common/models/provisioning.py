"""Models of repositories and jobs (``provisioning.grafana.app/v0alpha1``).

Times are Unix milliseconds.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from dashwright.common.models.api_model import ApiModel, Integer64
from dashwright.common.models.job_options import ExportJobOptions, PullRequestJobOptions, SyncJobOptions
from dashwright.common.models.notifications import MAX_RECEIVERS, NotificationReceiver, NotificationStatus


class RepositoryType(StrEnum):
    """Type of a repository.

    ``githost`` is any git host. The other types, except ``local``, are synonyms of it for clients that use one of these names. They also
    name the kind of the host, except ``git``.
    """

    GITHOST = "githost"
    GITHUB = "github"
    GITLAB = "gitlab"
    BITBUCKET = "bitbucket"
    GIT = "git"
    LOCAL = "local"


class Workflow(StrEnum):
    """Branch to which changes of a repository's files may be written."""

    BRANCH = "branch"  #: A new branch for the change.
    WRITE = "write"  #: The branch that is synced.


class SyncTarget(StrEnum):
    """Folder into which a repository is synced."""

    FOLDER = "folder"  #: A folder that only this repository uses.
    INSTANCE = "instance"  #: The root folder; allowed for one repository of a namespace.


class Verification(StrEnum):
    """Verification of the signatures of commits."""

    REQUIRE = "require"  #: Only commits by allowed signers are stored.


class State(StrEnum):
    """State of a job."""

    PENDING = "pending"  #: The job waits for a worker, for its concurrency group, or for its scheduled time.
    WORKING = "working"  #: A worker has the lease of the job.
    SUCCESS = "success"  #: The job ended without errors.
    ERROR = "error"  #: The job failed, was cancelled, or ended with errors in some files.


class SyncState(StrEnum):
    """State of a repository's last sync: the state of its job, or ``NEVER`` before the first sync."""

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


class SelectedFiles(ApiModel):
    """Files that are synced: those that match ``include`` (None: all files) and not ``exclude``. Patterns are as in gitignore."""

    include: list[str] | None = Field(
        default=None, description="Glob patterns of the files that are synced, as in a gitignore; if missing, all files are synced"
    )
    exclude: list[str] | None = Field(default=None, description="Glob patterns of files that are not synced, even if include matches them")


class LocalRepositoryConfig(SelectedFiles):
    """Configuration of a repository in a local directory."""

    path: str = Field(default="", description="The directory, inside one that the server's settings permit")


class GitHostRepositoryConfig(SelectedFiles):
    """Configuration of a repository on a git host.

    ``path`` is the directory of the branch to sync, without slashes at its ends. None selects the complete branch.
    """

    url: str | None = Field(default=None, description="The address of the repository, by https or SSH")
    branch: str = Field(default="", description="The branch that is read and written; empty for the default branch of the remote")
    path: str | None = Field(
        default=None, description="The directory of the branch to sync, without slashes at its ends; if missing, the whole branch is synced"
    )
    token: str | None = Field(
        default=None, description="The access token. It is stored encrypted and never returned; without one, reading is anonymous"
    )
    encrypted_token: str | None = Field(default=None, description="The access token, encrypted: base64")
    known_hosts: str | None = Field(
        default=None,
        description="The host keys to accept for an SSH address, in the form of OpenSSH, in addition to those of the installation",
    )
    encrypted_ssh_key: str | None = Field(default=None, description="The deploy key of an SSH address, encrypted: base64")
    verify: Annotated[Verification | None, Field(strict=False)] = Field(
        default=None, description="require: only commits with a signature by one of the allowed signers are stored"
    )
    allowed_signers: str | None = Field(
        default=None, description="The signers to accept with verify: require: OpenSSH's allowed signers and OpenPGP public keys"
    )
    encrypted_signing_key: str | None = Field(default=None, description="The key that signs commits of the server, encrypted: base64")
    generate_dashboard_previews: bool | None = Field(
        default=None, description="Whether pull requests get pictures of the dashboards that they change"
    )


class SyncOptions(ApiModel):
    """Options of the syncs of a repository."""

    enabled: bool = Field(default=False, description="Whether the repository is synced; no sync runs while this is false")
    target: Annotated[SyncTarget, Field(strict=False)] = Field(
        description="Where objects are stored: in the repository's own folder, or in the root (instance), which only one repository may use"
    )
    interval_seconds: Integer64 | None = Field(default=None, description="The seconds between two scheduled syncs; 0 for none")


class RepositorySpec(ApiModel):
    """Spec of a repository. The block with the name of its ``type`` has the location of its files."""

    title: str = Field(description="The title that users see")
    description: str | None = Field(default=None, description="What the repository is for")
    workflows: list[Annotated[Workflow, Field(strict=False)]] = Field(
        description="How changes may be written to the repository, the preferred way first; empty for a repository that is only read"
    )
    sync: SyncOptions = Field(description="How the repository is synced")
    type: Annotated[RepositoryType, Field(strict=False)] = Field(
        description="The type of the repository; the member of this name is required and has the location of the files"
    )
    local: LocalRepositoryConfig | None = Field(default=None, description="A directory of the server")
    githost: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host")
    github: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type github")
    gitlab: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type gitlab")
    bitbucket: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type bitbucket")
    git: GitHostRepositoryConfig | None = Field(default=None, description="A branch of a git host, of the type git")
    notifications: list[NotificationReceiver] | None = Field(
        default=None, max_length=MAX_RECEIVERS, description="The webhooks that are notified of syncs, of the quarantine, and of the health"
    )

    @property
    def remote(self) -> GitHostRepositoryConfig | None:
        """Configuration of a repository on a git host, or None for a local repository."""
        if self.type is RepositoryType.LOCAL:
            return None
        block: GitHostRepositoryConfig | None = getattr(self, self.type.value)
        return block

    @property
    def selected(self) -> SelectedFiles:
        """Patterns of the synced files."""
        return self.remote or self.local or SelectedFiles()


class SecureValue(ApiModel):
    """Secret. A request sets it by ``create`` or deletes it by ``remove``. A response contains the ``name`` of the stored secret."""

    name: str | None = Field(default=None, description="The name of the stored secret, which changes with the secret")
    create: str | None = Field(default=None, description="The secret itself, which is stored encrypted and never returned")
    remove: bool | None = Field(default=None, description="Whether to remove the stored secret")


class RepositorySecure(ApiModel):
    """Secrets of a repository. The server generates ``webhook_secret``; clients cannot set it."""

    token: SecureValue | None = Field(default=None, description="The access token of the git host; without one, reading is anonymous")
    ssh_key: SecureValue | None = Field(
        default=None, description="The deploy key of an SSH address: a private key in OpenSSH form without a passphrase"
    )
    signing_key: SecureValue | None = Field(
        default=None, description="The key that signs commits of the server: a private key in OpenSSH form without a passphrase"
    )
    webhook_secret: SecureValue | None = Field(
        default=None, description="The secret of the webhook's signatures, which the server generates"
    )
    notifications: dict[str, SecureValue] | None = Field(
        default=None,
        description="The secrets of the signatures of notifications (Standard Webhooks), by the name of the receiver: "
        "whsec_ and 24 to 64 bytes in base64",
    )


class HealthStatus(ApiModel):
    """Health of a repository."""

    healthy: bool = Field(
        default=False,
        description="Whether the last attempt to read the repository succeeded; if not, requests for the repository are refused",
    )
    error: str | None = Field(default=None, description="The kind of failure: health if the repository cannot be read")
    checked: int | None = Field(default=None, description="When the last attempt was made, in Unix milliseconds")
    message: list[str] | None = Field(default=None, description="Why the repository cannot be read")


class FieldError(ApiModel):
    """Error in a field of the spec, which prevents reading the repository."""

    type: str = Field(description="The kind of fault, as causes name it")
    field: str = Field(description="The path of the field")
    detail: str = Field(description="What is wrong with the field")


class Condition(ApiModel):
    """Kubernetes condition. ``last_transition_time`` is the time of the last change of ``status``, as RFC 3339."""

    type: str = Field(description="The name of the condition: Ready")
    status: Literal["True", "False", "Unknown"] = Field(description="Whether the condition is met")
    observed_generation: int = Field(description="The generation of the object at the last check")
    last_transition_time: str = Field(description="When status last changed, as RFC 3339")
    reason: str = Field(description="The reason in one word: Available, InvalidSpec or Unavailable")
    message: str = Field(description="The reason, for users")


class QuotaStatus(ApiModel):
    """Maximum number of repositories in a namespace; 0 means unlimited."""

    max_repositories: int = Field(default=0, description="The maximum number of repositories; 0 for no limit")


class TokenStatus(ApiModel):
    """Status of the token. Empty, since git hosts do not report how long a token is valid."""


class SyncStatus(ApiModel):
    """Status of the last sync. ``job`` is the uid of the job."""

    state: Annotated[SyncState, Field(strict=False)] = Field(
        default=SyncState.NEVER, description="The state of the last sync, empty before the first"
    )
    job: str | None = Field(default=None, description="The uid of the job of the last sync")
    started: int | None = Field(default=None, description="When the last sync began, in Unix milliseconds")
    finished: int | None = Field(default=None, description="When the last sync ended, in Unix milliseconds")
    scheduled: int | None = Field(default=None, description="When the next sync is due, in Unix milliseconds")
    message: list[str] = Field(default_factory=list, description="The errors of the last sync, or why the repository is not synced")
    last_ref: str | None = Field(default=None, description="The commit that is stored")
    incremental: bool | None = Field(default=None, description="Whether the last sync examined only changed files")
    held: bool | None = Field(
        default=None, description="Whether a rollback restored an earlier commit, which automatic syncs do not replace"
    )


class ResourceCount(ApiModel):
    """Number of managed objects of one kind."""

    repository: str | None = Field(default=None, description="The repository that manages the objects; missing for unmanaged objects")
    group: str = Field(description="The group of the objects")
    resource: str = Field(description="The plural of their kind")
    count: int = Field(default=0, description="The number of objects")


class WebhookStatus(ApiModel):
    """Webhook at the git host."""

    id: int | None = Field(default=None, description="The number of the webhook at the git host")
    url: str | None = Field(default=None, description="The address that the git host calls")
    encrypted_secret: str | None = Field(default=None, description="The secret of its signatures, encrypted: base64")
    subscribed_events: list[str] | None = Field(default=None, description="The events that the git host reports")
    last_event: int | None = Field(default=None, description="When the git host last called, in Unix milliseconds")
    message: list[str] | None = Field(default=None, description="Why there is no webhook")


class RepositoryStatus(ApiModel):
    """Status of a repository."""

    observed_generation: int = Field(default=0, description="The generation of the spec that was last processed")
    field_errors: list[FieldError] | None = Field(default=None, description="The fields to change so that the repository can be read")
    conditions: list[Condition] | None = Field(default=None, description="The condition Ready: whether the repository can be read")
    health: HealthStatus = Field(default_factory=HealthStatus, description="Whether the repository can be read")
    sync: SyncStatus = Field(default_factory=SyncStatus, description="The status of the last sync")
    stats: list[ResourceCount] | None = Field(default=None, description="The number of managed objects, by kind")
    webhook: WebhookStatus = Field(default_factory=WebhookStatus, description="The webhook at the git host, if there is one")
    token: TokenStatus = Field(
        default_factory=TokenStatus, description="An empty object: git hosts do not report how long a token is valid"
    )
    quota: QuotaStatus = Field(default_factory=QuotaStatus, description="The limits on repositories of the namespace")
    notifications: list[NotificationStatus] | None = Field(
        default=None, description="The outcomes of the last attempts to notify the receivers"
    )


#: Actions by the names that newer versions of Grafana give them.
_ACTIONS_BY_NEWER_NAME = {"pull": "sync", "push": "export"}


def _action_may_be_missing(schema: dict[str, Any]) -> None:
    """Remove the action from the required properties: a submitter may leave it out if a block of options implies it."""
    schema["required"] = [name for name in schema["required"] if name != "action"]


class JobSpec(ApiModel):
    """Job on a repository. Requests may use ``pull`` and ``push``, the names of ``sync`` and ``export`` in newer Grafana versions."""

    model_config = ConfigDict(json_schema_extra=_action_may_be_missing)

    action: Annotated[Action, Field(strict=False)] = Field(
        description="The action; it may be missing if the request has the options of one action"
    )
    repository: str = Field(min_length=1, max_length=253, description="The name of the repository")
    pr: PullRequestJobOptions | None = Field(default=None, description="The options of the action pr")
    export: ExportJobOptions | None = Field(
        default=None, validation_alias=AliasChoices("export", "push"), description="The options of the action export"
    )
    sync: SyncJobOptions | None = Field(
        default=None, validation_alias=AliasChoices("sync", "pull"), description="The options of the action sync"
    )

    @model_validator(mode="before")
    @classmethod
    def _accept_newer_names(cls, value: Any) -> Any:
        """Replace a newer name of an action by the older one."""
        if not isinstance(value, dict) or not isinstance(value.get("action"), str):
            return value
        return {**value, "action": _ACTIONS_BY_NEWER_NAME.get(value["action"], value["action"])}


class JobResourceSummary(ApiModel):
    """Effects of a job on one kind of resource."""

    group: str | None = Field(default=None, description="The group of the objects")
    resource: str | None = Field(default=None, description="The plural of their kind")
    total: int | None = Field(default=None, description="The number of objects, without ignored files")
    create: int | None = Field(default=None, description="The number of created objects")
    update: int | None = Field(default=None, description="The number of updated objects")
    delete: int | None = Field(default=None, description="The number of deleted objects")
    write: int | None = Field(default=None, description="The number of created and updated objects")
    error: int | None = Field(default=None, description="The number of errors")
    noop: int | None = Field(default=None, description="The number of objects without changes")
    errors: list[str] | None = Field(default=None, description="The first errors")
    ignored: int | None = Field(default=None, description="The number of files without a resource, which total does not include")
    warning: int | None = Field(default=None, description="The number of warnings")
    warnings: list[str] | None = Field(default=None, description="The first warnings, which do not make the job fail")


class JobStatus(ApiModel):
    """Status of a job."""

    state: Annotated[State, Field(strict=False)] = Field(default=State.PENDING, description="The state of the job")
    started: int | None = Field(default=None, description="When the job began, in Unix milliseconds")
    finished: int | None = Field(default=None, description="When the job ended, in Unix milliseconds")
    message: str | None = Field(default=None, description="A message about the progress or the result, for users")
    errors: list[str] | None = Field(default=None, description="The first errors of the job")
    progress: float | None = Field(default=None, description="The progress in percent")
    summary: list[JobResourceSummary] | None = Field(default=None, description="The results, by kind of object")

    @property
    def error(self) -> str:
        """The errors in one string, or the message or state of a job without errors."""
        return "; ".join(self.errors or ()) or self.message or self.state.value
