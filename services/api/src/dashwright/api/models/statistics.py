"""Statistics of a server, as the classic API returns them."""

from dashwright.common.models.api_model import ApiModel


class ServerStats(ApiModel):
    """Numbers of objects and accounts in all organizations, 0 for objects that this server does not store.

    Active users sent a request within 30 days, daily active users within one day. Each user is counted by their highest role.
    """

    orgs: int
    dashboards: int
    folders: int
    snapshots: int = 0
    tags: int
    datasources: int
    playlists: int = 0
    stars: int
    teams: int
    alerts: int = 0
    apikeys: int
    serviceaccounts: int
    users: int
    admins: int
    editors: int
    viewers: int
    active_users: int
    active_admins: int
    active_editors: int
    active_viewers: int
    #: Always 0: there are no browser sessions, since each request contains its credentials.
    active_sessions: int = 0
    daily_active_users: int
    daily_active_admins: int
    daily_active_editors: int
    daily_active_viewers: int
    daily_active_sessions: int = 0
    monthly_active_users: int
    #: Always 0: devices of anonymous users are not counted.
    active_devices: int = 0
