"""Folders: ``folder.grafana.app/v0alpha1``. Served because the specification's sync target needs them."""

from pydantic import Field

from dashwright.common.models.meta import ListEnvelope
from dashwright.common.models.shape import Shape


class FolderSpec(Shape):
    """Folder."""

    title: str = Field(min_length=1, description="What people see")
    description: str | None = Field(default=None, description="What the folder is for")


class FolderInfo(Shape):
    """Folder on the path from the root. ``parent`` is missing at the root."""

    name: str = Field(description="The name of the folder")
    title: str = Field(description="The title that people see")
    parent: str | None = Field(default=None, description="The folder above it; missing at the root")


class FolderInfoList(ListEnvelope):
    """Folders above a folder."""

    items: list[FolderInfo] = Field(description="The folders, from the root down")


class DescendantCount(Shape):
    """Number of objects of one kind in a folder."""

    group: str = Field(description="The group of the objects")
    resource: str = Field(description="The plural of their kind")
    count: int = Field(description="How many objects there are")


class DescendantCounts(ListEnvelope):
    """Numbers of objects of each kind in a folder, at any depth."""

    counts: list[DescendantCount] = Field(description="The counts, by kind")
