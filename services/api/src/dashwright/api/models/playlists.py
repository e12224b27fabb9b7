"""Playlists as the classic API returns them."""

from dashwright.common.models.api_model import ApiModel


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
