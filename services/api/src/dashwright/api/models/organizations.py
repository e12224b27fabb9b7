"""Organizations and their members, as the classic API shows them."""

from pydantic import Field

from dashwright.api.models.response import RoleName, Time
from dashwright.common.models.classic import ClassicBody, Text
from dashwright.common.models.shape import Shape


class OrganizationForm(ClassicBody):
    name: Text


class AddressForm(ClassicBody):
    """Replaces the whole address: what is missing is empty."""

    address1: Text = ""
    address2: Text = ""
    city: Text = ""
    zip_code: Text = ""
    state: Text = ""
    country: Text = ""


class MemberForm(ClassicBody):
    login_or_email: Text
    role: Text = ""


class RoleForm(ClassicBody):
    role: Text = ""


class AddressShape(Shape):
    """Empty texts where nothing is known, never null."""

    address1: str = ""
    address2: str = ""
    city: str = ""
    zip_code: str = ""
    state: str = ""
    country: str = ""


class OrganizationShape(Shape):
    id: int
    name: str
    address: AddressShape


class OrganizationItem(Shape):
    """An organization in the list of all."""

    id: int
    name: str


class OrganizationMade(Shape):
    message: str
    org_id: int


class MemberAdded(Shape):
    message: str
    user_id: int


class MembershipShape(Shape):
    """An organization in the list of a user's own."""

    org_id: int
    name: str
    role: RoleName


class MemberShape(Shape):
    """A person in an organization."""

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
    auth_labels: list[str] = Field(default_factory=list)
    is_externally_synced: bool = False
    is_provisioned: bool = False
    access_control: dict[str, bool] | None = None


class MemberPage(Shape):
    total_count: int
    org_users: list[MemberShape]
    page: int
    per_page: int


class InviteShape(Shape):
    """An invitation to an organization that nobody has accepted yet."""

    id: int
    org_id: int
    name: str
    email: str
    role: RoleName
    status: str
    code: str
    url: str
    created_on: Time


class MemberFound(Shape):
    """A member as those see them who look for somebody to name."""

    user_id: int
    uid: str
    login: str
    avatar_url: str
