"""Folders: ``folder.grafana.app/v0alpha1``. Repositories are synced into them."""

from pydantic import Field

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.meta import ListEnvelope, TypeMeta


class FolderSpec(ApiModel):
    """Spec of a folder."""

    title: str = Field(min_length=1, description="The title that users see")
    description: str | None = Field(default=None, description="What the folder is for")


class FolderInfo(ApiModel):
    """Folder on the path from the root to a folder. ``parent`` is missing in the first folder of the path."""

    name: str = Field(description="The name of the folder")
    title: str = Field(description="The title that users see")
    parent: str | None = Field(default=None, description="The folder that contains it; missing at the root")


class FolderInfoList(ListEnvelope):
    """Folders above a folder."""

    items: list[FolderInfo] = Field(description="The folders, from the root down")


class DescendantCount(ApiModel):
    """Number of objects of one kind in a folder."""

    group: str = Field(description="The group of the objects")
    resource: str = Field(description="The plural of their kind")
    count: int = Field(description="The number of objects")


class DescendantCounts(ListEnvelope):
    """Numbers of objects of each kind in a folder, at any depth."""

    counts: list[DescendantCount] = Field(description="The counts, by kind")


class FolderAccessInfo(TypeMeta):
    """Permissions of the caller on a folder."""

    can_save: bool = Field(description="Whether the caller may change the folder and save objects in it")
    can_edit: bool = Field(description="The same value as canSave")
    can_admin: bool = Field(description="Whether the caller may change the access rules of the folder")
    can_delete: bool = Field(description="Whether the caller may delete the folder")
