"""Organizations and their members, as the classic API returns them."""

from pydantic import Field

from dashwright.api.models.response import RoleName, Time
from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.classic import ClassicBody, Text


class OrganizationForm(ClassicBody):
    """The name of a new or renamed organization."""

    name: Text


class AddressForm(ClassicBody):
    """A new postal address of an organization. A missing member becomes empty."""

    address1: Text = ""
    address2: Text = ""
    city: Text = ""
    zip_code: Text = ""
    state: Text = ""
    country: Text = ""


class MemberForm(ClassicBody):
    """A request to add a user to an organization."""

    login_or_email: Text
    role: Text = ""


class RoleForm(ClassicBody):
    """A new role of a member."""

    role: Text = ""


class AddressShape(ApiModel):
    """The address of an organization. Unknown parts are empty strings, never null."""

    address1: str = ""
    address2: str = ""
    city: str = ""
    zip_code: str = ""
    state: str = ""
    country: str = ""


class OrganizationShape(ApiModel):
    """An organization."""

    id: int
    name: str
    address: AddressShape


class OrganizationItem(ApiModel):
    """An organization in the list of all organizations."""

    id: int
    name: str


class OrganizationCreated(ApiModel):
    """The response to the creation of an organization."""

    message: str
    org_id: int


class MemberAdded(ApiModel):
    """The response to the addition of a member."""

    message: str
    user_id: int


class MembershipShape(ApiModel):
    """An organization in the list of a user's organizations."""

    org_id: int
    name: str
    role: RoleName


class MemberShape(ApiModel):
    """A member of an organization."""

    org_id: int
    user_id: int
    uid: str
    email: str
    name: str
    avatar_url: str
    login: str
    role: RoleName
    last_seen_at: Time
    last_seen_at_age: str
    created: Time
    is_disabled: bool
    #: Empty or false, as the two members below, because no other system manages accounts.
    auth_labels: list[str] = Field(default_factory=list)
    is_externally_synced: bool = False
    is_provisioned: bool = False
    access_control: dict[str, bool] | None = None


class MemberPage(ApiModel):
    """A page of members."""

    total_count: int
    org_users: list[MemberShape]
    page: int
    per_page: int


class InviteShape(ApiModel):
    """A pending invitation to an organization."""

    id: int
    org_id: int
    name: str
    email: str
    role: RoleName
    status: str
    code: str
    url: str
    created_on: Time


class MemberMatch(ApiModel):
    """A member in a lookup of users."""

    user_id: int
    uid: str
    login: str
    avatar_url: str
