"""Dashboards and folders as the classic API returns them."""

from typing import Any, Literal

from pydantic import Field

from dashwright.common.models.dashboard_access import AnnotationPermission
from dashwright.common.models.shape import Shape


class FoundItem(Shape):
    """A dashboard or folder that a search found."""

    id: int
    uid: str
    org_id: int
    title: str
    uri: str
    url: str
    slug: str = ""
    type: Literal["dash-db", "dash-folder"]
    tags: list[str]
    is_starred: bool
    sort_meta: int = 0
    is_deleted: bool = False
    permanently_delete_date: str | None = None
    folder_id: int | None = None
    folder_uid: str | None = None
    folder_title: str | None = None
    folder_url: str | None = None


class SortOption(Shape):
    """An order of search results."""

    #: The value of the parameter ``sort``.
    name: str
    display_name: str
    description: str
    meta: str = ""


class SortOptions(Shape):
    """The orders of search results."""

    sort_options: list[SortOption]


class FolderItem(Shape):
    """A folder in a list of folders with the same parent."""

    id: int
    uid: str
    title: str
    parent_uid: str | None = None


class FolderAbove(Shape):
    """A folder on the path from the root."""

    id: int
    uid: str
    org_id: int
    title: str
    url: str
    has_acl: bool = False
    can_save: bool
    can_edit: bool
    can_admin: bool
    can_delete: bool
    created_by: str
    created: str
    updated_by: str
    updated: str
    version: int
    #: Only given if the caller may read the parent.
    parent_uid: str | None = None


class FolderShape(FolderAbove):
    """A folder."""

    #: The ancestors that the caller may read, the highest first.
    parents: list[FolderAbove] | None = None
    description: str | None = None
    managed_by: str | None = None
    access_control: dict[str, bool] | None = None


class FolderCounts(Shape):
    """The numbers of objects in a folder, at any depth."""

    folder: int = 0
    dashboard: int = 0
    librarypanel: int = 0
    alertrule: int = 0


class FolderDeleted(Shape):
    """The response to a deleted folder."""

    id: int
    title: str
    message: str


class DashboardSaved(Shape):
    """The response to a saved dashboard."""

    id: int
    uid: str
    url: str
    status: str
    version: int
    slug: str
    folder_uid: str


class SaveRefused(Shape):
    """The response to a save that was refused because the dashboard has changed."""

    #: ``version-mismatch``.
    status: str
    message: str


class DashboardMeta(Shape):
    """Facts about a dashboard that are not part of its spec."""

    type: str = "db"
    can_save: bool
    can_edit: bool
    can_admin: bool
    can_star: bool
    can_delete: bool
    is_starred: bool = False
    annotations_permissions: AnnotationPermission | None = None
    slug: str
    url: str
    expires: str = "0001-01-01T00:00:00Z"
    created: str
    updated: str
    updated_by: str
    created_by: str
    version: int
    has_acl: bool = False
    is_folder: bool = False
    is_home: bool | None = None
    api_version: str | None = None
    folder_id: int
    folder_uid: str
    folder_title: str
    folder_url: str
    provisioned: bool
    provisioned_external_id: str


class DashboardShape(Shape):
    """A dashboard with its metadata."""

    meta: DashboardMeta
    #: The spec as it was saved, with ``id``, ``uid`` and ``version``.
    dashboard: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class DashboardDeleted(Shape):
    """The response to a deleted dashboard."""

    title: str
    message: str
    uid: str
    id: int


class VersionItem(Shape):
    """A version of a dashboard, without its body."""

    #: The same number as ``version``.
    id: int
    dashboard_id: int
    uid: str
    parent_version: int
    restored_from: int
    version: int
    created: str
    created_by: str
    message: str


class VersionShape(VersionItem):
    """A version of a dashboard."""

    #: The dashboard as it was in this version.
    data: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class VersionPage(Shape):
    """A page of versions, the newest first."""

    #: Empty on the last page.
    continue_token: str
    versions: list[VersionShape]


class HomeShape(Shape):
    """The home dashboard of the caller."""

    redirect_uri: str


class TagCount(Shape):
    """A tag and the number of dashboards that have it."""

    term: str
    count: int
