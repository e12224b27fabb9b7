"""Access rules on folders and dashboards, as the classic API returns them."""

from typing import Literal

from dashwright.common.models.api_model import ApiModel

LevelName = Literal["View", "Edit", "Admin"]


class ObjectPermission(ApiModel):
    """A permission of a user, team or role on a folder or dashboard."""

    #: The id of the dashboard; folders have ``folder_id`` instead.
    dashboard_id: int | None = None
    folder_id: int | None = None
    created: str
    updated: str
    user_id: int = 0
    user_uid: str = ""
    user_login: str = ""
    user_email: str = ""
    user_avatar_url: str = ""
    team_id: int = 0
    team_uid: str = ""
    team: str = ""
    team_email: str = ""
    team_avatar_url: str = ""
    role: str | None = None
    #: 1 view, 2 edit, 4 admin.
    permission: int
    permission_name: LevelName
    #: ``uid``, ``title``, ``slug`` and ``url`` are those of the object, or of the folder that the rule is inherited from.
    uid: str
    title: str = ""
    slug: str = ""
    is_folder: bool
    url: str = ""
    inherited: bool


class HeldPermission(ApiModel):
    """A permission in the format of Grafana's access control API."""

    role_name: str
    #: True for a stored rule, False for a default rule.
    is_managed: bool
    is_inherited: bool
    is_service_account: bool
    user_id: int | None = None
    user_login: str | None = None
    team_id: int | None = None
    team: str | None = None
    built_in_role: str | None = None
    actions: list[str]
    permission: LevelName


class Assignments(ApiModel):
    """The types of holders that a permission can be granted to."""

    users: bool = True
    service_accounts: bool = True
    teams: bool = True
    built_in_roles: bool = True


class PermissionsDescription(ApiModel):
    """The permissions that exist, and the types of holders that they can be granted to."""

    assignments: Assignments
    permissions: list[LevelName]
