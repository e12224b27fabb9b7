"""Small objects of users as the classic API returns them: snapshots, playlists, short URLs, and entries of query histories."""

from typing import Any

from pydantic import Field

from dashwright.api.models.classic_objects import DashboardMeta
from dashwright.common.models.api_model import ApiModel


class SnapshotCreated(ApiModel):
    """The keys and addresses of a created snapshot. The delete key is shown only here."""

    key: str
    delete_key: str
    #: The address at which clients read the snapshot.
    url: str
    #: The address that deletes the snapshot.
    delete_url: str


class SnapshotItem(ApiModel):
    """A snapshot in a list."""

    name: str
    key: str
    #: False: snapshots are never stored on other servers.
    external: bool = False
    external_url: str = ""
    expires: str
    created: str
    #: Equal to ``created``, because snapshots are not changed.
    updated: str


class SnapshotMeta(DashboardMeta):
    """Metadata of a snapshot. Members about rights and folders are empty."""

    type: str = "snapshot"
    is_snapshot: bool = True


class SnapshotShape(ApiModel):
    """A snapshot."""

    meta: SnapshotMeta
    #: The dashboard with its data, as it was sent.
    dashboard: dict[str, Any] = Field(json_schema_extra={"additionalProperties": True})


class SnapshotDeleted(ApiModel):
    """The response to the deletion of a snapshot."""

    id: int
    message: str


class SnapshotSharingOptions(ApiModel):
    """Options for sharing snapshots: the servers that can store them."""

    external_snapshot_url: str = Field(default="", alias="externalSnapshotURL")
    external_snapshot_name: str = ""
    external_enabled: bool = False
    snapshot_enabled: bool


class PlaylistDashboard(ApiModel):
    """An item of a playlist: one dashboard, or all dashboards with a tag."""

    #: ``dashboard_by_uid``, ``dashboard_by_tag`` or ``dashboard_by_id``.
    type: str
    #: The uid, tag or id.
    value: str


class PlaylistSummary(ApiModel):
    """A playlist in a list."""

    uid: str
    name: str
    #: For how long each dashboard is shown, such as ``5m``.
    interval: str


class PlaylistShape(PlaylistSummary):
    """A playlist."""

    items: list[PlaylistDashboard]


class ShortUrlCreated(ApiModel):
    """A short URL."""

    uid: str
    #: The complete address, which redirects to the path.
    url: str


class HistoryEntryHead(ApiModel):
    """An entry of a query history, without its queries."""

    uid: str
    datasource_uid: str
    #: The id of the user.
    created_by: int
    #: Unix seconds.
    created_at: int
    comment: str
    starred: bool


class HistoryEntryShape(HistoryEntryHead):
    """An entry of a query history: queries that a user ran together."""

    #: As they were sent.
    queries: list[dict[str, Any]] = Field(json_schema_extra={"items": {"type": "object", "additionalProperties": True}})


class HistoryEntryResponse(ApiModel):
    """The response with one entry of a query history."""

    result: HistoryEntryShape


class HistoryEntries(ApiModel):
    """A page of the entries of a query history."""

    total_count: int
    page: int
    per_page: int
    query_history: list[HistoryEntryShape]


class HistoryPageResponse(ApiModel):
    """The response with a page of the entries of a query history."""

    result: HistoryEntries


class HistoryEntryDeleted(ApiModel):
    """The response to the deletion of an entry of a query history."""

    id: int
    message: str
