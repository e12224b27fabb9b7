"""Requests and responses of the classic API for data sources."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from dashwright.common.models.api_model import ApiModel
from dashwright.common.models.classic import ClassicBody, Name, Text

MAX_URL_LENGTH = 2048

Access = Literal["proxy", "direct"]
_NotBlank = Annotated[Name, StringConstraints(pattern=r"\S")]
_Uid = Annotated[str, StringConstraints(max_length=40, pattern=r"^[A-Za-z0-9_-]*$")]


def _check_integers(value: dict[str, Any]) -> dict[str, Any]:
    """Return the value. Raise ValueError if it contains an integer that orjson cannot write."""
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, int) and not -(2**63) <= item < 2**64:
            raise ValueError("must not contain an integer beyond 64 bits; write it as a string")
    return value


class AddDataSourceCommand(ClassicBody):
    """Data source to create. An empty ``uid`` is replaced by a generated one. A secret that is null counts as missing."""

    name: _NotBlank
    type: _NotBlank
    uid: _Uid = ""
    access: Access = "proxy"
    url: Annotated[Text, Field(max_length=MAX_URL_LENGTH)] = ""
    user: Name = ""
    database: Name = ""
    basic_auth: bool = False
    basic_auth_user: Name = ""
    with_credentials: bool = False
    is_default: bool = False
    json_data: Annotated[dict[str, Any], AfterValidator(_check_integers)] = Field(default_factory=dict)
    secure_json_data: dict[Annotated[Name, Field(min_length=1)], str | None] = Field(default_factory=dict)

    @property
    def secrets(self) -> dict[str, str]:
        """Secrets of the request by name."""
        return {name: secret for name, secret in self.secure_json_data.items() if secret is not None}


class DataSourceChanges(AddDataSourceCommand):
    """Data source to update. The request replaces all fields.

    Only ``uid``, ``url``, ``basicAuthUser`` and secrets keep their values if missing. An empty secret is deleted.
    """

    version: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class _DataSourceMembers(ApiModel):
    id: int
    uid: str
    org_id: int
    name: str
    type: str
    type_logo_url: str
    access: Access
    url: str
    user: str
    database: str
    basic_auth: bool
    is_default: bool
    json_data: dict[str, Any]
    read_only: bool = False
    access_control: dict[str, bool] | None = None


class DataSourceItem(_DataSourceMembers):
    """Data source in a list."""

    type_name: str


class DataSourceShape(_DataSourceMembers):
    """Data source with its settings.

    ``secureJsonFields`` has the names of its secrets; no response contains their values. Each change increases ``version``.
    """

    basic_auth_user: str
    with_credentials: bool
    secure_json_fields: dict[str, bool]
    version: int
    #: API version of the settings; empty if the type has no versioned settings.
    api_version: str = ""


class DataSourceSaved(ApiModel):
    """Response to a created or updated data source."""

    id: int
    name: str
    message: str
    datasource: DataSourceShape


class DataSourceDeleted(ApiModel):
    """Response to a deleted data source."""

    id: int
    message: str


class DataSourceId(ApiModel):
    """Numeric id of a data source."""

    id: int


class DataSourceHealth(ApiModel):
    """Health of a data source."""

    status: str
    message: str
