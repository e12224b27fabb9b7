"""Users, as the classic API shows them."""

from typing import Annotated

from pydantic import Field

from dashwright.api.models.response import Time
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.models.shape import Shape

Integer64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class AdminCreateUserForm(ClassicBody):
    """One of login and e-mail will do for both. ``org_id`` 0 is the first organization."""

    name: Text = ""
    email: Text = ""
    login: Text = ""
    password: Text = ""
    org_id: Integer64 = 0


class UserForm(ClassicBody):
    """What is missing stays as it is."""

    login: Text = ""
    email: Text = ""
    name: Text | None = None
    theme: Text | None = None


class PasswordForm(ClassicBody):
    password: Text


class OwnPasswordForm(ClassicBody):
    old_password: Text = ""
    new_password: Text = ""


class ServerAdminForm(ClassicBody):
    is_grafana_admin: bool


class GrantForm(ClassicBody):
    """Without a scope it is ``*``."""

    action: Text
    scope: Text = "*"


class GrantsForm(ClassicBody):
    """All that shall be granted: what is not among them is revoked."""

    permissions: Annotated[list[GrantForm], Field(max_length=1000)]


class ProfileShape(Shape):
    id: int
    uid: str
    email: str
    name: str
    login: str
    theme: str = ""
    org_id: int
    is_grafana_admin: bool
    is_disabled: bool
    is_external: bool = False
    is_externally_synced: bool = False
    is_grafana_admin_externally_synced: bool = False
    is_provisioned: bool = False
    auth_labels: list[str] = Field(default_factory=list)
    updated_at: Time
    created_at: Time
    avatar_url: str
    access_control: dict[str, bool] | None = None


class KeyProfile(Shape):
    """What ``GET /api/user`` answers to a legacy key, which is nobody's."""

    uid: str
    login: str
    name: str
    org_id: int
    is_grafana_admin: bool = False


class UserItem(Shape):
    """A user in the list of all."""

    id: int
    uid: str
    name: str
    login: str
    email: str
    avatar_url: str
    is_admin: bool
    is_disabled: bool
    is_provisioned: bool = False
    last_seen_at: Time
    last_seen_at_age: str
    auth_labels: list[str] = Field(default_factory=list)
    created: Time


class UserPage(Shape):
    total_count: int
    users: list[UserItem]
    page: int
    per_page: int


class AuthTokenShape(Shape):
    """A session of a browser."""

    id: int
    is_active: bool
    client_ip: str
    device: str
    os: str
    os_version: str
    browser: str
    browser_version: str
    created_at: Time
    seen_at: Time


class UserMade(Shape):
    id: int
    uid: str
    message: str


class GrantShape(Shape):
    action: str
    scope: str = "*"


class GrantList(Shape):
    permissions: list[GrantShape]
