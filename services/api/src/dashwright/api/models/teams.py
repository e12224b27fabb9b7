"""Teams and their members, as the classic API returns them."""

from typing import Annotated

from pydantic import Field, PlainSerializer

from dashwright.common.models.api_model import ApiModel

#: The actions that the caller may do; null if the list is empty or was not requested.
AccessControl = Annotated[dict[str, bool], PlainSerializer(lambda actions: actions or None, dict[str, bool] | None)]


class TeamShape(ApiModel):
    """A team."""

    id: int
    uid: str
    org_id: int
    name: str
    email: str
    external_uid: str = Field(default="", alias="externalUID")
    is_provisioned: bool = False
    avatar_url: str
    member_count: int
    #: The caller's own permission in the team: 4 for its admins, else 0.
    permission: int
    access_control: AccessControl = Field(default_factory=dict)


class TeamPage(ApiModel):
    """A page of teams."""

    #: The number of matches on all pages.
    total_count: int
    teams: list[TeamShape]
    page: int
    per_page: int


class TeamCreated(ApiModel):
    """The response to the creation of a team."""

    message: str
    team_id: int
    uid: str


class TeamMemberShape(ApiModel):
    """A member of a team."""

    org_id: int
    team_id: int
    team_uid: str = Field(alias="teamUID")
    user_id: int
    user_uid: str = Field(alias="userUID")
    auth_module: str = Field(default="", alias="auth_module")
    email: str
    name: str
    login: str
    avatar_url: str
    labels: list[str] = Field(default_factory=list)
    permission: int
