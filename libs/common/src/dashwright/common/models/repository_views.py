"""Responses about repositories: their objects, files, commits, branches and sync plans.

Times are Unix milliseconds.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import ListEnvelope, TypeMeta
from dashwright.common.models.provisioning import JobResourceSummary, JobSpec, RepositoryType, ResourceCount, SyncTarget, Workflow
from dashwright.common.models.values import LintSeverity


class RepositoryView(ApiModel):
    """Public part of a repository, which every member of its organization may read.

    ``branch``, ``url`` and ``path`` are set for repositories on a git host only.
    """

    name: str = Field(description="The name of the repository")
    title: str = Field(description="The title that users see")
    read_only: bool = Field(default=False, description="Whether the server never writes to the repository")
    type: Annotated[RepositoryType, Field(strict=False)] = Field(description="The type of the repository")
    target: Annotated[SyncTarget, Field(strict=False)] = Field(description="Where its objects are stored")
    workflows: list[Annotated[Workflow, Field(strict=False)]] = Field(description="How changes may be written to the repository")
    branch: str | None = Field(default=None, description="The branch at the git host, empty for its default branch")
    url: str | None = Field(default=None, description="The address at the git host")
    path: str | None = Field(default=None, description="The directory of the branch")


class RepositoryViewList(TypeMeta):
    """Repositories of a namespace, and the types and sync targets that a new repository may have."""

    allow_image_rendering: bool = Field(description="Whether comments under pull requests can have pictures")
    allowed_targets: list[Annotated[SyncTarget, Field(strict=False)]] = Field(description="The sync targets that a new repository may have")
    available_repository_types: list[Annotated[RepositoryType, Field(strict=False)]] = Field(
        description="The types that a new repository may have"
    )
    max_repositories: int = Field(default=0, description="The maximum number of repositories; 0 for no limit")
    items: list[RepositoryView] = Field(description="The repositories of the organization")


class ManagerStats(ApiModel):
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


class ResourceListItem(ApiModel):
    """Object that a repository manages. ``hash`` is the hash of its file, ``time`` the time of the last write."""

    path: str = Field(description="The file of the object")
    group: str = Field(description="The group of the object")
    resource: str = Field(description="The plural of its kind")
    name: str = Field(description="The name of the object")
    hash: str = Field(description="The hash of the file")
    time: int | None = Field(default=None, description="When the object was last written, in Unix milliseconds")
    title: str | None = Field(default=None, description="The title that users see")
    folder: str | None = Field(default=None, description="The folder of the object")


class QuarantinedFile(ApiModel):
    """File that cannot be synced.

    ``name`` is the name of its object, if known. ``hash`` is the hash of the content, if the content is the reason.
    """

    path: str = Field(description="The file")
    message: str = Field(description="Why it is not stored, and what to do")
    name: str | None = Field(default=None, description="The name of its object, if known")
    hash: str | None = Field(default=None, description="The hash of the file, if its content is the reason")
    since: int = Field(description="When the file was first refused, in Unix milliseconds")


class ResourceList(ListEnvelope):
    """Managed objects of a repository.

    ``items`` are the stored objects. ``quarantined`` are the files whose current content is not stored.
    """

    items: list[ResourceListItem] = Field(description="The objects that are stored")
    quarantined: list[QuarantinedFile] = Field(description="The files whose current content is not stored")


class ErrorDetails(ApiModel):
    """Error in a configuration: its type, the path of the field (such as ``spec.githost.token``), and what to do."""

    type: str = Field(description="The kind of fault, for programs")
    field: str | None = Field(default=None, description="The path of the invalid field")
    detail: str | None = Field(default=None, description="What is wrong and what to do")


class TestResults(TypeMeta):
    """Result of testing a repository. ``code`` is the HTTP status of the response."""

    code: int = Field(description="The HTTP status of the response")
    success: bool = Field(description="Whether the repository can be read")
    errors: list[ErrorDetails] = Field(description="Why it cannot be read")


class RefItem(ApiModel):
    """Branch of a repository on a git host. ``hash`` is its newest commit."""

    name: str = Field(description="The name of the branch")
    hash: str = Field(description="Its newest commit")


class RefList(ListEnvelope):
    """Branches of a repository on a git host."""

    items: list[RefItem] = Field(description="The branches of the repository")


class Author(ApiModel):
    """Author of a commit. ``username`` is the login at the git host; it is empty if the commit was read by git alone."""

    name: str = Field(default="", description="The name in the commit")
    username: str = Field(default="", description="The login at the git host, empty if unknown")
    avatar_url: str | None = Field(default=None, alias="avatarURL", description="The address of a picture of the author")


class HistoryItem(ApiModel):
    """Commit of a repository. ``ref`` is its hash."""

    ref: str = Field(description="The hash of the commit")
    message: str = Field(description="The message of the commit")
    authors: list[Author] = Field(description="The author and the committer")
    created_at: int = Field(default=0, description="When the commit was made, in Unix milliseconds")


class HistoryList(ListEnvelope):
    """Commits of a repository."""

    items: list[HistoryItem] = Field(description="The commits, the newest first")


class FileItem(ApiModel):
    """File of a repository. ``hash`` is the hash of its content, ``size`` its length in bytes."""

    path: str = Field(description="The path of the file")
    size: int | None = Field(default=None, description="Its size in bytes")
    hash: str | None = Field(default=None, description="The hash of its bytes")
    modified: int | None = Field(default=None, description="When it was last changed, in Unix milliseconds")
    author: str | None = Field(default=None, description="The author of the last change")


class FileList(ListEnvelope):
    """Files of a repository."""

    items: list[FileItem] = Field(description="The files")


class ResourceType(ApiModel):
    """Type of the resource in a file. ``classic`` is set if the file has a classic form, without the resource envelope."""

    group: str = Field(description="The group of the object")
    version: str = Field(description="The API version of the object in the file")
    kind: str = Field(description="The kind of the object")
    resource: str = Field(description="The plural of the kind")
    classic: Literal["access-control", "alerting", "dashboard", "datasources"] | None = Field(
        default=None, description="dashboard, if the file is the dashboard's own JSON without a resource around it"
    )


class ResourceAction(StrEnum):
    """Action that storing a file takes on its object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class ResourceObjects(ApiModel):
    """Object of a file: its form in the file (``file``), in the store (``existing``), and after a sync (``dry_run``)."""

    type: ResourceType = Field(description="The type of the object in the file")
    file: dict[str, Any] | None = Field(default=None, description="The object in the file, with the members that a sync adds")
    existing: dict[str, Any] | None = Field(default=None, description="The stored object")
    action: Annotated[ResourceAction, Field(strict=False)] | None = Field(default=None, description="The action on the stored object")
    dry_run: dict[str, Any] | None = Field(default=None, description="The object as it would be stored")


class LintIssue(ApiModel):
    """Issue that lint found."""

    severity: Annotated[LintSeverity, Field(strict=False)] = Field(description="The severity of the issue")
    rule: str = Field(description="The rule that found it")
    message: str = Field(description="What is wrong")
    pointer: str | None = Field(default=None, description="A JSON pointer into the dashboard's spec, empty for all of it")


class ResourceUrls(ApiModel):
    """URLs of pages at the git host: the file, the repository, and the difference to the synced branch."""

    source_url: str | None = Field(default=None, alias="sourceURL", description="The file at the git host")
    repository_url: str | None = Field(default=None, alias="repositoryURL", description="The repository at the git host")
    compare_url: str | None = Field(default=None, alias="compareURL", description="The comparison with the repository's own branch")
    new_pull_request_url: str | None = Field(
        default=None, alias="newPullRequestURL", description="The page on which a pull request for the branch is opened"
    )


class ResourceWrapper(TypeMeta):
    """File and its resource. ``ref`` is its commit, ``hash`` the hash of its content, ``timestamp`` its last change in RFC 3339."""

    path: str = Field(description="The path of the file")
    ref: str | None = Field(default=None, description="The commit at which the file was read")
    hash: str | None = Field(default=None, description="The hash of its bytes")
    timestamp: str | None = Field(default=None, description="When the file was last changed: RFC 3339")
    urls: ResourceUrls | None = Field(default=None, description="The addresses of pages about the file")
    resource: ResourceObjects = Field(description="The object in the file")
    lint: list[LintIssue] | None = Field(default=None, description="The lint issues of the object")
    errors: list[str] | None = Field(default=None, description="Why the file cannot be stored")


class PlannedAction(StrEnum):
    """Action that a sync would take on an object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REFUSE = "refuse"


class PlannedChange(ApiModel):
    """Effect of a sync on one object.

    ``path`` is the object's file or directory, empty for the repository's own folder. ``folder`` is its folder after the
    sync, None for the root. ``diff`` is the update as a JSON patch (RFC 6902). ``message`` is the reason for a refusal, or
    for a missing diff.
    """

    action: Annotated[PlannedAction, Field(strict=False)] = Field(description="The action of the sync")
    group: str = Field(description="The group of the object")
    resource: str = Field(description="The plural of its kind")
    name: str = Field(description="The name of the object")
    path: str = Field(description="The file or directory of the object, empty for the repository's own folder")
    title: str | None = Field(default=None, description="The title that users see")
    folder: str | None = Field(default=None, description="The folder of the object after the sync; missing at the root")
    message: str | None = Field(default=None, description="Why it is refused, or why there is no diff")
    diff: list[dict[str, Any]] | None = Field(
        default=None, description="A JSON patch (RFC 6902) from the stored object to the one that would be stored"
    )


class SyncPlan(ListEnvelope):
    """Effects of a sync of the commit ``ref`` on the objects of ``base``, the stored commit (None: nothing is stored yet).

    ``summary`` counts all effects, like the summary of a completed job; ``items`` are the first effects. If there are
    ``errors``, the sync would write nothing.
    """

    ref: str | None = Field(default=None, description="The commit of the plan")
    base: str | None = Field(default=None, description="The commit that is stored")
    summary: list[JobResourceSummary] = Field(description="The effects of the sync, by kind of object")
    items: list[PlannedChange] = Field(description="The first effects on single objects")
    truncated: bool = Field(default=False, description="Whether there are more items than are shown")
    errors: list[str] | None = Field(default=None, description="Why the sync would write nothing")


class Revision(ApiModel):
    """Commit that was synced at the time ``synced`` by the job with the uid ``job``.

    ``current``: it is stored now. ``withdrawn``: a rollback restored an earlier commit afterwards.
    """

    ref: str = Field(description="The commit")
    synced: int = Field(description="When it was first stored, in Unix milliseconds")
    job: str | None = Field(default=None, description="The uid of the job that stored it")
    current: bool | None = Field(default=None, description="Whether it is stored now")
    withdrawn: bool | None = Field(default=None, description="Whether an earlier commit was restored after it")


class RevisionList(ListEnvelope):
    """Commits of a repository that were synced."""

    items: list[Revision] = Field(description="The commits, the newest first")


class WebhookResponse(ApiModel):
    """Response to a webhook request of a git host. ``job`` is the submitted job, if any."""

    kind: str = Field(default="WebhookResponse", description="The kind of the response")
    api_version: str = Field(description="The group and version of the kind")
    code: int = Field(description="The HTTP status of the response")
    message: str = Field(description="The result of the request")
    job: JobSpec | None = Field(default=None, description="The job that was submitted")
