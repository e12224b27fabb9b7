"""Playlists: ``playlist.grafana.app``. A playlist is a sequence of dashboards that a screen shows one after the other."""

from typing import Literal

from pydantic import Field

from dashwright.common.models.api_model import ApiModel

#: The way in which an item of a playlist selects dashboards.
ItemType = Literal["dashboard_by_uid", "dashboard_by_tag", "dashboard_by_id"]


class PlaylistItem(ApiModel):
    """Item of a playlist: one dashboard, or all dashboards with a tag."""

    type: ItemType = Field(description="What selects the dashboards; `dashboard_by_id` is for old playlists")
    value: str = Field(description="The uid, tag or id")


class PlaylistSpec(ApiModel):
    """Playlist."""

    title: str = Field(description="The title that users see")
    interval: str = Field(description="For how long each dashboard is shown, such as `5m`")
    items: list[PlaylistItem] = Field(default_factory=list, description="The dashboards, in their order")


class PlaylistStatus(ApiModel):
    """Status of a playlist, which is always empty."""
