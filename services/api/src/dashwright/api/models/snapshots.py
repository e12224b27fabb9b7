"""Snapshots as the classic API returns them."""

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
    """The response to a deleted snapshot."""

    id: int
    message: str


class SnapshotSharingOptions(ApiModel):
    """Options for sharing snapshots: the servers that can store them."""

    external_snapshot_url: str = Field(default="", alias="externalSnapshotURL")
    external_snapshot_name: str = ""
    external_enabled: bool = False
    snapshot_enabled: bool
