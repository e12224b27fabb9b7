"""Folders: ``folder.grafana.app/v0alpha1``. The specification's sync target needs them, so they are served beside dashboards."""

from pydantic import Field

from dashwright.common.models.shape import Shape


class FolderSpec(Shape):
    title: str = Field(min_length=1, description="What people see")
    description: str | None = Field(default=None, description="What the folder is for")


class FolderInfo(Shape):
    """A folder on the way down from the root. ``parent`` is missing at the root."""

    name: str
    title: str
    parent: str | None = None


class FolderInfoList(Shape):
    kind: str
    api_version: str
    metadata: dict[str, str]
    items: list[FolderInfo]


class DescendantCount(Shape):
    group: str
    resource: str
    count: int


class DescendantCounts(Shape):
    """How many objects of each kind lie in a folder, at any depth."""

    kind: str
    api_version: str
    metadata: dict[str, str]
    counts: list[DescendantCount]
