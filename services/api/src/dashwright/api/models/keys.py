"""Legacy API keys and the tokens of service accounts, as their owners are shown them. Times are RFC 3339, in UTC."""

from typing import Annotated

from pydantic import Field

from dashwright.api.models.response import ResponseModel, RoleName, Time
from dashwright.common.models.classic import ClassicBody, Text

Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class ApiKey(ResponseModel):
    """A legacy key. ``expiration`` is absent where it never ends, ``last_used_at`` where it was never used."""

    id: int
    name: str
    role: RoleName
    expiration: Time = Field(default_factory=str)
    last_used_at: Time = Field(default_factory=str)
    access_control: dict[str, bool] = Field(default_factory=dict)


class Token(ResponseModel):
    """A token. Unlike a key it shows null for what is missing. ``seconds_until_expiration`` is 0 unless it ends within seven days."""

    id: int
    name: str
    created: Time
    last_used_at: Time | None
    expiration: Time | None
    seconds_until_expiration: float
    has_expired: bool
    is_revoked: bool


class AddServiceAccountTokenCommand(ClassicBody):
    """0 seconds to live are for ever."""

    name: Text = Field(min_length=1)
    seconds_to_live: Int64 = 0


class MadeToken(ResponseModel):
    """The one answer that ever holds the text its holder sends."""

    id: int
    name: str
    key: str
