"""Teams and their members, as the classic API shows them."""

from typing import Annotated

from pydantic import Field, PlainSerializer

from dashwright.common.models.shape import Shape

AccessControl = Annotated[dict[str, bool], PlainSerializer(lambda actions: actions or None, dict[str, bool] | None)]
"""The actions that the caller may do, null where none is or the caller did not ask for them."""


class TeamShape(Shape):
    """``permission`` is the caller's own in the team: 4 for its admins, else 0."""

    id: int
    uid: str
    org_id: int
    name: str
    email: str
    external_uid: str = Field(default="", alias="externalUID")
    is_provisioned: bool = False
    avatar_url: str
    member_count: int
    permission: int
    access_control: AccessControl = Field(default_factory=dict)


class TeamPage(Shape):
    """``total_count`` counts what is on all pages."""

    total_count: int
    teams: list[TeamShape]
    page: int
    per_page: int


class TeamMade(Shape):
    message: str
    team_id: int
    uid: str


class TeamMemberShape(Shape):
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
