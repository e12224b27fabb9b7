"""What is told of repositories beside the objects themselves: section 2.5 of the specification. Times are Unix milliseconds."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from dashwright.common.models.provisioning import JobResourceSummary, JobSpec, RepositoryType, ResourceCount, SyncTarget
from dashwright.common.models.shape import Shape


class RepositoryView(Shape):
    """A repository as every member of its organization may see it. ``read_only``: nothing is written to it from here."""

    name: str
    title: str
    read_only: bool = False
    type: Annotated[RepositoryType, Field(strict=False)]
    target: Annotated[SyncTarget, Field(strict=False)]


class RepositoryViewList(Shape):
    kind: str
    api_version: str
    items: list[RepositoryView]


class ResourceStats(Shape):
    """How many objects a namespace holds, by kind and by the repository that manages them; without one, those that none manages."""

    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[ResourceCount]


class ResourceListItem(Shape):
    """An object that a repository manages. ``hash`` is that of its file, ``time`` when the object was last written."""

    path: str
    group: str
    resource: str
    name: str
    hash: str
    time: int | None = None
    title: str | None = None
    folder: str | None = None


class QuarantinedFile(Shape):
    """A file that cannot go in. ``name`` is that of its object, if known, ``hash`` that of its bytes, where these are the reason."""

    path: str
    message: str
    name: str | None = None
    hash: str | None = None
    since: int


class ResourceList(Shape):
    """``items`` are what is stored, ``quarantined`` the files that are not, or whose last good revision is."""

    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[ResourceListItem]
    quarantined: list[QuarantinedFile]


class ErrorDetails(Shape):
    """Where a configuration is wrong (``spec.githost.token``), what kind of fault it is, and what to do."""

    type: str
    field: str | None = None
    detail: str | None = None


class TestResults(Shape):
    """Whether a repository can be read. ``code`` is the HTTP status of the answer."""

    kind: str
    api_version: str
    code: int
    success: bool
    errors: list[ErrorDetails]


class RefItem(Shape):
    """A branch of a git host; ``hash`` is the commit it stands at."""

    name: str
    hash: str


class RefList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[RefItem]


class Author(Shape):
    """Who made a commit. ``username`` is the login at the git host, empty where git alone is asked."""

    name: str = ""
    username: str = ""
    avatar_url: str | None = Field(default=None, alias="avatarURL")


class HistoryItem(Shape):
    """A commit; ``ref`` is its hash."""

    ref: str
    message: str
    authors: list[Author]
    created_at: int = 0


class HistoryList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[HistoryItem]


class FileItem(Shape):
    """A file of a repository; ``hash`` is that of its bytes, ``size`` in bytes."""

    path: str
    size: int | None = None
    hash: str | None = None
    modified: int | None = None
    author: str | None = None


class FileList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[FileItem]


class ResourceType(Shape):
    """What a file holds; ``classic`` is what it started as, of a file that is no resource by itself."""

    group: str
    version: str
    kind: str
    resource: str
    classic: str | None = None


class ResourceAction(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


class ResourceObjects(Shape):
    """A file's object: as the file has it (``file``), as it is stored now (``existing``), and as it would be stored (``dry_run``)."""

    type: ResourceType
    file: dict[str, Any] | None = None
    existing: dict[str, Any] | None = None
    action: Annotated[ResourceAction, Field(strict=False)] | None = None
    dry_run: dict[str, Any] | None = None


class LintSeverity(StrEnum):
    ERROR = "error"
    EXCLUDE = "exclude"
    FIXED = "fixed"
    QUIET = "quiet"
    WARNING = "warning"


class LintIssue(Shape):
    severity: Annotated[LintSeverity, Field(strict=False)]
    rule: str
    message: str


class ResourceUrls(Shape):
    """Where people see a file at its git host, and what differs there from the repository's own branch."""

    source_url: str | None = Field(default=None, alias="sourceURL")
    repository_url: str | None = Field(default=None, alias="repositoryURL")
    compare_url: str | None = Field(default=None, alias="compareURL")
    new_pull_request_url: str | None = Field(default=None, alias="newPullRequestURL")


class ResourceWrapper(Shape):
    """A file and what it stands for. ``ref`` is the commit it was read at, ``hash`` that of its bytes, ``timestamp`` RFC 3339."""

    kind: str
    api_version: str
    path: str
    ref: str | None = None
    hash: str | None = None
    timestamp: str | None = None
    urls: ResourceUrls | None = None
    resource: ResourceObjects
    lint: list[LintIssue] | None = None
    errors: list[str] | None = None


class PlannedAction(StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    REFUSE = "refuse"


class PlannedChange(Shape):
    """What a sync would do to one object. ``path`` is its file or directory, empty of the repository's own folder.

    ``folder`` is where it would lie, None at the root. ``diff`` of an update is a JSON patch (RFC 6902) from the stored object to the one
    that would be stored. ``message`` says why it is refused, or why there is no diff.
    """

    action: Annotated[PlannedAction, Field(strict=False)]
    group: str
    resource: str
    name: str
    path: str
    title: str | None = None
    folder: str | None = None
    message: str | None = None
    diff: list[dict[str, Any]] | None = None


class SyncPlan(Shape):
    """What a sync would do. ``ref`` is the commit looked at, ``base`` the one that is stored; None where there is none.

    ``summary`` counts everything, as the job would at its end; ``items`` are the first of it. ``errors`` say why nothing at all would be
    written.
    """

    kind: str
    api_version: str
    metadata: dict[str, str]
    ref: str | None = None
    base: str | None = None
    summary: list[JobResourceSummary]
    items: list[PlannedChange]
    truncated: bool = False
    errors: list[str] | None = None


class Revision(Shape):
    """A commit that was stored; ``synced`` is when it first was, ``job`` the uid of the job that did it.

    ``current``: it is stored now. ``withdrawn``: an earlier one was stored after it.
    """

    ref: str
    synced: int
    job: str | None = None
    current: bool | None = None
    withdrawn: bool | None = None


class RevisionList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[Revision]


class WebhookResponse(Shape):
    """What a git host is answered that called a webhook; ``job`` is what was asked for by it, and waits."""

    kind: str = "WebhookResponse"
    api_version: str
    code: int
    message: str
    job: JobSpec | None = None
