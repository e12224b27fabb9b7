"""Views of repositories besides the objects themselves: section 2.5 of the specification. Times are Unix milliseconds."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from dashwright.common.models.meta import ListEnvelope, TypeMeta
from dashwright.common.models.provisioning import JobResourceSummary, JobSpec, RepositoryType, ResourceCount, SyncTarget, Workflow
from dashwright.common.models.shape import Shape
from dashwright.common.models.values import LintSeverity


class RepositoryView(Shape):
    """Repository as every member of its organization may see it.

    ``branch``, ``url`` and ``path`` are those of a repository on a git host.
    """

    name: str = Field(description="The name of the repository")
    title: str = Field(description="The title that people see")
    read_only: bool = Field(default=False, description="Whether nothing is written to it from here")
    type: Annotated[RepositoryType, Field(strict=False)] = Field(description="Where its files are")
    target: Annotated[SyncTarget, Field(strict=False)] = Field(description="Where its objects go")
    workflows: list[Annotated[Workflow, Field(strict=False)]] = Field(description="How changes may be written back")
    branch: str | None = Field(default=None, description="The branch at the git host, empty for its default branch")
    url: str | None = Field(default=None, description="The address at the git host")
    path: str | None = Field(default=None, description="The directory of the branch")


class RepositoryViewList(TypeMeta):
    """Repositories of a namespace, and the choices for another one."""

    allow_image_rendering: bool = Field(description="Whether comments under pull requests can have pictures")
    allowed_targets: list[Annotated[SyncTarget, Field(strict=False)]] = Field(description="Where objects may go")
    available_repository_types: list[Annotated[RepositoryType, Field(strict=False)]] = Field(description="Where files may be")
    max_repositories: int = Field(default=0, description="How many repositories there may be, 0 for any number")
    items: list[RepositoryView] = Field(description="The repositories of the organization")


class ManagerStats(Shape):
    """Number of objects that a repository manages."""

    kind: str = Field(description="The kind of the manager: repo")
    id: str = Field(description="The name of the repository")
    stats: list[ResourceCount] = Field(description="The counts, by kind")


class ResourceStats(ListEnvelope):
    """Number of objects in a namespace, by kind."""

    instance: list[ResourceCount] = Field(description="The counts of all objects, by kind")
    managed: list[ManagerStats] = Field(description="The counts of each repository")
    unmanaged: list[ResourceCount] = Field(description="The counts of objects that no repository manages, by kind")
    items: list[ResourceCount] = Field(description="The counts, by kind and repository")


class ResourceListItem(Shape):
    """Object that a repository manages. ``hash`` is that of its file, ``time`` that of the last write."""

    path: str = Field(description="The file of the object")
    group: str = Field(description="The group of the object")
    resource: str = Field(description="The plural of its kind")
    name: str = Field(description="The name of the object")
    hash: str = Field(description="The hash of the file")
    time: int | None = Field(default=None, description="When the object was last written, in Unix milliseconds")
    title: str | None = Field(default=None, description="The title that people see")
    folder: str | None = Field(default=None, description="The folder of the object")


class QuarantinedFile(Shape):
    """File that cannot be synced.

    ``name`` is that of its object, if known; ``hash`` that of its bytes, if these are the reason.
    """

    path: str = Field(description="The file")
    message: str = Field(description="Why it is not stored, and what to do")
    name: str | None = Field(default=None, description="The name of its object, where it is known")
    hash: str | None = Field(default=None, description="The hash of the file, where its content is the reason")
    since: int = Field(description="Since when, in Unix milliseconds")


class ResourceList(ListEnvelope):
    """Managed objects of a repository.

    ``items`` are stored; ``quarantined`` are files that are not, or of which an older revision is.
    """

    items: list[ResourceListItem] = Field(description="The objects that are stored")
    quarantined: list[QuarantinedFile] = Field(description="The files that are not stored, or only in an earlier state")


class ErrorDetails(Shape):
    """Fault of a configuration: where (``spec.githost.token``), of what type, and what to do."""

    type: str = Field(description="The kind of fault, for programs")
    field: str | None = Field(default=None, description="Where the configuration is wrong: the path of a field")
    detail: str | None = Field(default=None, description="What is wrong and what to do")


class TestResults(TypeMeta):
    """Result of testing a repository. ``code`` is the HTTP status of the response."""

    code: int = Field(description="The HTTP status of the response")
    success: bool = Field(description="Whether the repository can be read")
    errors: list[ErrorDetails] = Field(description="Why it cannot be read")


class RefItem(Shape):
    """Branch of a git host; ``hash`` is its newest commit."""

    name: str = Field(description="The name of the branch")
    hash: str = Field(description="Its newest commit")


class RefList(ListEnvelope):
    """Branches of a git host."""

    items: list[RefItem] = Field(description="The branches of the repository")


class Author(Shape):
    """Author of a commit. ``username`` is the login at the git host, empty if only git was asked."""

    name: str = Field(default="", description="The name that the commit holds")
    username: str = Field(default="", description="The login at the git host, empty where it is not known")
    avatar_url: str | None = Field(default=None, alias="avatarURL", description="The address of a picture of the author")


class HistoryItem(Shape):
    """Commit; ``ref`` is its hash."""

    ref: str = Field(description="The hash of the commit")
    message: str = Field(description="What the commit says")
    authors: list[Author] = Field(description="Who made the commit")
    created_at: int = Field(default=0, description="When it was made, in Unix milliseconds")


class HistoryList(ListEnvelope):
    """Commits of a repository."""

    items: list[HistoryItem] = Field(description="The commits, the newest first")


class FileItem(Shape):
    """File of a repository; ``hash`` is that of its bytes, ``size`` in bytes."""

    path: str = Field(description="The path of the file")
    size: int | None = Field(default=None, description="Its size in bytes")
    hash: str | None = Field(default=None, description="The hash of its bytes")
    modified: int | None = Field(default=None, description="When it was last changed, in Unix milliseconds")
    author: str | None = Field(default=None, description="Who last changed it")


class FileList(ListEnvelope):
    """Files of a repository."""

    items: list[FileItem] = Field(description="The files")


class ResourceType(Shape):
    """Type of the resource in a file. ``classic`` is the original form of a file without a resource envelope."""

    group: str = Field(description="The group of the object")
    version: str = Field(description="The version that it is written in")
    kind: str = Field(description="The kind of the object")
    resource: str = Field(description="The plural of the kind")
    classic: str | None = Field(default=None, description="What the object started as, in a file that is no resource by itself")


class ResourceAction(StrEnum):
    """Effect of a file on its object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class ResourceObjects(Shape):
    """Object of a file: in the file (``file``), as stored now (``existing``), and as it would be stored (``dry_run``)."""

    type: ResourceType = Field(description="What the file holds")
    file: dict[str, Any] | None = Field(default=None, description="The object as the file has it, with what is filled in")
    existing: dict[str, Any] | None = Field(default=None, description="The object as it is stored now")
    action: Annotated[ResourceAction, Field(strict=False)] | None = Field(
        default=None, description="What is done, or would be done, to the stored object"
    )
    dry_run: dict[str, Any] | None = Field(default=None, description="The object as it would be stored")


class LintIssue(Shape):
    """Issue that lint found."""

    severity: Annotated[LintSeverity, Field(strict=False)] = Field(description="How serious it is")
    rule: str = Field(description="The rule that found it")
    message: str = Field(description="What is wrong")
    pointer: str | None = Field(default=None, description="Where in the dashboard's spec: a JSON pointer, empty for all of it")


class ResourceUrls(Shape):
    """Addresses of a file at its git host, and of its differences to the synced branch."""

    source_url: str | None = Field(default=None, alias="sourceURL", description="The file at the git host")
    repository_url: str | None = Field(default=None, alias="repositoryURL", description="The repository at the git host")
    compare_url: str | None = Field(default=None, alias="compareURL", description="What differs from the repository's own branch")
    new_pull_request_url: str | None = Field(
        default=None, alias="newPullRequestURL", description="Where a pull request for the branch is opened"
    )


class ResourceWrapper(TypeMeta):
    """File and its resource. ``ref`` is the commit it was read at, ``hash`` that of its bytes, ``timestamp`` RFC 3339."""

    path: str = Field(description="The path of the file")
    ref: str | None = Field(default=None, description="The commit that it was read at")
    hash: str | None = Field(default=None, description="The hash of its bytes")
    timestamp: str | None = Field(default=None, description="When the file was last changed: RFC 3339")
    urls: ResourceUrls | None = Field(default=None, description="Where people see the file")
    resource: ResourceObjects = Field(description="The object that the file holds")
    lint: list[LintIssue] | None = Field(default=None, description="What a check of the object found")
    errors: list[str] | None = Field(default=None, description="Why the file cannot be stored")


class PlannedAction(StrEnum):
    """Action that a sync would take on an object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REFUSE = "refuse"


class PlannedChange(Shape):
    """Effect of a sync on one object.

    ``path`` is its file or directory, empty for the repository's own folder. ``folder`` is the resulting folder, None
    at the root. ``diff`` of an update is a JSON patch (RFC 6902) to the stored object. ``message`` says why it is
    refused, or why there is no diff.
    """

    action: Annotated[PlannedAction, Field(strict=False)] = Field(description="What would be done")
    group: str = Field(description="The group of the object")
    resource: str = Field(description="The plural of its kind")
    name: str = Field(description="The name of the object")
    path: str = Field(description="Its file or directory, empty of the repository's own folder")
    title: str | None = Field(default=None, description="The title that people see")
    folder: str | None = Field(default=None, description="The folder that it would lie in; missing at the root")
    message: str | None = Field(default=None, description="Why it is refused, or why there is no diff")
    diff: list[dict[str, Any]] | None = Field(
        default=None, description="A JSON patch (RFC 6902) from the stored object to the one that would be stored"
    )


class SyncPlan(ListEnvelope):
    """Effects of a sync. ``ref`` is the examined commit, ``base`` the stored one, if any.

    ``summary`` counts everything, as the job would at its end; ``items`` are the first effects. ``errors`` say why
    nothing at all would be written.
    """

    ref: str | None = Field(default=None, description="The commit that was looked at")
    base: str | None = Field(default=None, description="The commit that is stored")
    summary: list[JobResourceSummary] = Field(description="What a sync would do, by kind of object")
    items: list[PlannedChange] = Field(description="What it would do to each object, the first of them")
    truncated: bool = Field(default=False, description="Whether there are more items than are shown")
    errors: list[str] | None = Field(default=None, description="Why nothing at all would be written")


class Revision(Shape):
    """A commit that was stored; ``synced`` is when it first was, ``job`` the uid of the job that did it.

    ``current``: it is stored now. ``withdrawn``: an earlier one was stored after it.
    """

    ref: str = Field(description="The commit")
    synced: int = Field(description="When it was first stored, in Unix milliseconds")
    job: str | None = Field(default=None, description="The uid of the job that stored it")
    current: bool | None = Field(default=None, description="Whether it is stored now")
    withdrawn: bool | None = Field(default=None, description="Whether an earlier commit was put back after it")


class RevisionList(ListEnvelope):
    """Commits that were stored."""

    items: list[Revision] = Field(description="The commits, the newest first")


class WebhookResponse(Shape):
    """Response to a webhook of a git host; ``job`` is the submitted job."""

    kind: str = Field(default="WebhookResponse", description="The kind of the response")
    api_version: str = Field(description="The group and version of the kind")
    code: int = Field(description="The HTTP status of the response")
    message: str = Field(description="What was done")
    job: JobSpec | None = Field(default=None, description="The job that was submitted")
