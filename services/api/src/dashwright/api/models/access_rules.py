"""Rules of access on folders and dashboards, as the classic API shows them."""

from typing import Literal

from dashwright.common.models.shape import Shape

LevelName = Literal["View", "Edit", "Admin"]


class ObjectPermission(Shape):
    """A level of a user, a team or a role on an object. ``permission``: 1 view, 2 edit, 4 admin.

    ``dashboard_id`` or ``folder_id`` is the number of the object. ``uid``, ``title``, ``slug`` and ``url`` are the object's, or those of
    the folder that an inherited rule comes from.
    """

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
    permission: int
    permission_name: LevelName
    uid: str
    title: str = ""
    slug: str = ""
    is_folder: bool
    url: str = ""
    inherited: bool


class HeldPermission(Shape):
    """The same in the words of access control: ``is_managed`` is what somebody has set."""

    role_name: str
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


class Assignments(Shape):
    users: bool = True
    service_accounts: bool = True
    teams: bool = True
    built_in_roles: bool = True


class PermissionsDescribed(Shape):
    """Whom permissions can be given to, and which there are."""

    assignments: Assignments
    permissions: list[LevelName]
