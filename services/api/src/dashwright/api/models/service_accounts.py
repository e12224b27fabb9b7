"""Service accounts as they are listed, read and changed. Times are RFC 3339, in UTC."""

from pydantic import Field

from dashwright.api.models.response import ResponseModel, RoleName, Time
from dashwright.common.models.classic import ClassicBody, Text


class CreateServiceAccountForm(ClassicBody):
    """Without a role it is Viewer."""

    name: Text = Field(min_length=1)
    role: RoleName | None = None
    is_disabled: bool = False


class ServiceAccountChange(ClassicBody):
    """What is missing stays as it is."""

    name: Text | None = None
    role: RoleName | None = None
    is_disabled: bool | None = None


class _ServiceAccountIdentity(ResponseModel):
    """What every answer says of an account, first."""

    id: int
    uid: str
    name: str
    login: str
    org_id: int
    is_disabled: bool


class ServiceAccount(_ServiceAccountIdentity):
    """One of a list, or the one just made. ``tokens`` counts all it has."""

    role: RoleName
    tokens: int
    avatar_url: str
    access_control: dict[str, bool] = Field(default_factory=dict)


class ServiceAccountProfile(_ServiceAccountIdentity):
    """One of its own. ``tokens`` is absent where it has none; ``teams`` is always null."""

    created_at: Time
    updated_at: Time
    avatar_url: str
    role: RoleName
    teams: None
    tokens: int = Field(default_factory=int)
    access_control: dict[str, bool] = Field(default_factory=dict)


class ServiceAccountPage(ResponseModel):
    """``total_count`` counts what is on all pages."""

    total_count: int
    service_accounts: list[ServiceAccount]
    page: int
    per_page: int


class ServiceAccountChanged(ResponseModel):
    """What a change answers; the member ``serviceaccount`` is written in small letters."""

    message: str
    id: int
    name: str
    serviceaccount: ServiceAccountProfile


class Migration(ResponseModel):
    """How many legacy keys there were, and got service accounts, and which did not and why."""

    total: int
    migrated: int
    failed: int
    failed_apikey_ids: list[int] = Field(alias="failedApikeyIDs")
    failed_details: list[str]
