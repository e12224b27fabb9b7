"""Dashboards and folders as the classic API returns them."""

from typing import Any, Literal

from pydantic import Field

from dashwright.api.domain.times import ZERO_TIME
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.dashboard_access import AnnotationPermission


class ClassicSearchHit(ApiModel):
    """A dashboard or folder that a search found."""

    id: int
    uid: str
    org_id: int
    title: str
    #: ``db/`` and the title as a slug.
    uri: str
    #: The path of the page that shows the object.
    url: str
    #: Always empty.
    slug: str = ""
    type: Literal["dash-db", "dash-folder"]
    tags: list[str]
    is_starred: bool
    #: Always 0, because titles are the only sort key.
    sort_meta: int = 0
    is_deleted: bool = False
    #: The end of the time in the trash; missing for an object that is not deleted.
    permanently_delete_date: str | None = None
    #: The members about the folder are missing at the root, and if the caller may not read the folder.
    folder_id: int | None = None
    folder_uid: str | None = None
    folder_title: str | None = None
    folder_url: str | None = None


class SortOption(ApiModel):
    """An order of search results."""

    #: The value of the parameter ``sort``.
    name: str
    display_name: str
    description: str
    #: Always empty.
    meta: str = ""


class SortOptions(ApiModel):
    """The orders of search results."""

    sort_options: list[SortOption]


class FolderItem(ApiModel):
    """A folder in a list of folders with the same parent."""

    id: int
    uid: str
    title: str
    parent_uid: str | None = None


class FolderAncestor(ApiModel):
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
    #: Missing if the caller may not read the parent.
    parent_uid: str | None = None


class FolderShape(FolderAncestor):
    """A folder."""

    #: The ancestors that the caller may read, the highest first.
    parents: list[FolderAncestor] | None = None
    description: str | None = None
    managed_by: str | None = None
    access_control: dict[str, bool] | None = None


class FolderCounts(ApiModel):
    """The number of objects of each kind in a folder, at any depth."""

    folder: int = 0
    dashboard: int = 0
    librarypanel: int = 0
    alertrule: int = 0


class FolderDeleted(ApiModel):
    """The response to the deletion of a folder."""

    id: int
    title: str
    message: str


class DashboardSaved(ApiModel):
    """The response to a request that saved a dashboard."""

    id: int
    uid: str
    url: str
    #: ``success``.
    status: str
    version: int
    slug: str
    folder_uid: str


class SaveRefused(ApiModel):
    """The response to a save that was refused because the object has changed since the sent version."""

    #: ``version-mismatch``.
    status: str
    message: str


class DashboardMeta(ApiModel):
    """Metadata of a dashboard."""

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
    #: Only a snapshot expires.
    expires: str = ZERO_TIME
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
    #: The path of the dashboard's file; empty if a file is not its source.
    provisioned_external_id: str


class DashboardShape(ApiModel):
    """A dashboard with its metadata."""

    meta: DashboardMeta
    #: The spec as it was saved, with ``id``, ``uid`` and ``version``.
    dashboard: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class _DashboardSummary(ApiModel):
    """The members that the responses to the deletion and to the restoration of a dashboard have in common."""

    title: str
    message: str
    uid: str
    id: int


class DashboardDeleted(_DashboardSummary):
    """The response to the deletion of a dashboard."""


class DashboardRestored(_DashboardSummary):
    """The response to the restoration of a dashboard."""


class VersionItem(ApiModel):
    """A version of a dashboard, without its body."""

    #: Equal to ``version``.
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


class VersionPage(ApiModel):
    """A page of versions, the newest first."""

    #: Empty on the last page.
    continue_token: str
    versions: list[VersionShape]


class HomeShape(ApiModel):
    """The home dashboard of the caller."""

    redirect_uri: str


class TagCount(ApiModel):
    """A tag and the number of dashboards that have it."""

    term: str
    count: int


class DashboardImported(ApiModel):
    """An imported dashboard, as Grafana describes it."""

    uid: str
    plugin_id: str
    title: str
    imported: bool = Field(default=True, description="Always true")
    imported_uri: str
    imported_url: str
    slug: str
    dashboard_id: int
    #: 0: the root, or a folder that the caller may not read.
    folder_id: int
    folder_uid: str
    #: The version of the stored dashboard, as ``revision``.
    imported_revision: int
    revision: int
    description: str = Field(default="", description="Always empty")
    path: str
    removed: bool = Field(default=False, description="Always false")
