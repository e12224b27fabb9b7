"""Data sources as the classic API accepts and shows them."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints

from dashwright.common.models.classic import ClassicBody, Name, Text
from dashwright.common.models.shape import Shape

LONGEST_URL = 2048

Access = Literal["proxy", "direct"]
_NotBlank = Annotated[Name, StringConstraints(pattern=r"\S")]
_Uid = Annotated[str, StringConstraints(max_length=40, pattern=r"^[A-Za-z0-9_-]*$")]


def _keepable(value: dict[str, Any]) -> dict[str, Any]:
    level: list[Any] = [value]
    while level:
        if any(isinstance(item, int) and not -(2**63) <= item < 2**64 for item in level):
            raise ValueError("must not hold an integer beyond 64 bits; write it as text")
        level = [item for node in level if isinstance(node, dict | list) for item in (node.values() if isinstance(node, dict) else node)]
    return value


class AddDataSourceCommand(ClassicBody):
    """Data source to create. Without a uid one is generated. A secret that is null counts as missing."""

    name: _NotBlank
    type: _NotBlank
    uid: _Uid = ""
    access: Access = "proxy"
    url: Annotated[Text, Field(max_length=LONGEST_URL)] = ""
    user: Name = ""
    database: Name = ""
    basic_auth: bool = False
    basic_auth_user: Name = ""
    with_credentials: bool = False
    is_default: bool = False
    json_data: Annotated[dict[str, Any], AfterValidator(_keepable)] = Field(default_factory=dict)
    secure_json_data: dict[Annotated[Name, Field(min_length=1)], str | None] = Field(default_factory=dict)

    @property
    def secrets(self) -> dict[str, str]:
        """Return the secrets that were sent."""
        return {name: text for name, text in self.secure_json_data.items() if text is not None}


class DataSourceChanges(AddDataSourceCommand):
    """Data source to update: replaces all fields.

    Not replaced if missing are ``uid``, ``url``, ``basicAuthUser`` and secrets. An empty secret is deleted.
    """

    version: Annotated[int, Field(ge=0, lt=2**63)] | None = None


class _DataSourceMembers(Shape):
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

    ``secureJsonFields`` names its secrets; no response contains one. ``version`` grows with every change.
    """

    basic_auth_user: str
    with_credentials: bool
    secure_json_fields: dict[str, bool]
    version: int
    #: The version of the settings' API, empty for types whose settings have none.
    api_version: str = ""


class DataSourceSaved(Shape):
    """Response to a created or updated data source."""

    id: int
    name: str
    message: str
    datasource: DataSourceShape


class DataSourceDeleted(Shape):
    """Response to a deleted data source."""

    id: int
    message: str


class DataSourceId(Shape):
    """Number of a data source."""

    id: int


class DataSourceHealth(Shape):
    """Health of a data source."""

    status: str
    message: str
