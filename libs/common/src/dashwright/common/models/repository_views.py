"""What is told of repositories beside the objects themselves: section 2.5 of the specification. Times are Unix milliseconds."""

from typing import Annotated

from pydantic import Field

from dashwright.common.models.provisioning import RepositoryType, ResourceCount, SyncTarget
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


class ResourceList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[ResourceListItem]


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
