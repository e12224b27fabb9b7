"""Legacy API keys and service account tokens, as the API returns them. Times are RFC 3339, in UTC."""

from pydantic import Field

from dashwright.api.models.response import ResponseModel, RoleName, Time
from dashwright.common.models.api_model import Integer64
from dashwright.common.models.classic import ClassicBody, Text


class ApiKey(ResponseModel):
    """A legacy key."""

    id: int
    name: str
    role: RoleName
    #: Absent for a key without an expiry.
    expiration: Time = Field(default_factory=str)
    #: Absent for a key that was never used.
    last_used_at: Time = Field(default_factory=str)
    access_control: dict[str, bool] = Field(default_factory=dict)


class Token(ResponseModel):
    """A token of a service account. Missing values are null, whereas those of a legacy key are absent."""

    id: int
    name: str
    created: Time
    last_used_at: Time | None
    expiration: Time | None
    #: 0 unless the token expires within seven days.
    seconds_until_expiration: float
    has_expired: bool
    is_revoked: bool


class AddServiceAccountTokenCommand(ClassicBody):
    """A request to create a token of a service account."""

    name: Text = Field(min_length=1)
    #: 0: the token never expires.
    seconds_to_live: Integer64 = 0


class CreatedToken(ResponseModel):
    """A created token. This is the only response that contains the token itself."""

    id: int
    name: str
    key: str
