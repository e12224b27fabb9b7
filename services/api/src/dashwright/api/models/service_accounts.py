"""Requests and responses of the routes of service accounts. Times are RFC 3339, in UTC."""

from pydantic import Field

from dashwright.api.models.response import ResponseModel, RoleName, Time
from dashwright.common.models.classic import ClassicBody, Text


class CreateServiceAccountForm(ClassicBody):
    """A request to create a service account."""

    name: Text = Field(min_length=1)
    #: Viewer if missing.
    role: RoleName | None = None
    is_disabled: bool = False


class UpdateServiceAccountForm(ClassicBody):
    """A request to change a service account. A field that is missing keeps its value."""

    name: Text | None = None
    role: RoleName | None = None
    is_disabled: bool | None = None


class _ServiceAccountFields(ResponseModel):
    """The fields that every response about a service account has."""

    id: int
    uid: str
    name: str
    login: str
    org_id: int
    is_disabled: bool


class ServiceAccount(_ServiceAccountFields):
    """A service account in a list, or a new one."""

    role: RoleName
    #: The number of all tokens, including expired ones.
    tokens: int
    avatar_url: str
    access_control: dict[str, bool] = Field(default_factory=dict)


class ServiceAccountProfile(_ServiceAccountFields):
    """A service account in the response to a request for it."""

    created_at: Time
    updated_at: Time
    avatar_url: str
    role: RoleName
    #: Always null: service accounts are in no team.
    teams: None
    #: The number of all tokens, including expired ones. Not set, and so not in the JSON, if the account has no tokens.
    tokens: int = Field(default_factory=int)
    access_control: dict[str, bool] = Field(default_factory=dict)


class ServiceAccountPage(ResponseModel):
    """A page of service accounts."""

    #: The number of matches on all pages.
    total_count: int
    service_accounts: list[ServiceAccount]
    page: int
    per_page: int


class ServiceAccountChanged(ResponseModel):
    """The response to a request that changed a service account."""

    message: str
    id: int
    name: str
    #: The JSON key is ``serviceaccount``, unlike the camel case of other keys.
    serviceaccount: ServiceAccountProfile


class Migration(ResponseModel):
    """The result of migrating legacy keys to service accounts: the numbers of keys, and the reason of each failure."""

    total: int
    migrated: int
    failed: int
    failed_apikey_ids: list[int] = Field(alias="failedApikeyIDs")
    failed_details: list[str]
