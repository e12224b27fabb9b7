"""Users as the classic API returns them."""

from typing import Annotated

from pydantic import Field

from dashwright.api.models.response import Time
from dashwright.common.models.api_model import ApiModel, Integer64
from dashwright.common.models.classic import ClassicBody, Text


class AdminCreateUserForm(ClassicBody):
    """A request to create a user. A missing login has the value of the e-mail, and a missing e-mail that of the login."""

    name: Text = ""
    email: Text = ""
    login: Text = ""
    password: Text = ""
    #: 0: the first organization.
    org_id: Integer64 = 0


class UserForm(ClassicBody):
    """Changes to a user. Missing members keep their values."""

    login: Text = ""
    email: Text = ""
    name: Text | None = None
    theme: Text | None = None


class PasswordForm(ClassicBody):
    """A new password that a server admin sets."""

    password: Text


class OwnPasswordForm(ClassicBody):
    """The old and new password of the caller."""

    old_password: Text = ""
    new_password: Text = ""


class ServerAdminForm(ClassicBody):
    """The new server admin status of a user."""

    is_grafana_admin: bool


class GrantForm(ClassicBody):
    """A permission to grant."""

    action: Text
    #: ``*`` if missing.
    scope: Text = "*"


class GrantsForm(ClassicBody):
    """All permissions of an account. Existing grants that are not listed are revoked."""

    permissions: Annotated[list[GrantForm], Field(max_length=1000)]


class ProfileShape(ApiModel):
    """A user."""

    id: int
    uid: str
    email: str
    name: str
    login: str
    theme: str = ""
    org_id: int
    is_grafana_admin: bool
    is_disabled: bool
    #: Always false, as the three members below, because no other system manages accounts.
    is_external: bool = False
    is_externally_synced: bool = False
    is_grafana_admin_externally_synced: bool = False
    is_provisioned: bool = False
    auth_labels: list[str] = Field(default_factory=list)
    updated_at: Time
    created_at: Time
    avatar_url: str
    access_control: dict[str, bool] | None = None


class KeyProfile(ApiModel):
    """The response of ``GET /api/user`` to a legacy key, which belongs to no user."""

    uid: str
    login: str
    name: str
    org_id: int
    is_grafana_admin: bool = False


class UserItem(ApiModel):
    """A user in the list of all users."""

    id: int
    uid: str
    name: str
    login: str
    email: str
    avatar_url: str
    is_admin: bool
    is_disabled: bool
    #: Always false, because no other system manages accounts.
    is_provisioned: bool = False
    last_seen_at: Time
    last_seen_at_age: str
    auth_labels: list[str] = Field(default_factory=list)
    created: Time


class UserPage(ApiModel):
    """A page of users."""

    total_count: int
    users: list[UserItem]
    page: int
    per_page: int


class AuthTokenShape(ApiModel):
    """A browser session."""

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


class UserCreated(ApiModel):
    """The response to the creation of a user."""

    id: int
    uid: str
    message: str


class GrantShape(ApiModel):
    """A granted permission."""

    action: str
    scope: str = "*"


class GrantList(ApiModel):
    """The explicit grants of an account."""

    permissions: list[GrantShape]
